package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// asker is a client of the service: it asks one replica after the other.
type asker struct {
	urls    []string
	highest map[string]int // the count that each replica has answered

	answered, failed int
	vacant           int // answers while nobody led
	fallen           int // counts lower than the same replica has answered before
}

// ask asks until ctx ends.
func (a *asker) ask(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for i := 0; ; i++ {
		got, err := get(ctx, client, a.urls[i%len(a.urls)])
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			a.failed++
		default:
			a.hear(got)
		}
		pause(ctx, tick/20)
	}
}

func (a *asker) hear(got answer) {
	a.answered++
	if got.Vacant {
		a.vacant++
	}
	if got.Count < a.highest[got.Replica] {
		a.fallen++
	}
	a.highest[got.Replica] = got.Count
}

// get asks a replica.
func get(ctx context.Context, client *http.Client, url string) (got answer, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return got, err
	}
	response, err := client.Do(request)
	if err != nil {
		return got, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return got, fmt.Errorf("%s answers %s", url, response.Status)
	}
	return got, json.NewDecoder(response.Body).Decode(&got)
}

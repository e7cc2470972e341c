package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

// A copy leads, is stopped, and the other one leads.
func TestOneCopyLeadsAfterTheOther(t *testing.T) {
	for name, url := range map[string]string{
		"mem":    "mem://service",
		"sqlite": "sqlite://" + filepath.Join(t.TempDir(), "locks.db"),
	} {
		t.Run(name, func(t *testing.T) {
			client, err := coord.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close(context.WithoutCancel(t.Context()))
			ended := make(chan error, 2)
			start := func() (stop func()) {
				ctx, stop := context.WithCancel(t.Context())
				go func() { ended <- run(ctx, url) }()
				return stop
			}
			stop := start()
			e, led := election.New(client, "scheduler"), []uint64{}
			for seen, err := range e.Observe(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if seen.Vacant || len(led) > 0 && seen.Leader.Token == led[len(led)-1] {
					continue
				}
				if led = append(led, seen.Leader.Token); len(led) == 2 {
					break
				}
				next := start()
				stop()
				stop = next
			}
			stop()
			for range 2 {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			left, err := e.Candidates(t.Context())
			if err != nil || len(left.Holders)+len(left.Waiters) > 0 || led[0] >= led[1] {
				t.Errorf("led with tokens %v; left are %v, %v", led, left, err)
			}
		})
	}
}

func TestAStoreThatCannotBeUsedEndsTheProgram(t *testing.T) {
	if err := run(t.Context(), "sqlite:///no/such/directory/locks.db"); err == nil {
		t.Error("run returned nil")
	}
}

package coordkit_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// The programs in README.md are the bodies of these functions.

func readmeMutex(ctx context.Context, url string, deploy func(ctx context.Context, token uint64) error) error {
	client, err := coord.Open(ctx, url) // one for the whole program
	if err != nil {
		return err
	}
	defer func() { // tells the store, also after ctx has ended
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		client.Close(last)
	}()

	return mutex.New(client, "deploy").Do(ctx, func(ctx context.Context, token uint64) error {
		return deploy(ctx, token) // ctx ends if the lock is lost; the token fences
	})
}

func readmeElection(ctx context.Context, client *coord.Client, address string, schedule func(ctx context.Context, token uint64) error) error {
	e := election.New(client, "scheduler")
	return e.Run(ctx, []byte(address), func(ctx context.Context, l *election.Leadership) error {
		return schedule(ctx, l.Token()) // until ctx ends, with the leadership
	}, nil)
}

func TestREADMEShowsTheCode(t *testing.T) {
	here, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) != 2 {
		t.Fatalf("README.md has %d blocks of Go; want those of the mutex and of the election", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "\n```")
		for line := range strings.Lines(code) {
			if line = strings.TrimSpace(line); line != "" && !strings.Contains(string(here), "\t"+line+"\n") {
				t.Errorf("README.md has a line that is not in readme_test.go: %s", line)
			}
		}
	}
}

func TestREADMEPrograms(t *testing.T) {
	token := uint64(0)
	work := func(_ context.Context, is uint64) error {
		token = is
		return nil
	}
	if err := readmeMutex(t.Context(), "mem://readme/app", work); err != nil || token == 0 {
		t.Errorf("the mutex's program returned %v, with token %d", err, token)
	}
	client, err := coord.Open(t.Context(), "mem://readme/app")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(t.Context())
	token = 0
	if err := readmeElection(t.Context(), client, "here", work); err != nil || token == 0 {
		t.Errorf("the election's program returned %v, with token %d", err, token)
	}
}

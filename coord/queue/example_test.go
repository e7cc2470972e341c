package queue_test

import (
	"context"
	"fmt"
	"log"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	_ "github.com/coordkit/coordkit/drivers/mem"
)

// Pair is a recipe: of those who come, two at a time hold, first come, first served.
type Pair struct{ line *queue.Queue }

// inPairs lets an entry hold if at most one is ahead. Otherwise it waits until the line
// changes.
func inPairs(line []driver.Node, own int) queue.Verdict {
	return queue.Verdict{Blocked: own > 1}
}

// NewPair returns the pair of that name.
func NewPair(client *coord.Client, name string) Pair {
	return Pair{queue.New(client, "pair", name, inPairs).ByNames(nil)}
}

// Do waits for a place in the pair and runs fn in it. fn's ctx ends with the place.
func (p Pair) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	entry, err := p.line.Acquire(ctx, queue.Request{})
	if err != nil {
		return err
	}
	hold, err := entry.Hold(ctx)
	if err != nil {
		return err
	}
	return entry.Do(ctx, hold, fn)
}

// A recipe of your own is a rule that says which entry waits for which.
func Example() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "mem://queue-example")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	pair := NewPair(client, "dancers")
	err = pair.Do(ctx, func(ctx context.Context) error {
		return pair.Do(context.Background(), func(context.Context) error {
			all, err := pair.line.Contenders(ctx, nil)
			fmt.Println("in:", len(all.Holders), "waiting:", len(all.Waiters))
			return err
		})
	})
	fmt.Println(err)
	// Output:
	// in: 2 waiting: 0
	// <nil>
}

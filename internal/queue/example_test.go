package queue_test

import (
	"context"
	"fmt"
	"log"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	_ "github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/queue"
)

// A recipe says who blocks whom, and gets everything else.
func Example() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "mem://queue-example")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	behind := func(line []driver.Node, own int) queue.Verdict {
		if own == 0 {
			return queue.Verdict{}
		}
		return queue.Verdict{Blocked: true, Blocker: line[own-1], Last: own == 1}
	}
	entry, err := queue.New(client, "example", "line", behind, nil).Acquire(ctx, queue.Request{})
	if err != nil {
		log.Fatal(err)
	}
	hold, err := entry.Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held:", hold.Err() == nil)
	fmt.Println("released:", entry.Release(ctx, hold) == nil)
	// Output:
	// held: true
	// released: true
}

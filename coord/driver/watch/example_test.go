package watch_test

import (
	"context"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/sessions"
	"github.com/coordkit/coordkit/coord/driver/watch"
)

// A store that can only be asked is polled.
func Example() {
	keeper := sessions.New("toy")
	defer keeper.Close(nil)

	n := driver.Node{Dir: "a", Key: "a/1", Token: 1, Version: 1}
	looks := uint64(0)
	list := func(dir string) watch.List { // one request to the store
		if looks++; looks < 3 {
			return watch.List{Nodes: []driver.Node{n}, At: looks}
		}
		return watch.List{At: looks}
	}
	hub := watch.NewHub("toy", keeper, func(ctx context.Context, dir string, show func(watch.List)) error {
		poll := time.NewTicker(time.Millisecond)
		defer poll.Stop()
		for {
			show(list(dir))
			select {
			case <-poll.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	gone, err := hub.Wait(context.Background(), n)
	fmt.Println("gone:", gone, err)
	// Output: gone: 0 <nil>
}

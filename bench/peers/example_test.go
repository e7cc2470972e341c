package peers_test

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/peers"
	"github.com/coordkit/coordkit/bench/work"
)

func Example() {
	ctx := context.Background()
	p, err := peers.Embedded()[0].Open(ctx, contest.Dial{Servers: []string{"example"}, TTL: work.TTL})
	if err != nil {
		fmt.Println(err)
		return
	}
	lock, err := p.Locker(ctx, "key")
	if err == nil {
		err = lock.Lock(ctx)
	}
	if err == nil {
		err = lock.Unlock(ctx)
	}
	fmt.Println(err, p.Close())
	// Output: <nil> <nil>
}

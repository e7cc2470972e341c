package foreign_test

import (
	"context"
	"fmt"
	"log"

	"github.com/coordkit/coordkit/bench/foreign"
	"github.com/coordkit/coordkit/internal/testserver"
)

func Example() {
	ctx := context.Background()
	zk, err := testserver.NewZooKeeper(ctx, testserver.ZooKeeperOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer zk.Close()

	peer, err := foreign.Curator(ctx, []string{zk.Member(0).Endpoint()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer peer.Close()

	result, err := peer.Run(ctx, foreign.Case{Name: foreign.Drain, Clients: 2, Waiters: 10})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Ops, "handoffs, by client", result.PerClientOps)
	// Output: 10 handoffs, by client [5 5]
}

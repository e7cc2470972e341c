package slate

import (
	"context"
	"fmt"
	"log"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/examples/slate/slated"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// A program imports the driver and names the store by its URL; the recipes know
// nothing of either.
func Example() {
	server, err := slated.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := coord.Open(ctx, "slate://"+server.Addr()+"/demo?session_ttl=2s")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	held, err := mutex.New(client, "deploy").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held:", held.Err() == nil)
	err = held.Unlock(ctx)
	fmt.Println("released:", err == nil)
	// Output:
	// held: true
	// released: true
}

package coordkit_test

import (
	"context"
	"fmt"
	"log"

	"github.com/coordkit/coordkit/coord"
	_ "github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/mutex"
)

func Example() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "mem://example/myapp")
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
	fmt.Println("released:", err == nil, held.Context().Err())
	// Output:
	// held: true
	// released: true context canceled
}

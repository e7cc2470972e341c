package semaphore_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/coordkit/coordkit/coord"
	_ "github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

func Example() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "mem://shop/database")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	connections := semaphore.New(client, "connections", 10)
	held, err := connections.Acquire(ctx, 8)
	if err != nil {
		log.Fatal(err)
	}
	defer held.Release(ctx)

	_, err = connections.TryAcquire(ctx, 3)
	fmt.Println("three more have to wait:", errors.Is(err, coord.ErrBusy))
	err = connections.Do(ctx, 2, func(ctx context.Context, _ uint64) error {
		limit, used, err := connections.Limit(ctx)
		fmt.Println(used, "of", limit, "are in use")
		return err
	})
	fmt.Println(err)
	// Output:
	// three more have to wait: true
	// 10 of 10 are in use
	// <nil>
}

// The limit is changed for everybody, whatever they were configured with.
func ExampleSemaphore_SetLimit() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "mem://shop/database")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	operator := semaphore.New(client, "workers", 1)
	if err := operator.SetLimit(ctx, 3); err != nil {
		log.Fatal(err)
	}
	held, err := semaphore.New(client, "workers", 1).Acquire(ctx, 3)
	if err != nil {
		log.Fatal(err)
	}
	limit, used, err := operator.Limit(ctx)
	fmt.Println(used, "of", limit, "are in use", err)
	fmt.Println(held.Release(ctx))
	// Output:
	// 3 of 3 are in use <nil>
	// <nil>
}

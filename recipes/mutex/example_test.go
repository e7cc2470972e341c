package mutex_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/coordkit/coordkit/coord"
	_ "github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/mutex"
)

func Example() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "mem://shop/orders")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	m := mutex.New(client, "nightly report")
	held, err := m.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer held.Unlock(ctx)

	if _, err := m.TryLock(ctx); errors.Is(err, coord.ErrBusy) {
		fmt.Println("somebody else would have to wait")
	}
	inner, err := m.Lock(held.Context())
	if err != nil {
		log.Fatal(err)
	}
	defer inner.Unlock(ctx)
	fmt.Println("who works under its context re-enters:", inner.Token() == held.Token())
	// Output:
	// somebody else would have to wait
	// who works under its context re-enters: true
}

func ExampleMutex_Do() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "mem://shop/orders")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	err = mutex.New(client, "nightly report").Do(ctx, func(ctx context.Context, token uint64) error {
		fmt.Println("working; the token fences what is written:", token > 0)
		return ctx.Err() // ends when the lock is lost
	})
	fmt.Println(err)
	// Output:
	// working; the token fences what is written: true
	// <nil>
}

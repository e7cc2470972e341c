package rwlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/coordkit/coordkit/coord"
	_ "github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/rwlock"
)

func Example() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "mem://shop/catalog")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	lock := rwlock.New(client, "prices")
	one, err := lock.RLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	two, err := lock.RLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("two read:", one.Err() == nil && two.Err() == nil)

	_, err = lock.TryLock(ctx)
	fmt.Println("nobody writes meanwhile:", errors.Is(err, coord.ErrBusy))
	_, err = lock.Lock(one.Context())
	fmt.Println("a reader does not become a writer:", errors.Is(err, rwlock.ErrUpgrade))

	fmt.Println(errors.Join(one.Unlock(ctx), two.Unlock(ctx)))
	// Output:
	// two read: true
	// nobody writes meanwhile: true
	// a reader does not become a writer: true
	// <nil>
}

// A writer that goes on as a reader of what it wrote, with no other writer in
// between.
func ExampleWriteHeld_Downgrade() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "mem://shop/catalog")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	lock := rwlock.New(client, "prices")
	write, err := lock.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer write.Unlock(ctx) // does nothing after a downgrade
	price := 12             // written

	read, err := write.Downgrade(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer read.Unlock(ctx)
	fmt.Println("write hold:", errors.Is(write.Err(), coord.ErrReleased), "read hold:", read.Err() == nil)
	fmt.Println("still", price)
	// Output:
	// write hold: true read hold: true
	// still 12
}

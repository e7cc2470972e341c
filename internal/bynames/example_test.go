package bynames_test

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/bynames"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// A semaphore over the embedded store, as it is over ZooKeeper.
func Example() {
	var lists bynames.Lists
	client, err := coord.New(lists.Over(mem.NewStore().Open("example")), coord.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer client.Close(ctx)
	if _, err := semaphore.New(client, "s", 2).Acquire(ctx, 1); err != nil {
		fmt.Println(err)
		return
	}
	named, full := lists.Next()
	fmt.Println("lists of names:", named, "- with data:", full)
	// Output: lists of names: 1 - with data: 0
}

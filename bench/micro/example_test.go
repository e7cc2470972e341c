package micro_test

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/coord"
	_ "github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// What BenchmarkUncontended repeats.
func Example() {
	ctx := context.Background()
	c, err := coord.Open(ctx, "mem://example/micro")
	if err != nil {
		fmt.Println(err)
		return
	}
	held, err := mutex.New(c, "m").Lock(ctx)
	if err == nil {
		err = held.Unlock(ctx)
	}
	fmt.Println(err, c.Close(ctx))
	// Output: <nil> <nil>
}

package broken_test

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/conformance/internal/broken"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

// A lock whose readers come in while a writer holds.
func Example() {
	ctx := context.Background()
	client, err := coord.New(mem.NewStore().Open("example"), coord.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(ctx)
	for _, r := range broken.RWLocks() {
		if r.Name != "readers-never-wait" {
			continue
		}
		lock := r.Open(client, "catalog")
		_, write := lock.Write.Acquire(ctx)
		_, read := lock.Read.Acquire(ctx)
		fmt.Println(r.Breaks, write, read)
	}
	// Output:
	// R1 <nil> <nil>
}

package subject_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

// The same lines run on every recipe.
func Example() {
	ctx := context.Background()
	client, err := coord.New(mem.NewStore().Open("example"), coord.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(ctx)
	for _, w := range []subject.Want{
		subject.Mutex(client, "one"),
		subject.RWLock(client, "one").Write,
		subject.Semaphore(client, "one", 3).Want(2),
	} {
		h, err := w.Acquire(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		_, err = w.Try(ctx)
		fmt.Println("busy:", errors.Is(err, coord.ErrBusy), "released:", h.Release(ctx) == nil)
	}
	// Output:
	// busy: true released: true
	// busy: true released: true
	// busy: true released: true
}

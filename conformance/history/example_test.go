package history_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
)

// lock is what a lock gave that does not work.
type lock struct {
	ctx   context.Context
	token uint64
}

func (l lock) Context() context.Context { return l.ctx }
func (l lock) Token() uint64            { return l.token }

func Example() {
	h := history.New(history.Options{TTL: time.Second, Late: time.Second})
	a := h.Call("A", "door", history.Exclusive, 0)
	b := h.Call("B", "door", history.Exclusive, 0)
	a.Granted(lock{context.Background(), 1}, "session of A")
	b.Granted(lock{context.Background(), 2}, "session of B")
	for _, v := range h.Violations() {
		fmt.Println(v.Text)
	}
	if len(h.Violations()) == 0 {
		_, _ = h.WriteTo(os.Stdout)
	}
	// Output: B holds door (exclusive) with token 2 while A holds it (exclusive) with token 1 and was told nothing
}

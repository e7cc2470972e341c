package queue

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

// What is downgraded away is the hold that was looked at. If somebody enters the entry
// again and lets go of that hold at the same time, there is one hold again, but
// another: who has it relies on being alone.
//
// The lock is kept from those two until it is handed on in turn, so that the second
// gets it as soon as the first has let go of it.
func TestDowngradeTakesNoOtherHold(t *testing.T) {
	ctx := t.Context()
	client, err := coord.New(mem.NewStore().Open("test"), coord.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	q := New(client, "kind", "name", OneByOne)
	queueUp := func() { // for as long as makes a Mutex fair
		for start := time.Now(); time.Since(start) < 2*time.Millisecond; {
			runtime.Gosched()
		}
	}
	for range 5 {
		e, err := q.Acquire(ctx, Request{})
		if err != nil {
			t.Fatal(err)
		}
		h, err := e.Hold(ctx)
		if err != nil {
			t.Fatal(err)
		}
		inner := coord.NewHold(h.Context(), "inner", e.session, e.token, nil, nil)
		var downgraded error
		var entered bool
		var both sync.WaitGroup
		e.mu.Lock()
		both.Go(func() { downgraded = e.giveUp(h, &Entry{released: true}) })
		queueUp()
		both.Go(func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			if entered = !e.released; entered {
				h.End(nil) // as Release does
				e.holds = []*coord.Hold{inner}
			}
		})
		queueUp()
		e.mu.Unlock()
		e.mu.Lock() // before the first has it, who insists on it then
		queueUp()
		e.mu.Unlock()
		both.Wait()
		if downgraded == nil && entered {
			t.Fatal("the entry was downgraded under another hold")
		}
		for _, held := range []*coord.Hold{h, inner} {
			if err := e.Release(ctx, held); err != nil {
				t.Fatal(err)
			}
		}
	}
}

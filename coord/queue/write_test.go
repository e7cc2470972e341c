package queue_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/drivers/mem"
)

func TestWriteReplacesTheValueAndNothingElse(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		e, h := a.acquire(queue.Request{Value: []byte("first\nline")})
		w.values("first\nline")
		before, err := a.Contenders(w.Ctx, nil)
		w.Is(err, nil)
		for _, value := range []string{"second", "", "third"} {
			if err := e.Write(w.Ctx, []byte(value)); err != nil {
				t.Fatal(err)
			}
			w.values(value)
		}
		after, err := a.Contenders(w.Ctx, nil)
		w.Is(err, nil)
		one, other := before.Holders[0], after.Holders[0]
		if one.Token != other.Token || one.Key != other.Key || !one.Since.Equal(other.Since) || other.Owner.PID == 0 {
			t.Errorf("%+v became %+v", one, other)
		}
		w.Is(e.Release(w.Ctx, h), nil)
	})
}

// What an entry writes does not lose it the place that it stands in.
func TestWriteKeepsThePlace(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		e, h := a.acquire(queue.Request{})
		waiting := w.begin(func() error { _, err := b.Acquire(w.Ctx, queue.Request{}); return err })
		if _, over := waiting(); over {
			t.Fatal("two hold")
		}
		e, h, err := e.Downgrade(w.Ctx, h, queue.Request{Kind: "d"})
		w.Is(err, nil)
		w.Is(e.Write(w.Ctx, []byte("v")), nil)
		if n := w.Line()[1]; queue.InPlaceOf(n) >= n.Seq {
			t.Error("it has lost its place")
		}
		if _, over := waiting(); over {
			t.Fatal("two hold")
		}
		w.Is(e.Release(w.Ctx, h), nil)
		if err, over := waiting(); !over || err != nil {
			t.Fatalf("%v, %v", err, over)
		}
	})
}

// Calls at the same time happen one after the other: what is repeated because
// its reply was lost does not undo a later one.
func TestWritesAreInOrder(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		e, h := a.acquire(queue.Request{})
		late := a.Link().Hold(mem.OpUpdate)
		first := w.begin(func() error { return e.Write(w.Ctx, []byte("first")) })
		<-late.Caught()
		second := w.begin(func() error { return e.Write(w.Ctx, []byte("second")) })
		ctx, cancel := context.WithCancel(w.Ctx)
		third := w.begin(func() error { return e.Write(ctx, []byte("third")) })
		cancel()
		if err, over := third(); !over {
			t.Error("a Write outlives its ctx")
		} else {
			w.Is(err, context.Canceled)
		}
		a.Link().DropNextReply(mem.OpUpdate)
		late.Release()
		time.Sleep(time.Second)
		for _, write := range []func() (error, bool){first, second} {
			if err, over := write(); !over || err != nil {
				t.Errorf("%v, %v", err, over)
			}
		}
		w.values("second")
		w.Is(e.Release(w.Ctx, h), nil)
	})
}

func TestWriteOfWhoHoldsNothing(t *testing.T) {
	for name, lose := range map[string]struct {
		why error
		by  func(w *world, e *queue.Entry, h *coord.Hold)
	}{
		"removed": {coord.ErrRemoved, func(w *world, _ *queue.Entry, _ *coord.Hold) {
			w.Remove(w.Line()[0].Key)
		}},
		"session ended": {coord.ErrSessionLost, func(w *world, e *queue.Entry, _ *coord.Hold) { w.Store.Expire(e.Session().ID()) }},
		"closed":        {coord.ErrClosed, func(w *world, e *queue.Entry, _ *coord.Hold) { w.Is(e.Session().Close(w.Ctx), nil) }},
		"released":      {driver.ErrGone, func(w *world, e *queue.Entry, h *coord.Hold) { w.Is(e.Release(w.Ctx, h), nil) }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a, b := w.client(), w.client()
				e, h := a.acquire(queue.Request{Value: []byte("mine")})
				lose.by(w, e, h)
				next, held := b.acquire(queue.Request{Value: []byte("his")})
				for range 2 { // before and after it is known
					err := e.Write(w.Ctx, []byte("late"))
					w.Is(err, coord.ErrNotHeld)
					w.Is(err, lose.why)
					time.Sleep(ttl)
				}
				w.values("his")
				w.Is(next.Release(w.Ctx, held), nil)
			})
		})
	}
}

func TestWriteEndsWithItsContext(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		e, h := a.acquire(queue.Request{})
		a.Link().Freeze(mem.Down)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
				defer cancel()
				from := time.Now()
				if err := e.Write(ctx, []byte("v")); !errors.Is(err, context.DeadlineExceeded) || time.Since(from) > time.Second {
					t.Errorf("%v after %v", err, time.Since(from))
				}
			})
		}
		all.Wait()
		if h.Err() != nil {
			t.Error(h.Err())
		}
		a.Link().Thaw(mem.Down)
		w.Is(e.Write(w.Ctx, []byte("again")), nil)
		w.values("again")
		w.Is(e.Release(w.Ctx, h), nil)
	})
}

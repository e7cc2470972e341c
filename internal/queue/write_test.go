package queue_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/queue"
)

func TestWriteReplacesTheValueAndNothingElse(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		e, h := a.acquire(queue.Request{Value: []byte("first\nline")})
		w.values("first\nline")
		before, err := a.Contenders(w.ctx, nil)
		w.is(err, nil)
		for _, value := range []string{"second", "", "third"} {
			if err := e.Write(w.ctx, []byte(value)); err != nil {
				t.Fatal(err)
			}
			w.values(value)
		}
		after, err := a.Contenders(w.ctx, nil)
		w.is(err, nil)
		one, other := before.Holders[0], after.Holders[0]
		if one.Token != other.Token || one.Key != other.Key || !one.Since.Equal(other.Since) || other.Owner.PID == 0 {
			t.Errorf("%+v became %+v", one, other)
		}
		w.is(e.Release(w.ctx, h), nil)
	})
}

// What an entry writes does not lose it the place that it stands in.
func TestWriteKeepsThePlace(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		e, h := a.acquire(queue.Request{})
		waiting := w.begin(func() error { _, err := b.Acquire(w.ctx, queue.Request{}); return err })
		if _, over := waiting(); over {
			t.Fatal("two hold")
		}
		e, h, err := e.Trade(w.ctx, h, queue.Request{Kind: "d"})
		w.is(err, nil)
		w.is(e.Write(w.ctx, []byte("v")), nil)
		if n := w.line()[1]; queue.InPlaceOf(n) >= n.Seq {
			t.Error("it has lost its place")
		}
		if _, over := waiting(); over {
			t.Fatal("two hold")
		}
		w.is(e.Release(w.ctx, h), nil)
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
		late := a.link.Hold(mem.OpUpdate)
		first := w.begin(func() error { return e.Write(w.ctx, []byte("first")) })
		<-late.Caught()
		second := w.begin(func() error { return e.Write(w.ctx, []byte("second")) })
		ctx, cancel := context.WithCancel(w.ctx)
		third := w.begin(func() error { return e.Write(ctx, []byte("third")) })
		cancel()
		if err, over := third(); !over {
			t.Error("a Write outlives its ctx")
		} else {
			w.is(err, context.Canceled)
		}
		a.link.DropNextReply(mem.OpUpdate)
		late.Release()
		time.Sleep(time.Second)
		for _, write := range []func() (error, bool){first, second} {
			if err, over := write(); !over || err != nil {
				t.Errorf("%v, %v", err, over)
			}
		}
		w.values("second")
		w.is(e.Release(w.ctx, h), nil)
	})
}

func TestWriteOfWhoHoldsNothing(t *testing.T) {
	for name, lose := range map[string]struct {
		why error
		by  func(w *world, e *queue.Entry, h *coord.Hold)
	}{
		"removed": {coord.ErrRemoved, func(w *world, _ *queue.Entry, _ *coord.Hold) {
			w.store.Remove(namespace, dir, w.line()[0].Key)
		}},
		"session ended": {coord.ErrSessionLost, func(w *world, e *queue.Entry, _ *coord.Hold) { w.store.Expire(e.Session().ID()) }},
		"closed":        {coord.ErrClosed, func(w *world, e *queue.Entry, _ *coord.Hold) { w.is(e.Session().Close(w.ctx), nil) }},
		"released":      {coord.ErrRemoved, func(w *world, e *queue.Entry, h *coord.Hold) { w.is(e.Release(w.ctx, h), nil) }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a, b := w.client(), w.client()
				e, h := a.acquire(queue.Request{Value: []byte("mine")})
				lose.by(w, e, h)
				next, held := b.acquire(queue.Request{Value: []byte("his")})
				for range 2 { // before and after it is known
					err := e.Write(w.ctx, []byte("late"))
					w.is(err, coord.ErrNotHeld)
					w.is(err, lose.why)
					time.Sleep(ttl)
				}
				w.values("his")
				w.is(next.Release(w.ctx, held), nil)
			})
		})
	}
}

func TestWriteEndsWithItsContext(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		e, h := a.acquire(queue.Request{})
		a.link.Freeze(mem.Down)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(w.ctx, time.Second)
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
		a.link.Thaw(mem.Down)
		w.is(e.Write(w.ctx, []byte("again")), nil)
		w.values("again")
		w.is(e.Release(w.ctx, h), nil)
	})
}

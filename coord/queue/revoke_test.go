package queue_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/recipetest"
)

func (c *client) revoking(ctx context.Context, token uint64, reason string) func() (error, bool) {
	return c.w.begin(func() error { return c.Revoke(ctx, token, reason) })
}

// Who asks first is heard first, also by one who listens later, and who asks
// another is not heard at all.
func TestRevoked(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		e, h := a.acquire(queue.Request{})
		waiting := w.begin(func() error { _, err := b.Acquire(w.Ctx, queue.Request{}); return err })
		waiter := w.Line()
		ctx, cancel := context.WithCancel(w.Ctx)
		toWaiter := c.revoking(ctx, waiter[len(waiter)-1].Token, "not you")
		var got coord.Revocation
		heard := w.begin(func() (err error) { got, err = e.Revoked(w.Ctx, h); return err })
		if _, over := heard(); over {
			t.Fatal("it heard what was said to another")
		}
		first, second := b.revoking(w.Ctx, h.Token(), "first"), c.revoking(w.Ctx, h.Token(), "second")
		if err, over := heard(); !over || err != nil || got.Reason != "first" || got.By.PID != b.Owner().PID || got.Since.IsZero() {
			t.Fatalf("%+v, %v, %v", got, err, over)
		}
		again, err := e.Revoked(w.Ctx, h)
		if err != nil || again.Reason != "first" {
			t.Errorf("%+v, %v", again, err)
		}
		w.Is(e.Release(w.Ctx, h), nil)
		for _, revoke := range []func() (error, bool){first, second} {
			if err, over := revoke(); !over || err != nil {
				t.Errorf("%v, %v", err, over)
			}
		}
		if err, over := waiting(); !over || err != nil {
			t.Fatalf("%v, %v", err, over)
		}
		cancel()
		err, _ = toWaiter()
		w.Is(err, context.Canceled)
	})
}

// A request is withdrawn when who asks gives up or is lost, and what is not
// there need not be asked.
func TestRevokeIsWithdrawn(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		e, h := a.acquire(queue.Request{})
		ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
		defer cancel()
		w.Is(b.Revoke(ctx, h.Token(), "soon"), context.DeadlineExceeded)
		lost := b.revoking(w.Ctx, h.Token(), "from a session that is lost")
		s, err := b.Session(w.Ctx)
		w.Is(err, nil)
		w.Store.Expire(s.ID())
		time.Sleep(ttl)
		err, _ = lost()
		w.Is(err, coord.ErrSessionLost)

		late := b.Link().Hold(mem.OpCreate)
		ctx, cancel = context.WithCancel(w.Ctx)
		givenUp := b.revoking(ctx, h.Token(), "too late")
		<-late.Caught()
		cancel()
		err, _ = givenUp()
		w.Is(err, context.Canceled)
		late.Release()

		ctx, cancel = context.WithTimeout(w.Ctx, time.Second)
		defer cancel()
		_, err = e.Revoked(ctx, h)
		w.Is(err, context.DeadlineExceeded)
		w.Is(b.Revoke(w.Ctx, h.Token()+1000, "nobody"), nil)
		w.Is(b.Revoke(w.Ctx, h.Token(), strings.Repeat("x", 1025)), coord.ErrInvalid)
		w.Is(e.Release(w.Ctx, h), nil)
		w.Is(b.Revoke(w.Ctx, h.Token(), "gone"), nil)
	})
}

// A request that somebody has removed is one that nobody hears: who asked is told.
func TestRevocationThatWasRemoved(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		e, h := a.acquire(queue.Request{})
		asking := b.revoking(w.Ctx, h.Token(), "soon")
		w.Store.RemoveDir(recipetest.Namespace, "line-revoke:l")
		time.Sleep(2 * ttl)
		err, over := asking()
		if !over {
			t.Fatal("who asked waits on")
		}
		w.Is(err, coord.ErrRemoved)
		w.Is(e.Release(w.Ctx, h), nil)
	})
}

// Who listens is told of the end of its hold, whichever way it comes.
func TestRevokedEndsWithTheHold(t *testing.T) {
	for name, c := range map[string]struct {
		why error
		end func(w *world, e *queue.Entry, h *coord.Hold)
	}{
		"released":      {coord.ErrReleased, func(w *world, e *queue.Entry, h *coord.Hold) { w.Is(e.Release(w.Ctx, h), nil) }},
		"removed":       {coord.ErrRemoved, func(w *world, _ *queue.Entry, _ *coord.Hold) { w.RemoveDir() }},
		"session ended": {coord.ErrSessionLost, func(w *world, e *queue.Entry, _ *coord.Hold) { w.Store.Expire(e.Session().ID()) }},
		"client closed": {coord.ErrClosed, func(w *world, e *queue.Entry, _ *coord.Hold) { w.Is(e.Session().Client().Close(w.Ctx), nil) }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a := w.client()
				e, h := a.acquire(queue.Request{})
				listening := w.begin(func() error { _, err := e.Revoked(w.Ctx, h); return err })
				c.end(w, e, h)
				time.Sleep(ttl)
				err, over := listening()
				if !over {
					t.Fatal("it still listens")
				}
				w.Is(err, coord.ErrNotHeld)
				w.Is(err, c.why)
			})
		})
	}
}

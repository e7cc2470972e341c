package queue_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/drivers/mem"
)

// A request stands while the store is away, for as long as the session lives.
func TestRevokeOutlivesTheClientsTTL(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.shaky()
		e, h := a.acquire(queue.Request{})
		b.breakAfter(time.Second)
		b.lose(shake{mem.OpWatch, 1, away})
		asking := b.revoking(w.Ctx, h.Token(), "please")
		time.Sleep(away / 2)
		w.OK(e.Release(w.Ctx, h))
		if err, over := asking(); over {
			w.Fatalf("it has ended while the store was away: %v", err)
		}
		time.Sleep(away)
		if err, over := asking(); !over || err != nil {
			w.Errorf("over: %t, %v", over, err)
		}
	})
}

// Whatever breaks, it ends with its ctx, its session and its client.
func TestBrokenRevokeEnds(t *testing.T) {
	for name, c := range map[string]struct {
		why error
		end func(w *world, b *shaky, cancel func())
	}{
		"cancelled":      {context.Canceled, func(_ *world, _ *shaky, cancel func()) { cancel() }},
		"session ended":  {coord.ErrSessionLost, func(w *world, b *shaky, _ func()) { w.Store.Expire(b.session.ID()); time.Sleep(long) }},
		"session closed": {coord.ErrClosed, func(w *world, b *shaky, _ func()) { b.closeBriefly(b.session.Close) }},
		"client closed":  {coord.ErrClosed, func(w *world, b *shaky, _ func()) { b.closeBriefly(b.Client.Close) }},
	} {
		for store, shakes := range map[string]bool{"there": false, "away": true} {
			t.Run(name+", store "+store, func(t *testing.T) {
				bubble(t, func(w *world) {
					a, b := w.client(), w.shaky()
					e, h := a.acquire(queue.Request{})
					b.breakAfter(slices.Repeat([]time.Duration{time.Second}, 1000)...)
					if shakes {
						b.lose(shake{mem.OpWatch, 1, 2 * long})
					}
					ctx, cancel := context.WithCancel(w.Ctx)
					defer cancel()
					asking := b.revoking(ctx, h.Token(), "please")
					time.Sleep(5 * time.Second)
					if err, over := asking(); over {
						w.Fatalf("it has given up: %v", err)
					}
					c.end(w, b, cancel)
					if err, over := asking(); !over {
						w.Fatal("it has not ended")
					} else {
						w.Is(err, c.why)
					}
					w.OK(e.Release(w.Ctx, h))
					time.Sleep(3 * long)
				})
			})
		}
	}
}

// closeBriefly closes what cannot tell the store, maybe.
func (c *shaky) closeBriefly(closing func(context.Context) error) {
	ctx, cancel := context.WithTimeout(c.w.Ctx, time.Second)
	defer cancel()
	_ = closing(ctx) // the error says that the store was not told, if it was not
}

package mutex_test

import (
	"context"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

// What one attempt to release does not reach, the next does, within the same
// Unlock; and a late Unlock frees nobody else's lock.
func TestUnlockOutlivesFailures(t *testing.T) {
	for name, fail := range map[string]func(*mem.Link){
		"request lost": func(l *mem.Link) { l.LoseNextRequest(mem.OpDelete) },
		"reply lost":   func(l *mem.Link) { l.DropNextReply(mem.OpDelete) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a, b := w.client(), w.client()
				held := a.lock()
				next := b.locking(w.ctx)
				fail(a.conn.Link())
				fail(a.conn.Link())
				w.unlock(held)
				w.lost(held, coord.ErrReleased)
				second := next.granted()
				w.unlock(held)
				if second.Err() != nil {
					t.Errorf("a late Unlock ended a later hold: %v", second.Err())
				}
				w.nodes(1)
				w.unlock(second)
			})
		})
	}
}

// With the store out of reach, Unlock ends with its ctx and can be called
// again, and the lock is free once the store is back.
func TestUnlockIsRetryable(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		held := a.lock()
		next := b.locking(w.ctx)
		a.conn.Link().Cut()
		for range 2 {
			ctx, cancel := context.WithTimeout(w.ctx, time.Second)
			w.is(held.Unlock(ctx), context.DeadlineExceeded)
			cancel()
			w.lost(held, coord.ErrReleased)
		}
		next.blocked()
		if err := a.conn.Link().Heal(); err != nil {
			t.Fatal(err)
		}
		w.unlock(held)
		w.unlock(next.granted())
	})
}

// A delete that lands when the same slot is in use again deletes nothing.
func TestLateUnlockFreesNoLaterHold(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		held := a.lock()
		late := a.conn.Link().Hold(mem.OpDelete)
		ctx, cancel := context.WithCancel(w.ctx)
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			err = held.Unlock(ctx)
		}()
		<-late.Caught()
		cancel()
		<-done
		if err != nil { // or the background's delete was quicker than the cancel
			w.is(err, context.Canceled)
		}
		w.unlock(held)
		again := a.lock()
		late.Release()
		w.nodes(1)
		if again.Err() != nil {
			t.Error(again.Err())
		}
		w.unlock(again)
	})
}

func TestUnlockUnderADeadContextReleases(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		held := a.lock()
		next := b.locking(w.ctx)
		ctx, cancel := context.WithCancel(w.ctx)
		cancel()
		w.is(held.Unlock(ctx), context.Canceled)
		w.unlock(next.granted())
		w.unlock(held)
	})
}

func TestUnlockFromManyGoroutines(t *testing.T) {
	bubble(t, func(w *world) {
		held := w.client().lock()
		errs := make(chan error)
		for range 10 {
			go func() { errs <- held.Unlock(w.ctx) }()
		}
		for range 10 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		w.nodes(0)
	})
}

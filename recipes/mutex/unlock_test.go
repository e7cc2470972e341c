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
				next := b.locking(w.Ctx)
				fail(a.Link())
				fail(a.Link())
				w.unlock(held)
				w.Lost(held, coord.ErrReleased)
				second := next.Granted()
				w.unlock(held)
				if second.Err() != nil {
					t.Errorf("a late Unlock ended a later hold: %v", second.Err())
				}
				w.Nodes(1)
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
		next := b.locking(w.Ctx)
		a.Link().Cut()
		for range 2 {
			ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
			w.Is(held.Unlock(ctx), context.DeadlineExceeded)
			cancel()
			w.Lost(held, coord.ErrReleased)
		}
		blocked(next)
		if err := a.Link().Heal(); err != nil {
			t.Fatal(err)
		}
		w.unlock(held)
		w.unlock(next.Granted())
	})
}

// A delete that lands when the same slot is in use again deletes nothing.
func TestLateUnlockFreesNoLaterHold(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		held := a.lock()
		late := a.Link().Hold(mem.OpDelete)
		ctx, cancel := context.WithCancel(w.Ctx)
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
			w.Is(err, context.Canceled)
		}
		w.unlock(held)
		again := a.lock()
		late.Release()
		w.Nodes(1)
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
		next := b.locking(w.Ctx)
		ctx, cancel := context.WithCancel(w.Ctx)
		cancel()
		w.Is(held.Unlock(ctx), context.Canceled)
		w.unlock(next.Granted())
		w.unlock(held)
	})
}

func TestUnlockFromManyGoroutines(t *testing.T) {
	bubble(t, func(w *world) {
		held := w.client().lock()
		errs := make(chan error)
		for range 10 {
			go func() { errs <- held.Unlock(w.Ctx) }()
		}
		for range 10 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		w.Nodes(0)
	})
}

// A hold's own context ends before the lock is let go, and bounds nothing of that.
func TestUnlockUnderItsOwnContext(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		for range 2 {
			held := a.lock()
			for range 2 {
				w.OK(held.Unlock(held.Context()))
			}
			w.Nodes(0)
		}
		w.OK(a.mutex().Do(w.Ctx, func(ctx context.Context, _ uint64) error { return ctx.Err() }))
		held := a.lock()
		next := b.locking(w.Ctx)
		a.Link().Cut()
		ctx, cancel := context.WithTimeout(held.Context(), time.Second)
		defer cancel()
		began := time.Now()
		w.Is(held.Unlock(ctx), context.DeadlineExceeded)
		if took := time.Since(began); took != time.Second {
			t.Errorf("Unlock took %v; want 1s", took)
		}
		w.OK(a.Link().Heal())
		w.unlock(held)
		w.unlock(next.Granted())
	})
}

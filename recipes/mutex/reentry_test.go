package mutex_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/mutex"
)

func TestReentry(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		outer := a.lock()
		inner, err := a.mutex().Lock(outer.Context()) // another value of the same name
		if err != nil {
			t.Fatal(err)
		}
		third, err := a.mutex().TryLock(inner.Context())
		if err != nil {
			t.Fatal(err)
		}
		if inner.Token() != outer.Token() || third.Token() != outer.Token() {
			t.Error("a re-entered lock has another token")
		}
		w.Nodes(1)
		next := b.locking(w.Ctx)
		w.unlock(third)
		w.unlock(inner)
		w.unlock(inner)
		blocked(next)
		w.Lost(inner, coord.ErrReleased)
		if outer.Err() != nil {
			t.Errorf("the inner unlock ended the outer hold: %v", outer.Err())
		}
		w.unlock(outer)
		w.unlock(next.Granted())
	})
}

// The lock is free when each has been unlocked, in any order.
func TestOuterMayUnlockFirst(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		outer := a.lock()
		inner, err := a.mutex().Lock(outer.Context())
		if err != nil {
			t.Fatal(err)
		}
		next := b.locking(w.Ctx)
		w.unlock(outer)
		blocked(next)
		if inner.Err() != nil {
			t.Errorf("the outer unlock ended the inner hold: %v", inner.Err())
		}
		_, err = a.mutex().Lock(outer.Context())
		w.Is(err, coord.ErrNotHeld)
		w.unlock(inner)
		w.unlock(next.Granted())
	})
}

func TestContextSpeaksOnlyForItsLockAndClient(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		held := a.lock()
		other, err := mutex.New(a.Client, "other").Lock(held.Context())
		if err != nil || other.Token() == held.Token() {
			t.Fatalf("another lock under the same context: %v", err)
		}
		inner, err := a.mutex().Lock(other.Context()) // speaks for both
		if err != nil || inner.Token() != held.Token() {
			t.Fatalf("the first lock under the second's context: %v", err)
		}
		_, err = b.mutex().TryLock(held.Context())
		w.Is(err, coord.ErrBusy)
		for _, h := range []*mutex.Held{inner, other, held} {
			w.unlock(h)
		}
	})
}

// A context that outlives a hold that was released is an ordinary context.
func TestDetachedContextOfAReleasedHoldWaitsItsTurn(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		held := a.lock()
		detached := context.WithoutCancel(held.Context())
		w.unlock(held)
		second := b.lock()
		again := a.locking(detached)
		blocked(again)
		w.unlock(second)
		w.unlock(again.Granted())
	})
}

func TestDo(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		oops := errors.New("oops")
		err := a.mutex().Do(w.Ctx, func(ctx context.Context, token uint64) error {
			if token == 0 {
				t.Error("no token")
			}
			_, err := b.mutex().TryLock(w.Ctx)
			w.Is(err, coord.ErrBusy)
			if err := a.mutex().Do(ctx, func(context.Context, uint64) error { return nil }); err != nil {
				t.Errorf("Do in Do: %v", err)
			}
			return oops
		})
		if err != oops {
			t.Errorf("Do returned %v; want fn's error as it is", err)
		}
		w.Nodes(0)
	})
}

func TestDoUnlocksWhenItsFunctionPanics(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		func() {
			defer func() {
				if r := recover(); r != "boom" {
					t.Errorf("recovered %v", r)
				}
			}()
			_ = a.mutex().Do(w.Ctx, func(context.Context, uint64) error { panic("boom") })
		}()
		w.Nodes(0)
	})
}

func TestDoReportsALossAlthoughItsFunctionSucceeds(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		err := a.mutex().Do(w.Ctx, func(ctx context.Context, _ uint64) error {
			s, err := a.Session(w.Ctx)
			if err != nil {
				return err
			}
			w.Store.Expire(s.ID())
			<-ctx.Done()
			w.Is(context.Cause(ctx), coord.ErrSessionLost)
			return nil
		})
		w.Is(err, coord.ErrNotHeld)
		w.Is(err, coord.ErrSessionLost)
	})
}

func TestDoEndsWithItsContext(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
		defer cancel()
		err := a.mutex().Do(ctx, func(ctx context.Context, _ uint64) error {
			if _, any := ctx.Deadline(); !any {
				t.Error("the work's ctx has no deadline")
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, coord.ErrNotHeld) {
			t.Errorf("Do returned %v; want the end of its ctx and no loss", err)
		}
		synctest.Wait()
		w.unlock(b.lock())
	})
}

// Who works under two locks, and loses the one, has not lost the other.
func TestALossIsOfOneLock(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		other := mutex.New(a.Client, "other")
		inner := errors.New("never")
		err := a.mutex().Do(w.Ctx, func(ctx context.Context, _ uint64) error {
			inner = other.Do(ctx, func(ctx context.Context, _ uint64) error {
				w.Remove(w.Line()[0].Key)
				<-ctx.Done()
				w.Is(context.Cause(ctx), coord.ErrRemoved)
				return nil
			})
			_, err := other.Lock(ctx)
			w.Is(err, context.Canceled)
			w.Says(err, coord.ErrRemoved.Error())
			if coord.Lost(err) {
				t.Errorf("to lock another lock under the context of a lost one: %v", err)
			}
			return nil
		})
		w.OK(inner)
		w.Is(err, coord.ErrRemoved)
	})
}

// The context of a lock that was lost says nothing about the one around it, also if
// errors call both by the same beginning of their names.
func TestALossWithinIsNotThatOfTheLockAround(t *testing.T) {
	long := strings.Repeat("n", 100)
	for _, names := range [][2]string{{"around", "within"}, {long + " around", long + " within"}} {
		bubble(t, func(w *world) {
			a := w.client()
			around, within := mutex.New(a.Client, names[0]), mutex.New(a.Client, names[1])
			outer, err := around.Lock(w.Ctx)
			w.OK(err)
			inner, err := within.Lock(outer.Context())
			w.OK(err)
			dir, err := coord.Dir("mutex", names[1])
			w.OK(err)
			w.Store.RemoveDir(recipetest.Namespace, dir)
			<-inner.Done()
			_, err = around.Lock(inner.Context())
			w.Is(err, context.Canceled)
			w.Says(err, coord.ErrRemoved.Error())
			if errors.Is(err, coord.ErrNotHeld) || outer.Err() != nil {
				t.Errorf("to lock under the context of a lost lock: %v; the lock around it: %v", err, outer.Err())
			}
			w.OK(outer.Unlock(w.Ctx))
		})
	}
}

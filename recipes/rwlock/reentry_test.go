package rwlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/rwlock"
)

// Who reads may read again, also while a writer waits: else the two would wait
// for each other.
func TestReadInRead(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		outer := a.rlock()
		writer := b.writing(w.Ctx)
		inner, err := a.locker().RLock(outer.Context()) // another value of the same name
		if err != nil {
			t.Fatal(err)
		}
		third, err := a.locker().TryRLock(inner.Context())
		if err != nil {
			t.Fatal(err)
		}
		if inner.Token() != outer.Token() || third.Token() != outer.Token() {
			t.Error("a re-entered lock has another token")
		}
		w.Nodes(2)
		w.unlock(outer, third)
		w.Holds(inner)
		blocked(writer)
		w.unlock(inner)
		w.unlock(writer.Granted())
	})
}

// Who writes may read and write. What is shared is the writer's place, so it is
// exclusive until the last of them is unlocked.
func TestReadAndWriteInWrite(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		outer := a.lock()
		reader := b.reading(w.Ctx)
		read, err := a.locker().RLock(outer.Context())
		if err != nil {
			t.Fatal(err)
		}
		write, err := a.locker().Lock(read.Context()) // of a writer's place
		if err != nil {
			t.Fatal(err)
		}
		try, err := a.locker().TryLock(outer.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []held{read, write, try} {
			if h.Token() != outer.Token() {
				t.Error("a re-entered lock has another token")
			}
		}
		w.Nodes(2)
		w.unlock(outer, write, try)
		blocked(reader)
		w.Holds(read)
		w.unlock(read)
		w.unlock(reader.Granted())
	})
}

func TestUpgradeIsRefused(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		refused := func(ctx context.Context, why error) {
			t.Helper()
			for _, call := range []func(context.Context) (*rwlock.WriteHeld, error){a.locker().Lock, a.locker().TryLock} {
				got, err := call(ctx)
				if got != nil {
					t.Error("a hold beside an error")
				}
				w.Is(err, why)
			}
		}
		for _, reader := range []func() *rwlock.ReadHeld{a.rlock, func() *rwlock.ReadHeld { return w.downgrade(a.lock()) }} {
			r := reader()
			other := b.rlock()
			inner, err := a.locker().RLock(r.Context())
			if err != nil {
				t.Fatal(err)
			}
			refused(r.Context(), rwlock.ErrUpgrade)
			refused(inner.Context(), rwlock.ErrUpgrade)
			w.Nodes(2)
			w.Holds(r, inner, other)

			// Another client's context, and another lock's, is not a reader's.
			_, err = b.locker().TryLock(r.Context())
			w.Is(err, coord.ErrBusy)
			apart, err := rwlock.New(a.Client, "other").Lock(r.Context())
			if err != nil {
				t.Fatal(err)
			}
			refused(apart.Context(), rwlock.ErrUpgrade)
			w.unlock(apart, inner)
			refused(inner.Context(), context.Canceled)

			// Who has lost the lock is told that, and not that it reads.
			w.Remove(w.Line()[0].Key)
			time.Sleep(time.Second)
			w.Lost(r, coord.ErrRemoved)
			refused(r.Context(), coord.ErrNotHeld)
			refused(context.WithoutCancel(r.Context()), coord.ErrRemoved)
			_, err = a.locker().RLock(context.WithoutCancel(r.Context()))
			w.Is(err, coord.ErrNotHeld)
			w.unlock(other)
		}
	})
}

// A context that outlives a hold that was released is an ordinary context, also
// one of a writer that became a reader.
func TestDetachedContextOfAReleasedHoldWaitsItsTurn(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		r := a.rlock()
		detached := context.WithoutCancel(r.Context())
		w.unlock(r)
		h, err := a.locker().Lock(detached)
		if err != nil {
			t.Fatal(err)
		}
		detached = context.WithoutCancel(h.Context())
		r = w.downgrade(h)
		_, err = a.locker().Lock(detached) // it would wait for what it became
		w.Is(err, rwlock.ErrUpgrade)
		w.unlock(r)
		w.unlock(a.writing(detached).Granted())
	})
}

func TestDoUnlocks(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		oops := errors.New("oops")
		for _, do := range []func(context.Context, func(context.Context, uint64) error) error{a.locker().Do, a.locker().RDo} {
			err := do(w.Ctx, func(ctx context.Context, token uint64) error {
				if token == 0 {
					t.Error("no token")
				}
				_, err := b.locker().TryLock(w.Ctx)
				w.Is(err, coord.ErrBusy)
				if err := a.locker().RDo(ctx, func(context.Context, uint64) error { return nil }); err != nil {
					t.Errorf("RDo inside: %v", err)
				}
				return oops
			})
			if err != oops {
				t.Errorf("it returned %v; want fn's error as it is", err)
			}
			w.Nodes(0)
			func() {
				defer func() {
					if r := recover(); r != "boom" {
						t.Errorf("recovered %v", r)
					}
				}()
				_ = do(w.Ctx, func(context.Context, uint64) error { panic("boom") })
			}()
			w.Nodes(0)
			err = do(w.Ctx, func(ctx context.Context, _ uint64) error {
				w.Remove(w.Line()[0].Key)
				<-ctx.Done()
				w.Is(context.Cause(ctx), coord.ErrRemoved)
				return nil
			})
			w.Is(err, coord.ErrNotHeld)
			w.Is(err, coord.ErrRemoved)
			ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
			err = do(ctx, func(ctx context.Context, _ uint64) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, coord.ErrNotHeld) {
				t.Errorf("it returned %v; want the end of its ctx and no loss", err)
			}
			w.Nodes(0)
		}
	})
}

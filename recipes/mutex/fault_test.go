package mutex_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// The holder learns of its loss before the next in line has the lock, whichever
// way it is cut off, and its lock cannot be released or re-entered any more.
func TestLossIsToldBeforeTheHandover(t *testing.T) {
	for name, cut := range map[string]func(*mem.Link){
		"frozen both ways": func(l *mem.Link) { l.Freeze(mem.Both) },
		"frozen up":        func(l *mem.Link) { l.Freeze(mem.Up) },
		"frozen down":      func(l *mem.Link) { l.Freeze(mem.Down) },
		"black hole":       func(l *mem.Link) { l.Blackhole(mem.Both) },
		"refused":          func(l *mem.Link) { l.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a, b := w.client(), w.client()
				held := a.lock()
				next := b.locking(w.Ctx)
				cut(a.Link())
				// What runs here has ended before the lock is given away, in
				// the order of events and not only of clocks.
				told := make(chan time.Time, 1)
				stop := context.AfterFunc(held.Context(), func() { told <- time.Now() })
				defer stop()
				<-next.Over
				at := <-told
				if next.Err != nil || held.Context().Err() == nil || next.At.Before(at) {
					t.Fatalf("the lock was granted at %v, %v; the holder was told at %v", next.At, next.Err, at)
				}
				w.Lost(held, coord.ErrSessionLost)
				second := next.Granted()
				if second.Token() <= held.Token() {
					t.Errorf("token %d after %d", second.Token(), held.Token())
				}
				_, err := a.mutex().Lock(context.WithoutCancel(held.Context()))
				w.Is(err, coord.ErrNotHeld)
				w.Is(held.Unlock(w.Ctx), coord.ErrSessionLost)
				if second.Err() != nil {
					t.Errorf("the second holder lost the lock: %v", second.Err())
				}
				w.unlock(second)
				if err := a.Link().Heal(); err != nil {
					t.Fatal(err)
				}
				w.unlock(a.lock()) // with a new session
			})
		})
	}
}

// A process that was paused learns of its loss from the first thing it asks,
// before any timer of its has run.
func TestErrAsksTheClock(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		held := a.lock()
		w.Store.Expire(held.Session().ID())
		a.Link().Freeze(mem.Both)
		time.Sleep(2 * ttl)
		w.Is(held.Err(), coord.ErrSessionLost)
	})
}

func TestWaiterWhoseSessionIsLostFailsAndIsNeverGranted(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		held := a.lock()
		session, err := b.Session(w.Ctx)
		if err != nil {
			t.Fatal(err)
		}
		waiting := b.locking(w.Ctx)
		w.Store.Expire(session.ID())
		time.Sleep(ttl)
		waiting.Failed(coord.ErrSessionLost)
		w.unlock(held)
		w.unlock(b.lock()) // the client goes on with a new session
		again, err := b.Session(w.Ctx)
		if err != nil || again.ID() == session.ID() || session.Err() == nil {
			t.Errorf("session %v after %v: %v; want another, and the first to stay lost", again.ID(), session.ID(), err)
		}
	})
}

func TestDedicatedSessionIsNotReplaced(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		s, err := a.NewSession(w.Ctx, 3*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		m := a.mutex(coord.WithSession(s))
		held, err := m.Lock(w.Ctx)
		if err != nil {
			t.Fatal(err)
		}
		shared := a.lockOther()
		w.Store.Expire(s.ID())
		time.Sleep(3 * time.Second)
		w.Lost(held, coord.ErrSessionLost)
		if shared.Err() != nil {
			t.Errorf("the shared session was lost with the dedicated one: %v", shared.Err())
		}
		_, err = m.Lock(w.Ctx)
		w.Is(err, coord.ErrSessionLost)
		w.unlock(shared)
	})
}

func (c *client) lockOther() *mutex.Held {
	c.w.Helper()
	held, err := mutex.New(c.Client, "other").Lock(c.w.Ctx)
	if err != nil {
		c.w.Fatal(err)
	}
	return held
}

func TestLostReplyMakesOneEntry(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		if _, err := a.Session(w.Ctx); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			a.Link().DropNextReply(mem.OpCreate)
		}
		held := a.lock()
		w.Nodes(1)
		w.unlock(held)
		w.Nodes(0)
	})
}

// The create is on its way when the caller gives up, and lands long after.
func TestLateCreateLeavesNothing(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		if _, err := a.Session(w.Ctx); err != nil {
			t.Fatal(err)
		}
		late := a.Link().Hold(mem.OpCreate)
		ctx, cancel := context.WithCancel(w.Ctx)
		lock := a.locking(ctx)
		<-late.Caught()
		cancel()
		lock.Failed(context.Canceled)
		again := a.lock() // while the first request still is on its way
		late.Release()
		w.Nodes(1)
		w.unlock(again)
		w.Nodes(0)
		w.unlock(b.lock())
	})
}

// The create arrived, the caller gave up, and the abandoning fails at first.
func TestAbandonIsRetried(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		if _, err := a.Session(w.Ctx); err != nil {
			t.Fatal(err)
		}
		link := a.Link()
		link.Freeze(mem.Down)
		ctx, cancel := context.WithCancel(w.Ctx)
		lock := a.locking(ctx)
		w.Nodes(1)
		cancel()
		lock.Failed(context.Canceled)
		for range 3 {
			link.LoseNextRequest(mem.OpAbandon)
		}
		link.Thaw(mem.Down)
		time.Sleep(ttl / 3)
		w.Nodes(0)
		w.unlock(a.lock())
	})
}

// An operator deletes the holder's entry, or a waiter's.
func TestRemovedEntryIsTold(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		held := a.lock()
		second, third := b.locking(w.Ctx), c.locking(w.Ctx)
		nodes := w.Nodes(3)
		w.Remove(nodes[1].Key)
		time.Sleep(time.Minute) // who waits is not watched at once
		second.Failed(coord.ErrRemoved)
		blocked(third)
		w.Remove(nodes[0].Key)
		time.Sleep(time.Second)
		w.Lost(held, coord.ErrRemoved)
		w.Is(held.Unlock(w.Ctx), coord.ErrRemoved)
		_, err := a.mutex().Lock(context.WithoutCancel(held.Context()))
		w.Is(err, coord.ErrNotHeld)
		w.unlock(third.Granted())
		w.Nodes(0)
	})
}

// Who lets go while the store is being asked why the entry is gone is told that it is.
func TestUnlockWhileTheLossIsLookedInto(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		held := a.lock()
		next := b.locking(w.Ctx)
		time.Sleep(time.Second) // by then the entry is watched
		const way = 100 * time.Millisecond
		a.Link().Delay(mem.Both, way)
		w.Remove(w.Nodes(2)[0].Key)
		time.Sleep(3*way + way/2) // the news is there, the driver has looked, and the question is on its way
		w.unlock(next.Granted())
		if err := held.Err(); err != nil {
			t.Fatalf("the hold has ended before the answer: %v", err)
		}
		w.Is(held.Unlock(w.Ctx), coord.ErrRemoved, coord.ErrNotHeld)
		w.OK(a.Link().Heal())
		w.Nodes(0)
	})
}

// The same among waiters of one process, who hear of each other directly.
func TestRemovedEntriesOfOneProcess(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		held := a.lock()
		second, third := a.locking(w.Ctx), a.locking(w.Ctx)
		nodes := w.Nodes(3)
		w.Remove(nodes[1].Key)
		time.Sleep(time.Second)
		second.Failed(coord.ErrRemoved)
		blocked(third)
		w.unlock(held)
		w.unlock(third.Granted())

		held = a.lock()
		waiting := a.locking(w.Ctx)
		w.RemoveDir()
		time.Sleep(time.Second)
		w.Lost(held, coord.ErrRemoved)
		waiting.Failed(coord.ErrRemoved)
		w.unlock(a.lock())
	})
}

// A waiter whose entry is removed is not granted by the release of its own process,
// which asks nobody: somebody else's entry has moved up.
func TestRemovedWaiterIsNotGrantedByItsProcess(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		held := a.lock()
		second := a.locking(w.Ctx)
		third := b.locking(w.Ctx)
		nodes := w.Nodes(3)
		w.Remove(nodes[1].Key)
		time.Sleep(time.Second)
		w.unlock(held)
		second.Failed(coord.ErrRemoved)
		w.unlock(third.Granted())
		w.Nodes(0)
	})
}

func TestDeadlineWithAFrozenStore(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		held := a.lock()
		link := a.Link()
		link.Freeze(mem.Both)
		start := time.Now()
		within := func(what string, call func(context.Context) error) {
			t.Helper()
			ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
			defer cancel()
			from := time.Now()
			w.Is(call(ctx), context.DeadlineExceeded)
			if d := time.Since(from); d > time.Second {
				t.Errorf("%s took %v under a ctx of a second", what, d)
			}
		}
		m := a.mutex()
		within("Lock", func(ctx context.Context) error { _, err := m.Lock(ctx); return err })
		within("TryLock", func(ctx context.Context) error { _, err := m.TryLock(ctx); return err })
		within("Contenders", func(ctx context.Context) error { _, err := m.Contenders(ctx); return err })
		within("Unlock", held.Unlock)
		within("Do", func(ctx context.Context) error {
			return m.Do(ctx, func(context.Context, uint64) error { panic("called") })
		})
		within("Lock without a session", func(ctx context.Context) error {
			fresh := w.client()
			fresh.Link().Freeze(mem.Both)
			_, err := fresh.mutex().Lock(ctx)
			return err
		})
		if time.Since(start) > ttl {
			t.Error("took longer than the session lives")
		}
		if err := link.Heal(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(ttl)
		w.Nodes(0)
	})
}

func TestCloseEndsHoldsAndWaits(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		held := a.lock()
		waiting := b.locking(w.Ctx)
		same := a.locking(w.Ctx)
		if err := b.Close(w.Ctx); err != nil {
			t.Fatal(err)
		}
		waiting.Failed(coord.ErrClosed)
		if err := a.Close(w.Ctx); err != nil {
			t.Fatal(err)
		}
		same.Failed(coord.ErrClosed)
		w.Lost(held, coord.ErrClosed)
		_, err := a.mutex().Lock(w.Ctx)
		w.Is(err, coord.ErrClosed)
		w.Nodes(0)
	})
}

// A close with the store out of reach ends when its ctx does, and everything
// local with it.
func TestCloseWithAFrozenStore(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		held := a.lock()
		a.Link().Freeze(mem.Both)
		ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
		defer cancel()
		start := time.Now()
		if err := a.Client.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		if d := time.Since(start); d != time.Second {
			t.Errorf("Close took %v under a ctx of a second", d)
		}
		w.Lost(held, coord.ErrClosed)
		time.Sleep(ttl)
		w.Nodes(0)
	})
}

package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

// The holder learns of its loss before who comes after it has the lock,
// whichever way it is cut off.
func TestLossIsToldBeforeTheHandover(t *testing.T) {
	type kind func(*client) held
	wlock, rlock := func(c *client) held { return c.lock() }, func(c *client) held { return c.rlock() }
	writing := func(c *client) *attempt { return c.writing(c.w.Ctx) }
	reading := func(c *client) *attempt { return c.reading(c.w.Ctx) }
	for name, who := range map[string]struct {
		holder kind
		next   func(*client) *attempt
	}{
		"writer then writer": {wlock, writing},
		"writer then reader": {wlock, reading},
		"reader then writer": {rlock, writing},
	} {
		for fault, cut := range map[string]func(*mem.Link){
			"frozen both ways": func(l *mem.Link) { l.Freeze(mem.Both) },
			"frozen down":      func(l *mem.Link) { l.Freeze(mem.Down) },
			"refused":          func(l *mem.Link) { l.Cut() },
		} {
			t.Run(name+", "+fault, func(t *testing.T) {
				bubble(t, func(w *world) {
					a, b := w.client(), w.client()
					h := who.holder(a)
					next := who.next(b)
					blocked(next)
					cut(a.Link())
					told := make(chan time.Time, 1)
					stop := context.AfterFunc(h.Context(), func() { told <- time.Now() })
					defer stop()
					<-next.Over
					at := <-told
					if next.Err != nil || next.At.Before(at) {
						t.Fatalf("the lock was granted at %v, %v; the holder was told at %v", next.At, next.Err, at)
					}
					w.Lost(h, coord.ErrSessionLost)
					w.Is(h.Unlock(w.Ctx), coord.ErrSessionLost)
					if err := a.Link().Heal(); err != nil {
						t.Fatal(err)
					}
					w.unlock(next.Granted())
					w.unlock(a.lock()) // with a new session
				})
			})
		}
	}
}

func TestWaitersWhoseSessionIsLostFail(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		h := a.lock()
		session, err := b.Session(w.Ctx)
		if err != nil {
			t.Fatal(err)
		}
		r1, w2 := b.reading(w.Ctx), b.writing(w.Ctx)
		r3 := c.reading(w.Ctx)
		w.Store.Expire(session.ID())
		time.Sleep(ttl)
		r1.Failed(coord.ErrSessionLost)
		w2.Failed(coord.ErrSessionLost)
		blocked(r3)
		w.unlock(h)
		w.unlock(r3.Granted())
	})
}

// An operator deletes entries of holders and of waiters.
func TestRemovedEntriesAreTold(t *testing.T) {
	bubble(t, func(w *world) {
		for _, others := range []bool{false, true} { // in one process or in several
			a := w.client()
			b, c := a, a
			if others {
				b, c = w.client(), w.client()
			}
			r0, r1 := a.rlock(), b.rlock()
			w2, r3, w4 := b.writing(w.Ctx), c.reading(w.Ctx), a.writing(w.Ctx)
			nodes := w.Nodes(5)
			remove := func(i int) {
				w.Remove(nodes[i].Key)
				time.Sleep(time.Minute) // who waits is not watched at once
			}
			remove(2)
			w2.Failed(coord.ErrRemoved)
			h3 := r3.Granted()
			blocked(w4)
			remove(0)
			w.Lost(r0, coord.ErrRemoved)
			w.Holds(r1, h3)
			blocked(w4)
			w.unlock(r1)
			remove(3)
			w.Lost(h3, coord.ErrRemoved)
			h4 := w4.Granted()
			r5 := c.reading(w.Ctx)
			w.RemoveDir()
			time.Sleep(time.Second)
			w.Lost(h4, coord.ErrRemoved)
			if w.Plain && others {
				// It cannot tell that from a grant, but is told soon after.
				w.Lost(r5.Granted(), coord.ErrRemoved)
			} else {
				r5.Failed(coord.ErrRemoved)
			}
			w.unlock(a.lock())
		}
	})
}

func TestLostRepliesMakeOneEntry(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		if _, err := a.Session(w.Ctx); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			a.Link().DropNextReply(mem.OpCreate)
		}
		r := a.rlock()
		w.Nodes(1)
		for range 3 {
			a.Link().DropNextReply(mem.OpDelete)
		}
		w.unlock(r)
		w.Nodes(0)
	})
}

// A create that lands after its caller gave up is in nobody's way.
func TestLateCreatesLeaveNothing(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		if _, err := a.Session(w.Ctx); err != nil {
			t.Fatal(err)
		}
		for _, begin := range []func(context.Context) *attempt{a.reading, a.writing} {
			late := a.Link().Hold(mem.OpCreate)
			ctx, cancel := context.WithCancel(w.Ctx)
			try := begin(ctx)
			<-late.Caught()
			cancel()
			try.Failed(context.Canceled)
			late.Release()
			w.Nodes(0)
			w.unlock(b.lock())
		}
	})
}

func TestCloseEndsHoldsAndWaits(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		r := a.rlock()
		w1, r2, w3 := b.writing(w.Ctx), b.reading(w.Ctx), a.writing(w.Ctx)
		if err := b.Close(w.Ctx); err != nil {
			t.Fatal(err)
		}
		w1.Failed(coord.ErrClosed)
		r2.Failed(coord.ErrClosed)
		blocked(w3)
		if err := a.Close(w.Ctx); err != nil {
			t.Fatal(err)
		}
		w3.Failed(coord.ErrClosed)
		w.Lost(r, coord.ErrClosed)
		w.Nodes(0)
	})
}

// Every call ends with its ctx when the store does not answer.
func TestDeadlineWithAFrozenStore(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		h := a.rlock()
		a.Link().Freeze(mem.Both)
		l := a.locker()
		never := func(context.Context, uint64) error { panic("called") }
		for name, call := range map[string]func(context.Context) error{
			"RLock":      func(ctx context.Context) error { _, err := l.RLock(ctx); return err },
			"Lock":       func(ctx context.Context) error { _, err := l.Lock(ctx); return err },
			"TryRLock":   func(ctx context.Context) error { _, err := l.TryRLock(ctx); return err },
			"TryLock":    func(ctx context.Context) error { _, err := l.TryLock(ctx); return err },
			"Contenders": func(ctx context.Context) error { _, err := l.Contenders(ctx); return err },
			"Do":         func(ctx context.Context) error { return l.Do(ctx, never) },
			"Unlock":     h.Unlock,
		} {
			ctx, cancel := context.WithTimeout(w.Ctx, 500*time.Millisecond)
			from := time.Now()
			w.Is(call(ctx), context.DeadlineExceeded)
			cancel()
			if d := time.Since(from); d > 500*time.Millisecond {
				t.Errorf("%s took %v under a ctx of half a second", name, d)
			}
		}
		if err := a.Link().Heal(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(ttl)
		w.Nodes(0)
	})
}

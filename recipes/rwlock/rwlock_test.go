package rwlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/rwlock"
)

func TestReadersShareAndWritersDoNot(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		r1, r2, r3 := a.rlock(), a.rlock(), b.rlock()
		writer := c.writing(w.Ctx)
		same := a.writing(w.Ctx)
		w.unlock(r1, r3)
		blocked(writer, same)
		w.unlock(r2)
		first := writer.Granted()
		reader := b.reading(w.Ctx)
		blocked(same, reader)
		w.unlock(first)
		second := same.Granted()
		blocked(reader)
		w.unlock(second)
		w.unlock(reader.Granted())
		w.Nodes(0)
	})
}

// Whoever came first is served first: readers do not pass a writer that waits,
// and those between two writers come in together.
func TestFirstComeFirstServed(t *testing.T) {
	bubble(t, func(w *world) {
		c := []*client{w.client(), w.client(), w.client()}
		r0 := c[0].rlock()
		w1 := c[1].writing(w.Ctx)
		r2, r3, r4 := c[2].reading(w.Ctx), c[0].reading(w.Ctx), c[1].reading(w.Ctx)
		w5 := c[0].writing(w.Ctx)
		w6 := c[0].writing(w.Ctx)
		r7 := c[2].reading(w.Ctx)
		all := []*attempt{w1, r2, r3, r4, w5, w6, r7}
		blocked(all...)
		w.unlock(r0)
		h1 := w1.Granted()
		blocked(all[1:]...)
		w.unlock(h1)
		h2, h3, h4 := r2.Granted(), r3.Granted(), r4.Granted()
		blocked(all[4:]...)
		w.unlock(h4, h2)
		blocked(all[4:]...)
		w.unlock(h3)
		h5 := w5.Granted()
		blocked(all[5:]...)
		w.unlock(h5)
		h6 := w6.Granted()
		blocked(r7)
		w.unlock(h6)
		h7 := r7.Granted()
		w.unlock(h7)
		last := uint64(0)
		for _, h := range []held{r0, h1, h2, h3, h4, h5, h6, h7} {
			if h.Token() <= last {
				t.Errorf("token %d after %d", h.Token(), last)
			}
			last = h.Token()
		}
	})
}

// A reader waits for the nearest writer ahead and not for the first, and sees
// what is left when one in the middle gives up.
func TestWaiterThatGivesUpLetsOthersIn(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		giveUp := func() (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(w.Ctx)
			return ctx, func() { cancel(errors.New("bored")) }
		}
		r0 := a.rlock()
		ctx1, cancel1 := giveUp()
		ctx2, cancel2 := giveUp()
		w1, w2 := b.writing(ctx1), c.writing(ctx2)
		r3, r4 := a.reading(w.Ctx), c.reading(w.Ctx)
		cancel2()
		w2.Failed(context.Canceled)
		w.Says(w2.Err, "bored")
		blocked(w1, r3, r4) // behind the first writer now
		cancel1()
		w1.Failed(context.Canceled)
		h3, h4 := r3.Granted(), r4.Granted()
		w.Nodes(3)
		w.unlock(r0, h3, h4)
	})
}

func TestTryLock(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		busy := func(write, read error, entries int) {
			t.Helper()
			wh, err := b.locker().TryLock(w.Ctx)
			w.Is(err, write)
			if err == nil {
				w.unlock(wh)
			}
			rh, err := b.locker().TryRLock(w.Ctx)
			w.Is(err, read)
			if err == nil {
				w.unlock(rh)
			}
			w.Nodes(entries)
		}
		busy(nil, nil, 0)
		r := a.rlock()
		busy(coord.ErrBusy, nil, 1)
		ctx, cancel := context.WithCancel(w.Ctx)
		writer := a.writing(ctx)
		busy(coord.ErrBusy, coord.ErrBusy, 2) // not past a writer that waits
		cancel()
		writer.Failed(context.Canceled)
		busy(coord.ErrBusy, nil, 1)
		w.unlock(r)
		h := a.lock()
		busy(coord.ErrBusy, coord.ErrBusy, 1)
		read := w.downgrade(h)
		busy(coord.ErrBusy, nil, 1)
		w.unlock(read)
		busy(nil, nil, 0)
	})
}

// Somebody joins between TryLock's look and its own joining.
func TestTryLockOvertakenLeavesNothing(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		if _, err := b.Session(w.Ctx); err != nil {
			t.Fatal(err)
		}
		late := b.Link().Hold("create")
		try := w.attempt(func(at *attempt) { at.Held, at.Err = either(b.locker().TryLock(w.Ctx)) })
		<-late.Caught()
		r := a.rlock()
		late.Release()
		try.Failed(coord.ErrBusy)
		w.Nodes(1)
		w.unlock(r)
	})
}

func TestContendersSayWhatTheyWant(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.lock()
		r, next := b.reading(w.Ctx), b.writing(w.Ctx)
		want := func(holders, waiters []coord.Mode, token uint64) {
			t.Helper()
			c, err := w.client().locker().Contenders(w.Ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []struct {
				got  []coord.Contender
				want []coord.Mode
			}{{c.Holders, holders}, {c.Waiters, waiters}} {
				if len(part.got) != len(part.want) {
					t.Fatalf("%+v; want holders %v and waiters %v", c, holders, waiters)
				}
				for i, one := range part.got {
					if one.Mode != part.want[i] || one.Owner.PID == 0 || one.Key == "" {
						t.Fatalf("%+v; want holders %v and waiters %v", c, holders, waiters)
					}
				}
			}
			if len(c.Holders) > 0 && c.Holders[0].Token != token && c.Holders[len(c.Holders)-1].Token != token {
				t.Fatalf("no holder has token %d: %+v", token, c.Holders)
			}
		}
		want([]coord.Mode{coord.Writing}, []coord.Mode{coord.Reading, coord.Writing}, h.Token())
		late := a.Link().Hold("delete")
		down := w.attempt(func(at *attempt) { at.Held, at.Err = either(h.Downgrade(w.Ctx)) })
		<-late.Caught() // both entries of it are there
		w.Nodes(4)
		want([]coord.Mode{coord.Reading}, []coord.Mode{coord.Reading, coord.Writing}, h.Token())
		late.Release()
		read := down.Granted()
		want([]coord.Mode{coord.Reading, coord.Reading}, []coord.Mode{coord.Writing}, h.Token())
		w.unlock(read, r.Granted())
		w.unlock(next.Granted())
		want(nil, nil, 0)
	})
}

func TestInvalidNameShowsInEveryCall(t *testing.T) {
	bubble(t, func(w *world) {
		for _, name := range []string{"", strings.Repeat("x", 256)} {
			l := rwlock.New(w.client().Client, name)
			_, err1 := l.Lock(w.Ctx)
			_, err2 := l.TryLock(w.Ctx)
			_, err3 := l.RLock(w.Ctx)
			_, err4 := l.TryRLock(w.Ctx)
			_, err5 := l.Contenders(w.Ctx)
			never := func(context.Context, uint64) error { panic("called") }
			err6, err7, err8 := l.Do(w.Ctx, never), l.RDo(w.Ctx, never), l.Revoke(w.Ctx, 1, "")
			for _, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8} {
				w.Is(err, coord.ErrInvalid)
			}
		}
	})
}

func TestRevocation(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		h := a.lock()
		var asked coord.Revocation
		listening := w.attempt(func(at *attempt) { asked, at.Err = h.Revoked(w.Ctx) })
		blocked(listening)
		asking := w.attempt(func(at *attempt) { at.Err = c.locker().Revoke(w.Ctx, h.Token(), "upgrade") })
		<-listening.Over
		if listening.Err != nil || asked.Reason != "upgrade" || asked.By.PID != c.Owner().PID || asked.Since.IsZero() {
			t.Fatalf("%+v, %v", asked, listening.Err)
		}
		// To share the lock is not to let go of it.
		r := w.downgrade(h)
		blocked(asking)
		again, err := r.Revoked(w.Ctx)
		if err != nil || again.Reason != "upgrade" {
			t.Fatalf("%+v, %v", again, err)
		}
		other := b.rlock()
		w.unlock(r)
		time.Sleep(2 * time.Second) // without a watch the line is listed once a second
		asking.Granted()
		w.Holds(other)
		if err := c.locker().Revoke(w.Ctx, r.Token(), "again"); err != nil {
			t.Errorf("revoking what is gone: %v", err)
		}
		ended := w.attempt(func(at *attempt) { _, at.Err = other.Revoked(w.Ctx) })
		w.unlock(other)
		<-ended.Over
		w.Is(ended.Err, coord.ErrReleased)
	})
}

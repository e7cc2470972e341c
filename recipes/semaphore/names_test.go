package semaphore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// asked wants so many lists, of names and with data, since it was asked last.
func (w *world) asked(what string, named, full int64) {
	w.Helper()
	if n, f := w.lists.Next(); n != named || f != full {
		w.Errorf("%s took %d lists of names and %d with data; want %d and %d", what, n, f, named, full)
	}
}

// Where lists are names, nobody reads data without need.
func TestListsByNames(t *testing.T) {
	bubbleByNames(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(2, 3)
		w.asked("Acquire", 1, 0)
		first := b.acquiring(w.Ctx, 2, 3)
		blocked(first)
		w.asked("joining as the first", 1, 0)
		second, third := a.acquiring(w.Ctx, 2, 3), b.acquiring(w.Ctx, 2, 3)
		blocked(second, third)
		w.asked("joining behind two who wait", 2, 0)
		w.release(h)
		h = first.Granted()
		blocked(second, third)
		w.asked("letting the first in, and waking the next", 1, 0)

		// A notice says in its data what it is of.
		w.setLimit(a.semaphore(3), 4)
		w.lists.Next()
		in := second.Granted()
		w.lists.Next() // the third has looked, too
		last := a.acquiring(w.Ctx, 1, 3)
		blocked(third, last)
		if n, f := w.lists.Next(); n != 1 || f < 1 {
			w.Errorf("joining under a notice took %d lists of names and %d with data", n, f)
		}
		w.release(h, in)
		w.release(third.Granted(), last.Granted())
	})
}

// Two who disagree find out who the other is, which is in data.
func TestDisagreementByNames(t *testing.T) {
	bubbleByNames(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(1, 3)
		w.lists.Next()
		_, err := b.semaphore(4).Acquire(w.Ctx, 1)
		w.Is(err, semaphore.ErrLimit)
		w.asked("an Acquire with another limit", 1, 1)
		w.release(h)
	})
}

// Terms that a name has no room for are in the data.
func TestTermsInData(t *testing.T) {
	const many = semaphore.MaxLimit
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(many-1, many)
		if id := w.of("p")[0].ID; id != "p0" {
			w.Errorf("the entry is called %s", id)
		}
		one := b.acquire(1, many) // which has room
		if id := w.entries(2)[1].ID; !strings.HasPrefix(id, "p1x") {
			w.Errorf("the entry is called %s", id)
		}
		next := a.acquiring(w.Ctx, 1, many)
		blocked(next)
		w.uses(b, many, many)
		w.release(h, one)
		w.release(next.Granted())
	})
}

// What only looks like an entry takes permits of nobody, though names list it: who
// is kept waiting by it finds out.
func TestPhantomTakesNoPermits(t *testing.T) {
	bubbleByNames(t, func(w *world) {
		w.lists.Phantom = driver.Node{Dir: dir, ID: "p1x1x0", Key: "phantom", Session: "nobody's"}
		c := w.client()
		w.release(c.acquire(1, 1))
		h, err := c.semaphore(1).TryAcquire(w.Ctx, 1)
		w.OK(err)
		next := w.client().acquiring(w.Ctx, 1, 1)
		blocked(next)
		w.release(h)
		w.release(next.Granted())
	})
}

// A waiter's entry is removed, and its gate is not gone for long: that is nobody's
// gate, whoever has the slot.
func TestGateOfARemovedEntry(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		h := a.acquire(2, 2)
		removed := b.acquiring(w.Ctx, 1, 2)
		blocked(removed)
		late := b.Link().Hold(mem.OpDelete)
		entry := w.entries(2)[1]
		w.Remove(entry.Key)
		again := b.acquiring(w.Ctx, 1, 2) // finds the gate, and not the entry
		last := c.acquiring(w.Ctx, 1, 2)
		blocked(again, last)
		w.release(h)
		in := again.Granted()
		out := last.Granted()
		w.release(out)
		late.Release()
		w.release(in)
		<-removed.Over
		w.entries(0)
	})
}

// Whoever gives up while its gate is on its way does not leave its slot to another
// before that is settled: the gate would pass for the other one's, which would
// seem to wait.
func TestSlotOfWhoseGateIsOnItsWay(t *testing.T) {
	bubbleFast(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(2, 2)
		_, err := b.Session(w.Ctx)
		w.OK(err)
		link := b.Link()
		entry := link.Hold(mem.OpCreate)
		ctx, cancel := context.WithCancel(w.Ctx)
		gone := b.acquiring(ctx, 1, 2)
		<-entry.Caught()
		gate := link.Hold(mem.OpCreate)
		entry.Release()
		<-gate.Caught()
		old := w.entries(2)[1].ID
		abandon := link.Hold(mem.OpAbandon)
		cancel()
		gone.Failed(context.Canceled)
		<-abandon.Caught()
		w.entries(1)
		next := b.acquiring(w.Ctx, 1, 2)
		blocked(next)
		if id := w.entries(2)[1].ID; id == old {
			w.Errorf("the next entry is called %s as well", id)
		}
		gate.Release()
		blocked(next)
		if n := len(w.of("g")); n != 2 {
			w.Errorf("%d gates; want that of who waits, and that of nobody", n)
		}
		abandon.Release()
		blocked(next)
		if n := len(w.of("g")); n != 1 {
			w.Errorf("%d gates; want one", n)
		}
		w.release(h)
		w.release(next.Granted())
		last := b.acquire(1, 2)
		if id := w.entries(1)[0].ID; id != old {
			w.Errorf("the entry is called %s; want %s again", id, old)
		}
		w.release(last)
	})
}

package semaphore_test

import (
	"context"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

// Gates come and go with those who wait, and none is left.
func TestGates(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		gates := func(n int) {
			t.Helper()
			w.Settle()
			if got := len(w.of("g")); got != n {
				t.Fatalf("%d gates; want %d", got, n)
			}
		}
		h := a.acquire(2, 2)
		ctx, cancel := context.WithCancel(w.Ctx)
		line := []*attempt{b.acquiring(w.Ctx, 1, 2), a.acquiring(ctx, 1, 2), b.acquiring(w.Ctx, 1, 2)}
		gates(3)
		cancel()
		line[1].Failed(context.Canceled)
		gates(2)
		w.release(h)
		h1, h2 := line[0].Granted(), line[2].Granted()
		gates(0)
		w.release(h1, h2)
	})
}

// Whoever waits first gives up, whoever waits in the middle, and the last.
func TestWaiterThatGivesUpLetsOthersGoOn(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		for i := range 4 {
			h := a.acquire(2, 2)
			var line []*attempt
			var cancels []context.CancelFunc
			for j := range 4 {
				ctx, cancel := context.WithCancel(w.Ctx)
				defer cancel()
				line = append(line, []*client{b, c, b, a}[j].acquiring(ctx, 2, 2))
				cancels = append(cancels, cancel)
			}
			blocked(line...)
			cancels[i]()
			line[i].Failed(context.Canceled)
			w.entries(4)
			for j, next := range line {
				if j == i {
					continue
				}
				blocked(line[j])
				w.release(h)
				h = next.Granted()
			}
			w.release(h)
			w.entries(0)
		}
	})
}

// A gate is lost to an operator, or there is trouble with making it or taking it
// away: those behind it sleep a little less or longer, and nothing else.
func TestGateFaults(t *testing.T) {
	twice := func(fault func(*mem.Link)) func(*world, *mem.Link) {
		return func(_ *world, l *mem.Link) { fault(l); fault(l) }
	}
	for name, fault := range map[string]struct{ joining, waiting func(*world, *mem.Link) }{
		"the first is removed": {waiting: func(w *world, _ *mem.Link) { w.Remove(w.of("g")[0].Key) }},
		"the last is removed":  {waiting: func(w *world, _ *mem.Link) { w.Remove(w.of("g")[2].Key) }},
		"all are removed": {waiting: func(w *world, _ *mem.Link) {
			for _, n := range w.of("g") {
				w.Remove(n.Key)
			}
		}},
		"its entry's and its own replies are lost": {joining: twice(func(l *mem.Link) { l.DropNextReply(mem.OpCreate) })},
		"requests to make it are lost":             {joining: twice(func(l *mem.Link) { l.LoseNextRequest(mem.OpCreate) })},
		"replies of its removal are lost":          {waiting: twice(func(l *mem.Link) { l.DropNextReply(mem.OpDelete) })},
		"requests to remove it are lost":           {waiting: twice(func(l *mem.Link) { l.LoseNextRequest(mem.OpDelete) })},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a, b := w.client(), w.client()
				h := a.acquire(2, 2)
				if _, err := b.Session(w.Ctx); err != nil {
					t.Fatal(err)
				}
				if fault.joining != nil {
					fault.joining(w, b.Link())
				}
				first := b.acquiring(w.Ctx, 2, 2)
				time.Sleep(time.Second) // for what is tried again
				second, third := a.acquiring(w.Ctx, 2, 2), b.acquiring(w.Ctx, 1, 2)
				blocked(first, second, third)
				if n := len(w.of("g")); n != 3 {
					t.Errorf("%d gates for 3 who wait", n)
				}
				if fault.waiting != nil {
					fault.waiting(w, b.Link())
				}
				blocked(first, second, third)
				w.release(h)
				h = first.Granted()
				blocked(second, third)
				w.release(h)
				time.Sleep(time.Second)
				h = second.Granted()
				blocked(third)
				w.release(h)
				w.release(third.Granted())
			})
		})
	}
}

// The caller gives up while the request for its gate is on its way.
func TestLateGateIsLeftNowhere(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(2, 2)
		if _, err := b.Session(w.Ctx); err != nil {
			t.Fatal(err)
		}
		link := b.Link()
		entry := link.Hold(mem.OpCreate)
		ctx, cancel := context.WithCancel(w.Ctx)
		gone := b.acquiring(ctx, 1, 2)
		<-entry.Caught()
		gate := link.Hold(mem.OpCreate)
		entry.Release()
		<-gate.Caught()
		next := a.acquiring(w.Ctx, 1, 2)
		blocked(gone, next)
		cancel()
		gone.Failed(context.Canceled)
		gate.Release()
		blocked(next)
		if n := len(w.of("g")); n != 1 {
			t.Errorf("%d gates; want one", n)
		}
		w.entries(2)
		w.release(h)
		w.release(next.Granted())
	})
}

// A gate is removed only after its entry's slot has gone to another one that
// waits. It does not pass for that one's gate.
func TestLateRemovalOfAGate(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		h := a.acquire(1, 1)
		first := b.acquiring(w.Ctx, 1, 1)
		blocked(first)
		late := b.Link().Hold(mem.OpDelete)
		w.release(h)
		h = first.Granted()
		<-late.Caught()
		w.release(h) // and its slot is free
		h = a.acquire(1, 1)
		again, last := b.acquiring(w.Ctx, 1, 1), c.acquiring(w.Ctx, 1, 1)
		blocked(again, last)
		w.release(h)
		h = again.Granted()
		blocked(last)
		w.release(h)
		h = last.Granted() // though the old gate still is there
		late.Release()
		w.release(h)
		w.Settle()
		if n := len(w.of("g")); n != 0 {
			t.Errorf("%d gates are left", n)
		}
	})
}

// Whoever is paused when its turn comes holds up those behind it until it goes
// on or its session is over, and no longer; one that is paused while it is not
// its turn holds up nobody.
func TestFrozenWaiter(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c, d := w.client(), w.client(), w.client(), w.client()
		h1, h2 := a.acquire(1, 2), a.acquire(1, 2)
		first, frozen, last := b.acquiring(w.Ctx, 1, 2), c.acquiring(w.Ctx, 1, 2), d.acquiring(w.Ctx, 1, 2)
		blocked(first, frozen, last)
		c.Link().Freeze(mem.Both)
		w.release(h1)
		h3 := first.Granted() // not its turn
		blocked(last)
		began := time.Now()
		w.release(h2, h3) // its turn, and there is room for the last too
		blocked(last)
		<-last.Over
		if d := time.Since(began); last.Err != nil || d > 2*ttl {
			t.Errorf("%v after %v", last.Err, d)
		}
		if err := c.Link().Heal(); err != nil {
			t.Fatal(err)
		}
		frozen.Failed(coord.ErrSessionLost)
		w.release(last.Held)
	})
}

func TestThawedWaiterLetsTheNextIn(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		h := a.acquire(2, 2)
		frozen, last := b.acquiring(w.Ctx, 1, 2), c.acquiring(w.Ctx, 1, 2)
		blocked(frozen, last)
		b.Link().Freeze(mem.Both)
		w.release(h)
		blocked(last)
		b.Link().Thaw(mem.Both)
		w.release(frozen.Granted(), last.Granted())
	})
}

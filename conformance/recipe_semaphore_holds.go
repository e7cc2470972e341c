package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

func semReturnExpired(t sem) {
	a := t.Client()
	h1, h2 := t.take(t.want(a, 2, 3)), t.take(t.want(a, 1, 3))
	all := t.join(t.ctx, "who waits for all", t.want(t.Client(), 3, 3), 3)
	t.expire(h1.Session().Driver())
	t.ends(h1, "the holder whose session the store ended", coord.ErrSessionLost)
	t.ends(h2, "its other hold", coord.ErrSessionLost)
	t.release(t.wins(all))
	t.release(t.take(t.want(a, 3, 3)))
	t.empty()
}

func semReturnRemoved(t sem) {
	a, b := t.Client(), t.Client()
	h1 := t.take(t.want(a, 2, 3))
	h2 := t.take(t.want(b, 1, 3))
	first := t.join(t.ctx, "who waits for one", t.want(b, 1, 3), 3)
	second := t.join(t.ctx, "who waits for one", t.want(a, 1, 3), 4)
	third := t.join(t.ctx, "who waits for one", t.want(t.Client(), 1, 3), 5)
	t.removeNode(t.entries(5)[0])
	t.ends(h1, "the holder whose entry was removed", coord.ErrRemoved)
	in := []subject.Hold{h2, t.wins(first), t.wins(second)}
	t.stay(in, third)
	t.release(in...)
	t.release(t.wins(third))
	t.empty()
}

// semReleaseAgain: a permit that came back twice would be one too many.
func semReleaseAgain(t sem) {
	a, b := t.Client(), t.Client()
	h1, h2 := t.take(t.want(a, 1, 2)), t.take(t.want(b, 1, 2))
	t.release(h1, h1, h1)
	h3 := t.take(t.want(a, 1, 2)) // its slot may be the same
	t.release(h1)
	t.busy(t.want(b, 1, 2), "TryAcquire when all are held and one was released several times before")
	t.holds(h2, h3)
	t.release(h2, h3)
	t.empty()
}

func semNames(t sem) {
	c := t.Client()
	for _, n := range []string{"a", "a/b", "a%2Fb", "a/", "a-", "a0", "A", ".", "..", "å", "\x00", "semaphore:a"} {
		t.tries(t.open(c, n, 1).Want(1), fmt.Sprintf("TryAcquire of %q, with others held", n))
	}
	t.tries(subject.Mutex(c, "a"), "TryLock of the mutex of that name")
	t.tries(subject.RWLock(c, "a").Write, "TryLock of the read-write lock of that name")
	t.set(t.open(c, "a", 1), 2)
	t.set(t.open(c, "A", 1), 3)
	t.settles(func() error {
		for n, limit := range map[string]int{"a": 2, "A": 3, "a/b": 1} {
			t.inUse(t.open(c, n, 1), limit, 1)
		}
		return nil
	})
}

func semContenders(t sem) {
	a := t.named(coord.Owner{Name: "conformance", Labels: map[string]string{"part": "holder"}})
	h1 := t.take(t.want(a, 2, 4))
	h2 := t.take(t.want(t.Client(), 1, 4))
	t.join(t.ctx, "who waits for two", t.want(t.Client(), 2, 4), 3)
	t.join(t.ctx, "who waits for one", t.want(a, 1, 4), 4)
	c, err := t.want(t.Client(), 1, 4).Contenders(t.ctx)
	if err != nil || len(c.Holders) != 2 || len(c.Waiters) != 2 {
		t.Fatalf("Contenders: %+v, %s; want two holders and two waiters", c, errorOf(err))
	}
	last := uint64(0)
	for i, who := range slices.Concat(c.Holders, c.Waiters) {
		name, permits := []string{"conformance", "", "", "conformance"}[i], []int{2, 1, 2, 1}[i]
		switch {
		case who.Permits != permits:
			t.Fatalf("contender %d is listed with %d permits; want %d", i, who.Permits, permits)
		case who.Owner.Name != name || who.Owner.PID == 0 || who.Since.IsZero() || who.Key == "" || who.Token <= last:
			t.Fatalf("contender %d is listed as %+v", i, who)
		}
		last = who.Token
	}
	for i, h := range []subject.Hold{h1, h2} {
		if who := c.Holders[i]; who.Token != h.Token() || who.Session != h.Session().ID() {
			t.Fatalf("a holder is listed as %+v; it has token %d and session %s", who, h.Token(), h.Session().ID())
		}
	}
	if l := c.Holders[0].Owner.Labels["part"]; l != "holder" {
		t.Fatalf("the holder's label is %q", l)
	}
	t.inUse(t.open(t.Client(), name, 4), 4, 3)
}

// semRaiseShows: a holder that came in under a raised limit is listed as one when that limit
// has ended.
func semRaiseShows(t sem) {
	for _, n := range []int{1, 150} { // the latter is too many for the name of an entry
		a, maker := t.Client(), t.Client()
		in := []subject.Hold{t.take(t.want(a, n, n))}
		t.set(t.open(maker, name, n), 4*n)
		in = append(in, t.take(t.want(t.Client(), n, n)))
		s := t.open(t.Client(), name, n)
		in = append(in, t.take(s.Want(n)), t.take(s.Want(n)))
		next := t.join(t.ctx, "who waits", s.Want(n), 5)
		t.inUse(s, 4*n, 4*n)
		t.gone(maker)
		t.notices(0)
		t.inUse(t.open(t.Client(), name, n), n, 4*n)
		t.Eventually(t.patience(), func() error {
			c, err := t.want(a, n, n).Contenders(t.ctx)
			if err != nil || len(c.Holders) != 4 || len(c.Waiters) != 1 || c.Holders[1].Permits != n {
				return fmt.Errorf("there are contenders %+v, %s; want four holders and one waiter, each of %d", c, errorOf(err), n)
			}
			return nil
		})
		t.release(in[:3]...)
		t.stay(in[3:], next)
		t.release(in[3])
		t.release(t.wins(next))
		t.empty()
	}
}

// semRaiseCosts: a client that comes in under a limit that it did not know writes so, and the
// next time it does not.
func semRaiseCosts(t sem) {
	var updates atomic.Int64
	c := t.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		if c.op == "Update" {
			updates.Add(1)
		}
		return next(ctx)
	})
	t.set(t.open(t.Client(), name, 3), 5)
	s := t.open(c, name, 3)
	for range 3 {
		h := t.take(s.Want(1))
		t.Eventually(t.patience(), func() error {
			if n := updates.Load(); n != 1 {
				return fmt.Errorf("a client that acquires under a raised limit has written its entries %d times more; want 1", n)
			}
			return nil
		})
		t.release(h)
	}
	t.pause()
	if n := updates.Load(); n != 1 {
		t.Fatalf("a client that knows of a raised limit writes its entry %d times more", n-1)
	}
}

// semWakes counts what the store tells those in line: one deletion for each who
// is let in, and one for each who is the first to be served then.
func semWakes(t sem) {
	const crowd, limit = 12, 3
	var n wakes
	var in []subject.Hold
	holder := t.Client()
	for range limit {
		in = append(in, t.take(t.want(holder, 1, limit)))
	}
	var line []*bid
	for i := range crowd {
		line = append(line, t.join(t.ctx, fmt.Sprintf("place %d", i), t.want(t.counted(&n), 1, limit), limit+1+i))
		t.gates(i + 1) // or the next waits for one farther ahead, and wakes too early
	}
	t.stay(in, line...)
	n.next()
	woken := func(what string, let int) {
		t.Eventually(t.patience(), func() error {
			if f := n.following.Load(); f > 1 {
				return fmt.Errorf("%d waiters follow the line; want only the first to be served", f)
			}
			return nil
		})
		d, w, s := n.next()
		if d > let || w > let {
			t.Fatalf("%s has woken %d, and %d of them look at the line; want %d", what, d, w, let)
		}
		if s > 4*let { // two changes for each who is let in, and the state as it was, to one
			t.Fatalf("%s has shown those in line %d states; want at most %d", what, s, 4*let)
		}
	}
	woken("nothing", 0)
	let := 0
	for range 3 {
		t.release(in[0])
		in = append(in[1:], t.wins(line[let]))
		let++
		t.stay(in, line[let:]...)
		woken("the release of a permit, which lets one in,", 1)
	}
	t.release(in...)
	in = nil
	for range limit {
		in = append(in, t.wins(line[let]))
		let++
	}
	t.stay(in, line[let:]...)
	woken("the release of three permits, which lets three in,", limit)
	for ; let < crowd; let++ {
		t.release(in[0])
		in = append(in[1:], t.wins(line[let]))
	}
	t.release(in...)
	t.empty()
}

// gates waits until so many have said that they wait.
func (t sem) gates(n int) {
	t.Eventually(t.patience(), func() error {
		if gates := len(t.Nodes(t.dir())) - len(t.contending()); gates != n {
			return fmt.Errorf("%d of the line say that they wait; want %d", gates, n)
		}
		return nil
	})
}

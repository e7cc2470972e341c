package conformance

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// downgrade makes a reader of a writer, and must.
func (t rw) downgrade(c *coord.Client, w subject.Hold) subject.Hold {
	r, err := t.open(c, name).Downgrade(t.ctx, w)
	if err != nil {
		t.Fatalf("Downgrade: %v", err)
	}
	if r.Token() != w.Token() {
		t.Fatalf("a writer with token %d has become a reader with token %d", w.Token(), r.Token())
	}
	t.holds(r)
	t.ends(w, "the write hold after Downgrade", coord.ErrReleased)
	return r
}

func rwDowngrade(t rw) {
	a, b, c := t.Client(), t.Client(), t.Client()
	w := t.take(t.write(a))
	r1 := t.join(t.ctx, "a reader right behind", t.read(b), 2)
	r2 := t.join(t.ctx, "a reader right behind, in the writer's process", t.read(a), 3)
	w2 := t.join(t.ctx, "the writer behind those", t.write(c), 4)
	r3 := t.join(t.ctx, "the reader behind that writer", t.read(b), 5)
	down := t.downgrade(a, w)
	h1, h2 := t.wins(r1), t.wins(r2)
	t.stay([]subject.Hold{down, h1, h2}, w2, r3)
	t.entries(5)
	t.release(w) // there is nothing left of it
	t.holds(down)
	t.release(h1, h2)
	t.stay([]subject.Hold{down}, w2, r3)
	t.release(down)
	h := t.wins(w2)
	t.waits(r3)
	t.release(h)
	t.release(t.wins(r3))
	t.empty()
}

// rwDowngradeReadersLeave: whichever of the readers leaves first, the last of them to
// leave is not the last who is in the writer's way.
func rwDowngradeReadersLeave(t rw) {
	var n wakes
	a, b, c := t.Client(), t.counted(&n), t.Client()
	for _, first := range []int{0, 1} {
		w := t.take(t.write(a))
		r1 := t.join(t.ctx, "a reader right behind", t.read(b), 2)
		r2 := t.join(t.ctx, "another reader right behind", t.read(c), 3)
		w2 := t.join(t.ctx, "the writer behind those", t.write(b), 4)
		down := t.downgrade(a, w)
		readers := []subject.Hold{t.wins(r1), t.wins(r2)}
		t.stay([]subject.Hold{down, readers[0], readers[1]}, w2)
		t.release(readers[first])
		t.stay([]subject.Hold{down, readers[1-first]}, w2)
		t.release(readers[1-first])
		t.stay([]subject.Hold{down}, w2)
		t.entries(2)
		t.release(down)
		t.release(t.wins(w2))
		t.empty()
		if _, watches, _ := n.next(); watches != 0 {
			t.Fatalf("behind a writer that was downgraded another one watches the line, %d times; want it to wait for one entry", watches)
		}
	}
}

func rwDowngradeBeforeWriter(t rw) {
	a, b := t.Client(), t.Client()
	for _, next := range []*coord.Client{b, a} {
		w := t.take(t.write(a))
		w2 := t.join(t.ctx, "the writer right behind", t.write(next), 2)
		last := t.join(t.ctx, "the reader behind that one", t.read(next), 3)
		down := t.downgrade(a, w)
		t.stay([]subject.Hold{down}, w2, last)
		t.busy(t.read(b), "TryRLock while a writer waits behind one that was downgraded")
		t.release(down)
		h := t.wins(w2)
		t.waits(last)
		t.release(h)
		t.release(t.wins(last))
		t.empty()
	}
}

// rwDowngradeKeepsValues: the reader's context has the values that the writer's had. Another
// lock's hold, for re-entry, is one.
func rwDowngradeKeepsValues(t rw) {
	type key struct{}
	c := t.Client()
	l := t.open(c, name)
	w, err := l.Write.Acquire(context.WithValue(t.ctx, key{}, "value"))
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	down := t.downgrade(c, w)
	if down.Context().Value(key{}) != "value" {
		t.Fatalf("after Downgrade the hold's context has not the value of the one that Lock was called with")
	}
	t.release(down)
	t.empty()
}

func rwDowngradeRefused(t rw) {
	var creates atomic.Int64
	c := t.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		if strings.HasPrefix(c.op, "Create") {
			creates.Add(1)
		}
		return next(ctx)
	})
	l := t.open(c, name)
	w := t.take(l.Write)
	inner := t.enters(l.Write, w, "Lock in Lock")
	if _, err := l.Downgrade(t.ctx, w); !errors.Is(err, coord.ErrInvalid) {
		t.Fatalf("Downgrade with another hold on the same entry returned %s; want ErrInvalid", errorOf(err))
	}
	t.holds(w, inner)
	t.entries(1)
	if n := creates.Load(); n != 1 {
		t.Fatalf("a lock and a Downgrade that was refused have made %d entries; want one", n)
	}
	t.release(w)
	if _, err := l.Downgrade(t.ctx, w); !errors.Is(err, coord.ErrNotHeld) {
		t.Fatalf("Downgrade of an outer hold that was unlocked returned %s; want ErrNotHeld", errorOf(err))
	}
	t.holds(inner)
	t.entries(1)
	t.release(inner)
	w = t.take(l.Write)
	inner = t.enters(l.Write, w, "Lock in Lock")
	t.release(inner)
	down := t.downgrade(c, w)
	// Who was handed the writer's context, detached from its end, enters what became of it.
	b := t.bid(context.WithoutCancel(w.Context()), "RLock in what was downgraded", l.Read)
	t.release(t.entered(t.wins(b), nil, down, "RLock in what was downgraded"))
	t.holds(down)
	t.release(down)
	if _, err := l.Downgrade(t.ctx, w); !errors.Is(err, coord.ErrNotHeld) {
		t.Fatalf("Downgrade of what was unlocked returned %s; want ErrNotHeld", errorOf(err))
	}
	t.empty()
}

func rwDowngradeLostReply(t rw) {
	c, l := t.ClientOverLink()
	w := t.take(t.write(c))
	next := t.join(t.ctx, "the writer right behind", t.write(t.Client()), 2)
	l.DropReplies()
	ctx, cancel := context.WithTimeout(t.ctx, t.h.TTL/8)
	defer cancel()
	down, err := t.open(c, name).Downgrade(ctx, w)
	t.heal(l)
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Downgrade without a reply returned %s", errorOf(err))
		}
		t.holds(w) // as it was
		t.settles(func() error { t.entries(2); return nil })
		t.waits(next)
		down = t.downgrade(c, w)
	}
	t.stay([]subject.Hold{down}, next)
	t.release(down)
	t.release(t.wins(next))
	t.empty()
}

func rwDowngradeLost(t rw) {
	c := t.Client()
	w := t.take(t.write(c))
	next := t.join(t.ctx, "the writer right behind", t.write(t.Client()), 2)
	t.expire(w.Session().Driver())
	if _, err := t.open(c, name).Downgrade(t.ctx, w); !errors.Is(err, coord.ErrNotHeld) {
		t.Fatalf("Downgrade on a session that the store has ended returned %s; want ErrNotHeld", errorOf(err))
	}
	t.ends(w, "the writer whose session the store ended", coord.ErrSessionLost)
	h := t.wins(next)
	t.stay([]subject.Hold{h})
	t.release(h)
	t.empty()
}

func rwDowngradeCtx(t rw, fault func(Link)) {
	c, l := t.ClientOverLink()
	w := t.take(t.write(c))
	fault(l)
	t.endWithCtx([]method{{"Downgrade", func(ctx context.Context) error {
		_, err := t.open(c, name).Downgrade(ctx, w)
		return err
	}}})
}

// rwRevokedDowngrade: to read only is not enough for who asked a writer.
func rwRevokedDowngrade(t rw) {
	a, b := t.Client(), t.Client()
	w := t.take(t.write(a))
	d := duel{t.arena, t.open.contests()[0]}
	ask := d.ask(t.ctx, t.write(b), w.Token(), "maintenance")
	d.hears(d.listen(t.ctx, w), "", "maintenance")
	r := t.downgrade(a, w)
	d.hears(d.listen(t.ctx, r), "", "maintenance")
	t.stay([]subject.Hold{r})
	if ended(ask.over) {
		t.Fatalf("Revoke returned %s to who asked a writer, when it began to read only", errorOf(ask.err))
	}
	t.release(r)
	d.letGo(ask)
	t.empty()
}

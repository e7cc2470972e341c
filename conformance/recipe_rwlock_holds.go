package conformance

import (
	"context"
	"errors"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/rwlock"
)

// enters lets an acquire under a hold's context succeed at once, with its token
// and without an entry.
func (t rw) enters(w subject.Want, h subject.Hold, what string) subject.Hold {
	b := t.bid(h.Context(), what, w)
	if !t.Trial.within(t.patience(), b.over) {
		t.Fatalf("%s does not return", what)
	}
	return t.entered(b.hold, b.err, h, what)
}

func rwReadInRead(t rw) {
	a, b := t.Client(), t.Client()
	outer := t.take(t.read(a))
	writer := t.join(t.ctx, "the writer that waits", t.write(b), 2)
	inner := t.enters(t.read(a), outer, "RLock in RLock, while a writer waits")
	tried, err := t.read(a).Try(inner.Context())
	t.release(t.entered(tried, err, outer, "TryRLock in RLock"), inner)
	t.entries(2)
	t.holds(outer)
	t.waits(writer)
	inner = t.enters(t.read(a), outer, "RLock in RLock")
	t.release(outer)
	t.stay([]subject.Hold{inner}, writer)
	t.release(inner)
	t.release(t.wins(writer))
	t.empty()
}

func rwInWrite(t rw) {
	a, b := t.Client(), t.Client()
	outer := t.take(t.write(a))
	reader := t.join(t.ctx, "the reader that waits", t.read(b), 2)
	read := t.enters(t.read(a), outer, "RLock in Lock")
	write := t.enters(t.write(a), outer, "Lock in Lock")
	again := t.enters(t.write(a), read, "Lock in RLock in Lock")
	t.release(write, again, outer)
	t.stay([]subject.Hold{read}, reader) // it shares the writer's entry
	t.entries(2)
	t.release(read)
	t.release(t.wins(reader))
	t.empty()
}

func rwReentersNoMore(t rw) {
	for _, want := range []func(*coord.Client) subject.Want{t.read, t.write} {
		c := t.Client()
		held := t.take(want(c))
		t.expire(held.Session().Driver())
		if !t.Trial.within(t.h.Expiry, held.Done()) {
			t.Fatalf("the hold outlives its session")
		}
		other := t.take(t.write(t.Client()))
		for _, inner := range []subject.Want{t.read(c), t.write(c)} {
			for _, acquire := range []func(context.Context) (subject.Hold, error){inner.Acquire, inner.Try} {
				if _, err := acquire(context.WithoutCancel(held.Context())); !errors.Is(err, coord.ErrNotHeld) {
					t.Fatalf("re-entering a lost lock returned %s; want ErrNotHeld", errorOf(err))
				}
			}
		}
		t.release(other)
		t.empty()
	}
}

// refuses wants a reader not to become a writer.
func (t rw) refuses(c *coord.Client, reader subject.Hold, what string) {
	for _, acquire := range []func(context.Context) (subject.Hold, error){t.write(c).Acquire, t.write(c).Try} {
		var err error
		over := t.Go(func() { _, err = acquire(reader.Context()) })
		if !t.Trial.within(t.patience(), over) {
			t.Fatalf("%s that wants to write waits, which may be for ever; want ErrUpgrade", what)
		}
		if !errors.Is(err, rwlock.ErrUpgrade) {
			t.Fatalf("%s that wants to write gets %s; want ErrUpgrade", what, errorOf(err))
		}
	}
	t.holds(reader)
}

func rwUpgrade(t rw) {
	a, b := t.Client(), t.Client()
	r1 := t.take(t.read(a))
	t.refuses(a, r1, "a reader")
	t.entries(1)
	r2 := t.take(t.read(b))
	t.refuses(a, r1, "one of two readers")
	t.refuses(b, r2, "the other of two readers")
	t.entries(2)
	t.release(r1, r2)
	w := t.take(t.write(a))
	down, err := t.open(a, name).Downgrade(t.ctx, w)
	if err != nil {
		t.Fatalf("Downgrade: %v", err)
	}
	t.refuses(a, down, "a reader that was a writer")
	t.release(down)
	t.release(t.take(t.write(b)))
	t.empty()
}

// rwContendersMeanwhile lists a lock while the writer's entry and the one that replaces it are
// both in line.
func rwContendersMeanwhile(t rw) {
	c, free := t.delaying(isDelete, false)
	w := t.take(t.write(c))
	t.join(t.ctx, "a writer", t.write(t.Client()), 2)
	over := t.Go(func() { t.downgrade(c, w) })
	t.entries(3)
	all, err := t.read(t.Client()).Contenders(t.ctx)
	if err != nil || len(all.Holders) != 1 || len(all.Waiters) != 1 || all.Holders[0].Token != w.Token() || all.Holders[0].Mode != coord.Reading {
		t.Fatalf("Contenders, while a writer is being downgraded: %+v, %s; want a reader with its token, and one waiter", all, errorOf(err))
	}
	free()
	t.Trial.join("Downgrade", over)
}

func rwContenders(t rw) {
	a := t.named(coord.Owner{Name: "conformance", Labels: map[string]string{"part": "holder"}})
	down := t.downgrade(a, t.take(t.write(a)))
	reader := t.take(t.read(t.Client()))
	t.join(t.ctx, "a writer", t.write(t.Client()), 3)
	t.join(t.ctx, "a reader", t.read(t.Client()), 4)
	c, err := t.read(t.Client()).Contenders(t.ctx)
	if err != nil || len(c.Holders) != 2 || len(c.Waiters) != 2 {
		t.Fatalf("Contenders: %+v, %s; want two holders and two waiters", c, errorOf(err))
	}
	if c.Holders[0].Token > c.Holders[1].Token { // the stand-in was made last
		c.Holders[0], c.Holders[1] = c.Holders[1], c.Holders[0]
	}
	for i, want := range []struct {
		who  coord.Contender
		hold subject.Hold
		mode coord.Mode
		name string
	}{
		{c.Holders[0], down, coord.Reading, "conformance"},
		{c.Holders[1], reader, coord.Reading, ""},
		{c.Waiters[0], nil, coord.Writing, ""},
		{c.Waiters[1], nil, coord.Reading, ""},
	} {
		switch who := want.who; {
		case who.Mode != want.mode:
			t.Fatalf("contender %d is listed with the mode %q; want %q", i, who.Mode, want.mode)
		case who.Owner.Name != want.name || who.Owner.PID == 0 || who.Since.IsZero() || who.Key == "":
			t.Fatalf("contender %d is listed as %+v", i, who)
		case want.hold != nil && (who.Token != want.hold.Token() || who.Session != want.hold.Session().ID()):
			t.Fatalf("contender %d is listed with token %d and session %s; it has %d and %s",
				i, who.Token, who.Session, want.hold.Token(), want.hold.Session().ID())
		}
	}
	if c.Waiters[0].Token <= c.Holders[1].Token || c.Waiters[1].Token <= c.Waiters[0].Token {
		t.Fatalf("the contenders are not listed in the order of the line: %+v", c)
	}
}

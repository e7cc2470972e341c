package conformance

import (
	"context"
	"errors"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// contestReenterOutside uses a hold's context for other locks and by other clients.
func contestReenterOutside(d duel) {
	a, b := d.Client(), d.Client()
	held := d.take(d.one(a))
	elsewhere := d.first(a, "other")
	other := d.wins(d.bid(held.Context(), "an acquire of another lock within a hold", elsewhere))
	if other.Token() == held.Token() {
		d.Fatalf("another lock is held with the token of the first, %d", held.Token())
	}
	inner := d.wins(d.bid(other.Context(), "an acquire under the context of both", d.one(a)))
	d.release(d.entered(inner, nil, held, "an acquire under the context of both"))
	d.busy(d.other(b), "a try by another client, under a hold's context")
	if h, err := d.other(b).Try(held.Context()); !errors.Is(err, coord.ErrBusy) {
		d.Fatalf("a try by another client, under a hold's context, returned %s; want ErrBusy", result(h, err))
	}
	d.release(other)
	if h, err := d.one(a).Acquire(other.Context()); !errors.Is(err, context.Canceled) || errors.Is(err, coord.ErrNotHeld) {
		d.Fatalf("an acquire of what is held, under the context of another lock that was released, returned %s; want its ctx's error only", result(h, err))
	}
	d.holds(held)
	d.release(held)
	d.empty()
}

// contestReenterEnded acquires under the context of what has ended.
func contestReenterEnded(d duel) {
	a, b := d.Client(), d.Client()
	outer := d.take(d.one(a))
	inner := d.wins(d.bid(outer.Context(), "an acquire within a hold", d.one(a)))
	d.release(inner)
	ctx, cancel := context.WithCancel(outer.Context())
	cancel()
	for what, of := range map[string]context.Context{"an inner hold that was released": inner.Context(), "a ctx within a hold, which has ended": ctx} {
		for _, acquire := range []func(context.Context) (subject.Hold, error){d.one(a).Acquire, d.one(a).Try} {
			h, err := acquire(of)
			if !errors.Is(err, context.Canceled) || coord.Lost(err) {
				d.Fatalf("an acquire under %s returned %s; want its ctx's error, and no loss", what, result(h, err))
			}
			if released := of != ctx; errors.Is(err, coord.ErrReleased) != released {
				d.Fatalf("an acquire under %s returned %s; it Is ErrReleased: %t; want %t", what, result(h, err), !released, released)
			}
		}
	}
	d.holds(outer)
	d.entries(1)
	detached := context.WithoutCancel(outer.Context())
	d.release(outer)
	second := d.take(d.other(b))
	again := d.bid(detached, "an acquire with the values of a hold that was released", d.one(a))
	d.entries(2)
	d.waits(again)
	d.release(second)
	d.release(d.wins(again))
	d.empty()
}

// contestReenterLostWithin loses one lock under the context of another.
func contestReenterLostWithin(d duel) {
	c := d.Client()
	outer := d.take(d.one(c))
	inner := d.wins(d.bid(outer.Context(), "an acquire of another lock within a hold", d.first(c, "other")))
	dir, err := coord.Dir(d.arena.kind, "other")
	if err != nil {
		d.Fatalf("%v", err)
	}
	d.removeDir(dir)
	d.ends(inner, "the lock within the other one", coord.ErrRemoved)
	h, err := d.one(c).Acquire(inner.Context())
	if !errors.Is(err, context.Canceled) || errors.Is(err, coord.ErrNotHeld) || coord.Lost(err) {
		d.Fatalf("an acquire of what is held, under the context of another lock that was lost, returned %s; want its ctx's error, and no loss", result(h, err))
	}
	d.holds(outer)
	d.release(outer)
	d.empty()
}

// contestReenterWhileReleased: an acquire under a hold's context, while that is
// released, holds what it says it holds, or fails.
func contestReenterWhileReleased(d duel) {
	c := d.Client()
	for range 20 {
		outer := d.take(d.one(c))
		released := d.Go(func() { d.release(outer) })
		inner, err := d.one(c).Acquire(outer.Context())
		d.Trial.join("a release", released)
		switch {
		case err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, coord.ErrReleased):
			d.Fatalf("an acquire under the context of a hold that is being released returned %q", err)
		case err == nil:
			d.leftBy("an acquire under the context of a hold that is being released, which holds on", 1)
			d.release(inner)
		}
		d.empty()
	}
}

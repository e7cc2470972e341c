package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
)

func contestReleaseAgain(d duel) {
	a, b := d.Client(), d.Client()
	held := d.take(d.one(a))
	next := d.join(d.ctx, "the next in line", d.other(b), 2)
	last := d.join(d.ctx, "the last in line", d.one(a), 3)
	d.release(held, held)
	second := d.wins(next)
	d.release(held)
	d.entries(2)
	d.stay([]subject.Hold{second}, last)
	d.ends(held, "the hold that was released", coord.ErrReleased)
	d.release(second)
	h := d.wins(last)
	d.release(held)
	d.entries(1)
	d.holds(h)
	d.release(h)
	d.empty()
}

// releaseGivenUp freezes the link of a hold, and gives up its release.
func (d duel) releaseGivenUp(held subject.Hold, l Link) {
	l.Freeze(netfault.Both)
	ctx, cancel := context.WithTimeout(d.ctx, d.h.TTL/8)
	defer cancel()
	if err := held.Release(ctx); !errors.Is(err, context.DeadlineExceeded) {
		d.Fatalf("releasing over a frozen link returned %s; want its ctx's error", errorOf(err))
	}
}

func contestReleaseLate(d duel) {
	c, l := d.ClientOverLink()
	held := d.take(d.one(c))
	next := d.join(d.ctx, "the next in line", d.other(d.Client()), 2)
	d.releaseGivenUp(held, l)
	d.heal(l)
	d.release(held)
	second := d.wins(next)
	again := d.join(d.ctx, "the first holder, once more", d.one(c), 2) // the same slot may be in use again
	d.release(held)
	d.stay([]subject.Hold{second}, again)
	d.entries(2)
	d.release(second)
	d.release(d.wins(again))
	d.empty()
}

func contestReleaseDead(d duel) {
	held := d.take(d.one(d.Client()))
	ctx, cancel := context.WithCancel(d.ctx)
	cancel()
	if err := held.Release(ctx); !errors.Is(err, context.Canceled) {
		d.Fatalf("releasing under a ctx that has ended returned %s", errorOf(err))
	}
	d.empty()
	d.release(held)
	if err := held.Release(ctx); err != nil { // there is nothing to do
		d.Fatalf("releasing again, under a ctx that has ended, returned %s", errorOf(err))
	}
}

// contestReleaseLost: with the session the entry goes, and what waits for its deletion knows
// that it is over.
func contestReleaseLost(d duel) {
	c, l := d.ClientOverLink()
	held := d.take(d.one(c))
	next := d.join(d.ctx, "the next in line", d.other(d.Client()), 2)
	d.releaseGivenUp(held, l)
	var err error
	again := d.Go(func() { err = held.Release(d.ctx) })
	if !d.within(d.h.Expiry+d.patience(), again) {
		d.Fatalf("a release that was called again does not return when its session is over")
	}
	if !errors.Is(err, coord.ErrSessionLost) {
		d.Fatalf("a release that was called again returned %s when its session was over; want ErrSessionLost", errorOf(err))
	}
	h := d.wins(next)
	d.heal(l)
	d.stay([]subject.Hold{h})
	d.release(h)
	d.empty()
}

// contestReleaseOwn releases a hold under its own context, which ends by that, and
// under one with a deadline.
func contestReleaseOwn(d duel) {
	c, l := d.ClientOverLink()
	held := d.take(d.one(c))
	next := d.join(d.ctx, "the next in line", d.other(d.Client()), 2)
	for range 2 {
		if err := held.Release(held.Context()); err != nil {
			d.Fatalf("releasing under the hold's own context: %v", err)
		}
		d.leftBy("a release under the hold's own context", 1)
	}
	d.release(d.wins(next))
	held = d.take(d.one(c))
	l.Freeze(netfault.Up)
	ctx, cancel := context.WithTimeout(held.Context(), d.h.TTL/8)
	defer cancel()
	due, _ := ctx.Deadline()
	var err error
	over := d.Go(func() { err = held.Release(ctx) })
	if !d.within(time.Until(due)+100*time.Millisecond, over) {
		d.Fatalf("releasing under the hold's own context does not end with its deadline")
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		d.Fatalf("releasing under the hold's own context, over a frozen link, returned %s; want its deadline's error", errorOf(err))
	}
	d.heal(l)
	d.release(held)
	d.empty()
}

// contestReleaseSlow: the store lets the next in line in before the holder hears that
// what it held is released.
func contestReleaseSlow(d duel) {
	c, l := d.ClientOverLink()
	held := d.take(d.one(c))
	next := d.join(d.ctx, "the next in line", d.other(d.Client()), 2)
	l.Delay(netfault.Down, d.h.TTL/8)
	told := false
	grant := d.Go(func() {
		<-next.over
		told = ended(held.Done()) && held.Err() != nil
	})
	released := d.Go(func() { d.release(held) })
	d.Trial.join("a release whose replies are slow", released, grant)
	second := d.wins(next)
	if !told {
		d.Fatalf("the next in line got it while the hold that was being released had not ended")
	}
	d.release(second)
	d.empty()
}

// contestReleaseTwice: to say that it is released is to say that the entry is gone,
// whoever has asked for that first.
func contestReleaseTwice(d duel) {
	c, l := d.ClientOverLink()
	for _, patience := range []time.Duration{d.h.Timeout, d.h.TTL / 16} { // the first is under way, or given up
		held := d.take(d.one(c))
		next := d.join(d.ctx, "the next in line", d.other(d.Client()), 2)
		l.Freeze(netfault.Up)
		ctx, cancel := context.WithTimeout(d.ctx, patience)
		defer cancel()
		first := d.Go(func() { _ = held.Release(ctx) })
		if patience < d.h.TTL {
			d.Trial.join("a release under a ctx that has ended", first)
		}
		var all []<-chan struct{}
		for range 3 {
			all = append(all, d.Go(func() {
				d.release(held)
				d.leftBy("a release that was called again and returned nil", 1)
			}))
		}
		d.Throughout(d.h.TTL/8, func() error {
			for _, one := range all {
				if ended(one) {
					return fmt.Errorf("a release that was called again has returned while no request reaches the store")
				}
			}
			return nil
		})
		d.waits(next)
		d.heal(l)
		d.Trial.join("a release that was called again", append(all, first)...)
		d.release(d.wins(next))
		d.empty()
	}
}

// contestReleaseInner: a hold within another ends once, and not the other with it.
func contestReleaseInner(d duel) {
	c := d.Client()
	outer := d.take(d.one(c))
	next := d.join(d.ctx, "the next in line", d.other(d.Client()), 2)
	inner := d.wins(d.bid(outer.Context(), "an acquire within the hold", d.one(c)))
	d.release(inner, inner)
	d.entries(2)
	d.stay([]subject.Hold{outer}, next)
	again := d.wins(d.bid(outer.Context(), "an acquire within the hold, once more", d.one(c)))
	d.release(inner, outer, outer)
	d.stay([]subject.Hold{again}, next)
	d.release(again, again)
	d.release(d.wins(next))
	d.release(d.wins(d.bid(context.WithoutCancel(again.Context()), "an acquire when all of the hold is released", d.one(c))))
	d.empty()
}

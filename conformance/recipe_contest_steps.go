package conformance

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// acquiresAtEveryStep makes a case of acquires to which mishaps happen, where nobody is in the
// way and where somebody is.
func (cs contests) acquiresAtEveryStep(what string, needs Need, mishaps ...mishap) []Case {
	return cs.cases(what+", at every step", needs, func(d duel) {
		third := d.Client()
		d.steps(func(s *step) { d.acquiresThrough(s, third, false) }, mishaps...)
		d.steps(func(s *step) { d.acquiresThrough(s, third, true) }, mishaps...)
		for _, r := range []rival{noRival, rivalHolds, rivalComes} {
			d.steps(func(s *step) { d.triesThrough(s, third, r) }, mishaps...)
		}
	})
}

func (d duel) acquiresThrough(s *step, third *coord.Client, waits bool) {
	w := s.timed(d.one(s.client))
	const what = "an acquire"
	s.dir = d.dir()
	s.armed.Store(true)
	var b *bid
	if waits { // behind two: it is woken by the first, and let in by the second
		first := d.take(d.turns(0, third))
		second := d.join(d.ctx, "the next in line", d.turns(1, third), 2)
		b = d.bid(s.ctx, what, w)
		d.Eventually(d.patience(), func() error {
			if ended(b.over) || len(d.contending()) == 3 {
				return nil
			}
			return errors.New("an acquire neither stands in line nor returns when " + s.mishap.name)
		})
		d.release(first)
		d.release(d.wins(second))
	} else {
		b = d.bid(s.ctx, what, w)
	}
	if !d.within(d.patience()+d.h.Expiry, b.over) {
		d.Fatalf("an acquire does not return when %s (number %d)", s.mishap.name, s.number)
	}
	d.bears(s, what, b.err)
	d.endsThrough(s, third, b)
	d.empty()
	d.release(d.take(d.other(third)))
}

// endsThrough releases what was acquired, or wants it to have ended.
func (d duel) endsThrough(s *step, third *coord.Client, b *bid) {
	switch id := s.lost.Load(); {
	case b.err != nil:
	case s.gone.Load():
		d.ends(b.hold, "a hold whose entry was removed while it was acquired", coord.ErrRemoved)
	case id == nil:
		d.entries(1)
		d.holds(b.hold)
		d.listed(third, b.hold)
		d.release(b.hold)
	case b.hold.Session().ID() != *id:
		d.Fatalf("an acquire whose session ended returned a hold on another")
	default:
		d.ends(b.hold, "a hold that was acquired while its session ended", coord.ErrSessionLost)
	}
}

// rival is another client that is in the way of a try.
type rival int

const (
	noRival    rival = iota
	rivalHolds       // since before the try
	rivalComes       // after the try's first look at the line
)

// triesThrough tries while something goes wrong. A try that finds a holder makes no entry,
// and one that cannot take back its entry says so.
func (d duel) triesThrough(s *step, third *coord.Client, r rival) {
	const what = "a try"
	w := d.one(s.client)
	var first subject.Hold
	var made atomic.Bool // an entry
	if r != noRival {
		w = d.other(s.client)
	}
	if r == rivalHolds {
		first = d.take(d.one(third))
	}
	s.dir = d.dir()
	s.passed = func(c *request) {
		switch c.op {
		case "Create", "CreateList":
			made.Store(true)
		case "Conn.List":
			if r == rivalComes && first == nil {
				first = d.take(d.one(third))
			}
		}
	}
	s.armed.Store(true)
	b := &bid{what: what}
	b.over = d.Go(func() { b.hold, b.err = s.timed(w).Try(s.ctx) })
	if !d.within(d.patience()+d.h.Expiry, b.over) {
		d.Fatalf("a try does not return when %s (number %d)", s.mishap.name, s.number)
	}
	busy := errors.Is(b.err, coord.ErrBusy)
	hit := s.hit.Load()
	switch {
	case first == nil:
		d.bears(s, what, b.err)
	case r == rivalHolds && made.Load():
		d.Fatalf("a try of what is held makes an entry when %s (number %d)", s.mishap.name, s.number)
	case b.err == nil:
		d.Fatalf("a try of what is held returned %s when %s (number %d)", result(b.hold, b.err), s.mishap.name, s.number)
	case busy && hit != nil && *hit == "Delete" && s.mishap.bears == coord.ErrDenied && !errors.Is(b.err, coord.ErrDenied):
		d.Fatalf("a try whose entry could not be deleted returned %q", b.err)
	case busy:
		d.bears(s, what, nil)
	default:
		d.bears(s, what, b.err)
	}
	d.endsThrough(s, third, b)
	if first != nil {
		d.release(first)
	}
	d.empty()
	d.release(d.take(d.other(third)))
}

// releasesAtEveryStep makes a case of releases to which mishaps happen.
func (cs contests) releasesAtEveryStep(what string, needs Need, mishaps ...mishap) []Case {
	return cs.cases(what+", at every step", needs, func(d duel) {
		third := d.Client()
		d.steps(func(s *step) {
			held := d.take(d.one(s.client))
			next := d.join(d.ctx, "the next in line", d.other(third), 2)
			s.armed.Store(true)
			err := held.Release(s.ctx)
			d.bears(s, "a release", err)
			second := d.wins(next)
			if s.lost.Load() == nil {
				d.release(held)
				d.ends(held, "a hold that was released", coord.ErrReleased)
			}
			d.leftBy("a release that has returned nil", 1)
			d.holds(second)
			d.release(second)
			d.empty()
		}, mishaps...)
	})
}

// revokesAtEveryStep makes a case of requests to let go to which mishaps happen.
func (cs contests) revokesAtEveryStep(what string, needs Need, mishaps ...mishap) []Case {
	return cs.cases(what+", at every step", needs, func(d duel) {
		third := d.Client()
		d.steps(func(s *step) {
			held := d.take(d.one(third))
			s.armed.Store(true)
			a := d.ask(s.ctx, s.timed(d.one(s.client)), held.Token(), "maintenance")
			d.Eventually(d.patience(), func() error {
				if ended(a.over) || len(d.Nodes(d.asks())) == 1 {
					return nil
				}
				return errors.New("Revoke neither asks nor returns when " + s.mishap.name)
			})
			d.holds(held)
			d.release(held)
			if !d.within(d.patience()+d.h.Expiry, a.over) {
				d.Fatalf("Revoke does not return when %s (number %d)", s.mishap.name, s.number)
			}
			d.bears(s, "Revoke", a.err)
			d.bare(d.asks())
			d.empty()
		}, mishaps...)
	})
}

// listed wants a hold to be listed as one as soon as somebody has it.
func (d duel) listed(c *coord.Client, h subject.Hold) {
	all, err := d.one(c).Contenders(d.ctx)
	if err != nil || !slices.ContainsFunc(all.Holders, func(one coord.Contender) bool { return one.Token == h.Token() }) {
		d.Fatalf("the holder with token %d is not listed as one: %+v, %s", h.Token(), all, errorOf(err))
	}
}

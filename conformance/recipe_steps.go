package conformance

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// A call of a recipe makes several of the driver. What must hold when one of these goes
// wrong is tried with each of them in turn, whichever they are.

// step is a call of the driver, by its number, and a client that makes it.
type step struct {
	client *coord.Client
	ctx    context.Context // of the recipe's call
	cancel context.CancelFunc
	armed  atomic.Bool            // calls are counted
	ending sync.Mutex             // held while the session is ended, and while armed is cleared
	lost   atomic.Pointer[string] // the ID of the session that was ended in the store; nil: none

	number, calls int64
	mishap        mishap

	silence sync.Once
	gaveUp  time.Time       // when the recipe's call was given up in a silence
	heard   context.Context // ends when that call has returned, and with it the silence
	hear    context.CancelFunc
}

// mishap is what happens to a call of the driver.
type mishap struct {
	name string
	// happens makes it happen to a call. If it is nil the store is silent from that call on.
	happens func(t *Trial, s *step, c *request, next func() error) error
	bears   error // what the recipe's call may fail with; nil: it is to outlive this
}

var errOnPurpose = errors.New("made to fail")

var (
	whenRequestLost = mishap{"a request was lost", func(_ *Trial, _ *step, c *request, next func() error) error {
		if c.op == "Watch" { // which heals by itself
			return next()
		}
		return &driver.Error{Op: "call", Kind: driver.ErrUnavailable, Err: errOnPurpose}
	}, nil}
	whenReplyLost = mishap{"a reply was lost", func(_ *Trial, _ *step, _ *request, next func() error) error {
		if err := next(); err != nil {
			return err
		}
		return &driver.Error{Op: "call", Kind: driver.ErrUncertain, Err: errOnPurpose}
	}, nil}
	whenRefused = mishap{"the store refused a call", func(*Trial, *step, *request, func() error) error {
		return &driver.Error{Op: "call", Kind: driver.ErrDenied, Err: errOnPurpose}
	}, coord.ErrDenied}
	whenGivenUpBefore = mishap{"it was given up before a call", func(_ *Trial, s *step, _ *request, next func() error) error {
		s.cancel()
		return next()
	}, context.Canceled}
	whenGivenUpAfter = mishap{"it was given up after a call", func(_ *Trial, s *step, _ *request, next func() error) error {
		defer s.cancel()
		return next()
	}, context.Canceled}
	whenUnanswered  = mishap{"it was given up because the store does not answer from a call on", nil, context.Canceled}
	whenEndedBefore = mishap{"its session ended before a call", func(t *Trial, s *step, c *request, next func() error) error {
		s.end(t, c)
		return next()
	}, coord.ErrSessionLost}
	whenEndedAfter = mishap{"its session ended after a call", func(t *Trial, s *step, c *request, next func() error) error {
		defer s.end(t, c)
		return next()
	}, coord.ErrSessionLost}
)

// end ends the session of a call in the store, if it is of one and the recipe's call
// has not been looked at: a call of the driver can outlive it.
func (s *step) end(t *Trial, c *request) {
	s.ending.Lock()
	defer s.ending.Unlock()
	if c.session == nil || c.session.Err() != nil || !s.armed.Load() {
		return
	}
	id := c.session.ID()
	s.lost.Store(&id)
	t.expire(c.session)
}

// unanswered gives up the recipe's call, and keeps a call of the driver from the store
// until that has returned.
func (s *step) unanswered(ctx context.Context, c *request) error {
	s.silence.Do(func() {
		s.gaveUp = time.Now()
		s.cancel()
	})
	select { // it has no effect, whichever comes first
	case <-ctx.Done():
	case <-s.heard.Done():
	}
	return &driver.Error{Op: c.op, Kind: driver.ErrUnavailable, Err: cmp.Or(ctx.Err(), errOnPurpose)}
}

// prompt wants the recipe's call, which has just returned, to have done so soon after it
// was given up in a silence.
func (t *Trial) prompt(s *step, what string) {
	s.silence.Do(func() {}) // so that none begins any more
	if s.gaveUp.IsZero() || s.heard.Err() != nil {
		return
	}
	s.hear()
	if late := time.Since(s.gaveUp) - t.pulse.lag(s.gaveUp); late > t.lateness() {
		t.Fatalf("%s returned %v after %s (number %d)", what, late.Round(time.Millisecond), s.mishap.name, s.number)
	}
}

// steps plays a scene with each call of the driver that the scene makes while it is
// armed, and lets each of some mishaps happen to it.
func (t *Trial) steps(scene func(*step), mishaps ...mishap) {
	const most = 30 // of calls that are made again and again there are more
	for _, m := range mishaps {
		for number := int64(1); number < most; number++ {
			s := &step{number: number, mishap: m}
			s.ctx, s.cancel = context.WithCancel(t.ctx)
			s.heard, s.hear = context.WithCancel(t.ctx)
			s.client = t.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
				if !s.armed.Load() {
					return next(ctx)
				}
				switch n := atomic.AddInt64(&s.calls, 1); {
				case m.happens == nil && n >= number && c.op != "Watch": // which heals by itself
					return s.unanswered(ctx, c)
				case m.happens == nil || n != number:
					return next(ctx)
				}
				return m.happens(t, s, c, func() error { return next(ctx) })
			})
			scene(s)
			s.cancel()
			s.hear()
			_ = s.client.Close(t.ctx) // what Close owes is M18's matter
			if atomic.LoadInt64(&s.calls) < number {
				break // nothing has happened
			}
		}
	}
}

// bears fails the trial if the recipe's call may not end with err.
func (t *Trial) bears(s *step, what string, err error) {
	t.prompt(s, what)
	s.ending.Lock()
	s.armed.Store(false)
	s.ending.Unlock()
	over := s.lost.Load() != nil
	switch m := s.mishap; {
	case err == nil:
	case over && errors.Is(err, coord.ErrNotHeld):
	case m.bears == nil, m.bears == coord.ErrSessionLost && !over, !errors.Is(err, m.bears):
		t.Fatalf("%s returned %q when %s (number %d)", what, err, m.name, s.number)
	}
}

// acquiresAtEveryStep makes a case of acquires to which mishaps happen, where nobody is in the
// way and where somebody is.
func (cs contests) acquiresAtEveryStep(what string, needs Need, mishaps ...mishap) []Case {
	return cs.cases(what+", at every step", needs, func(d duel) {
		third := d.Client()
		d.steps(func(s *step) { d.acquiresThrough(s, third, false) }, mishaps...)
		d.steps(func(s *step) { d.acquiresThrough(s, third, true) }, mishaps...)
	})
}

func (d duel) acquiresThrough(s *step, third *coord.Client, waits bool) {
	w := d.one(s.client)
	const what = "an acquire"
	s.armed.Store(true)
	var b *bid
	if waits {
		w = d.other(s.client)
		first := d.take(d.one(third))
		b = d.bid(s.ctx, what, w)
		d.Eventually(d.patience(), func() error {
			if ended(b.over) || len(d.contending()) == 2 {
				return nil
			}
			return errors.New("an acquire neither stands in line nor returns when " + s.mishap.name)
		})
		if ended(b.over) {
			d.prompt(s, what)
		}
		d.release(first)
	} else {
		b = d.bid(s.ctx, what, w)
	}
	if !d.within(d.patience()+d.h.Expiry, b.over) {
		d.Fatalf("an acquire does not return when %s (number %d)", s.mishap.name, s.number)
	}
	d.bears(s, what, b.err)
	switch id := s.lost.Load(); {
	case b.err != nil:
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
	d.empty()
	d.release(d.take(d.other(third)))
}

// listed wants a hold to be listed as one as soon as somebody has it.
func (d duel) listed(c *coord.Client, h subject.Hold) {
	all, err := d.one(c).Contenders(d.ctx)
	if err != nil || !slices.ContainsFunc(all.Holders, func(one coord.Contender) bool { return one.Token == h.Token() }) {
		d.Fatalf("of one who holds, with token %d, the listing says %+v, %s", h.Token(), all, errorOf(err))
	}
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
			a := d.ask(s.ctx, d.one(s.client), held.Token(), "maintenance")
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

// trouble is every mishap that leaves the session alive.
func trouble() []mishap {
	return []mishap{whenRequestLost, whenReplyLost, whenRefused, whenGivenUpBefore, whenGivenUpAfter}
}

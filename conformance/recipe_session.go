package conformance

import (
	"context"
	"errors"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// sessionRule is the rule of recipes that are made with coord.WithSession.
func (cs contests) sessionRule(id string) Rule {
	r := Rule{ID: id, Text: "A recipe that was given a session uses that one, and neither closes nor replaces it."}
	r.Cases = append(r.Cases, cs.cases("used, shared and closed by its owner", 0, contestOwnSession)...)
	r.Cases = append(r.Cases, cs.cases("ended by the store", NeedExpire, contestOwnSessionEnds)...)
	r.Cases = append(r.Cases, cs.cases("none, and one of another client", 0, contestNoSession)...)
	return r
}

// ownSession opens a session of the caller's own.
func (a arena) ownSession(c *coord.Client) *coord.Session {
	s, err := c.NewSession(a.ctx, 0)
	if err != nil {
		a.Fatalf("NewSession: %v", err)
	}
	return s
}

// on is the same want by a recipe that was given a session.
func (a arena) on(w subject.Want, s *coord.Session) subject.Want {
	if w.On == nil {
		a.NotVerified("the recipe was made with options of its own")
	}
	return w.On(s)
}

// isOn wants a hold to be bound to a session, which lives.
func (a arena) isOn(h subject.Hold, s *coord.Session) subject.Hold {
	switch {
	case h.Session() != s:
		a.Fatalf("a hold is bound to session %s; the recipe was given session %s", h.Session().ID(), s.ID())
	case s.Err() != nil:
		a.Fatalf("the session that a recipe was given has ended: %v", s.Err())
	}
	return h
}

// failsOn wants both ways to acquire with a session to fail with one of some errors.
func (a arena) failsOn(w subject.Want, what string, want ...error) {
	for _, acquire := range []func(context.Context) (subject.Hold, error){w.Acquire, w.Try} {
		h, err := acquire(a.ctx)
		is := false
		for _, one := range want {
			is = is || errors.Is(err, one)
		}
		if !is {
			a.Fatalf("an acquire with %s returned %s; want an error that Is %q", what, result(h, err), want[0])
		}
	}
}

// contestOwnSession uses a session for two lines, beside the one that the client shares,
// until its owner closes it.
func contestOwnSession(d duel) {
	c, b := d.Client(), d.Client()
	s := d.ownSession(c)
	own := d.on(d.one(c), s)
	for _, acquire := range []func(context.Context) (subject.Hold, error){own.Try, own.Acquire} {
		h := d.isOn(d.wins(d.bid(d.ctx, "an acquire with a session of its own", subject.Want{Acquire: acquire})), s)
		if n := d.entries(1)[0]; n.Session != s.ID() {
			d.Fatalf("the entry %s belongs to another session; the recipe was given session %s", show(n), s.ID())
		}
		d.release(h)
		d.empty()
		if s.Err() != nil {
			d.Fatalf("a release has ended the session that the recipe was given: %v", s.Err())
		}
	}
	first := d.isOn(d.take(own), s)
	second := d.isOn(d.wins(d.bid(d.ctx, "an acquire of another line with that session", d.on(d.first(c, "other"), s))), s)
	shared := d.wins(d.bid(d.ctx, "an acquire with the client's session", d.first(c, "third")))
	if shared.Session() == s {
		d.Fatalf("a recipe that was given no session uses that of the caller, %s", s.ID())
	}
	next := d.join(d.ctx, "the next in line", d.other(b), 2)
	if err := s.Close(d.ctx); err != nil {
		d.Fatalf("Close of the session: %v", err)
	}
	d.ends(first, "a hold on a session that its owner has closed", coord.ErrClosed)
	d.ends(second, "another hold on it", coord.ErrClosed)
	d.failsOn(d.on(d.first(c, "fourth"), s), "a session that its owner has closed", coord.ErrClosed, coord.ErrSessionLost)
	d.holds(shared)
	d.release(d.wins(next), shared)
	d.empty()
}

// contestOwnSessionEnds ends a session that has a holder and a waiter.
func contestOwnSessionEnds(d duel) {
	c, b := d.Client(), d.Client()
	s := d.ownSession(c)
	ahead := d.take(d.other(b))
	waiter := d.join(d.ctx, "a waiter with a session of its own", d.on(d.one(c), s), 2)
	held := d.wins(d.bid(d.ctx, "an acquire of another line with that session", d.on(d.first(c, "other"), s)))
	shared := d.wins(d.bid(d.ctx, "an acquire with the client's session", d.first(c, "third")))
	d.expire(s.Driver())
	d.fails(waiter, coord.ErrSessionLost)
	d.ends(held, "a hold on a session that the store has ended", coord.ErrSessionLost)
	d.failsOn(d.on(d.first(c, "fourth"), s), "a session that was lost", coord.ErrSessionLost)
	d.stay([]subject.Hold{shared, ahead})
	d.release(shared, ahead)
	d.empty()
}

// contestNoSession gives recipes sessions that are none of their client's.
func contestNoSession(d duel) {
	c, b := d.Client(), d.Client()
	d.failsOn(d.on(d.one(c), nil), "a session that is nil", coord.ErrInvalid)
	foreign := d.ownSession(b)
	d.failsOn(d.on(d.one(c), foreign), "a session of another client", coord.ErrInvalid)
	d.empty()
	d.release(d.take(d.on(d.other(b), foreign)))
}

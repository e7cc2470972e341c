package conformance

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

// sessionRule is the rule of recipes that are made with coord.WithSession.
func (cs contests) sessionRule(id string) Rule {
	r := Rule{ID: id, Text: "A recipe that was given a session uses that one, and neither closes nor replaces it."}
	r.Cases = append(r.Cases, cs.cases("used, shared and closed by its owner", 0, contestOwnSession)...)
	r.Cases = append(r.Cases, cs.cases("ended by the store", NeedExpire, contestOwnSessionEnds)...)
	r.Cases = append(r.Cases, cs.cases("none, and one of another client", 0, contestNoSession)...)
	away := cs.cases("of a longer TTL, and the store is out of reach", 0, contestOwnSessionLong)
	for i := range away {
		away[i].idle = true
	}
	r.Cases = append(r.Cases, away...)
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
	none := d.on(d.one(c), nil)
	d.failsOn(none, "a session that is nil", coord.ErrInvalid)
	if _, err := none.Contenders(d.ctx); !errors.Is(err, coord.ErrInvalid) {
		d.Fatalf("Contenders with a session that is nil returned %s; want ErrInvalid", errorOf(err))
	}
	foreign := d.ownSession(b)
	d.failsOn(d.on(d.one(c), foreign), "a session of another client", coord.ErrInvalid)
	d.empty()
	d.release(d.take(d.on(d.other(b), foreign)))
}

// electionSessionRule has a case of Run, too.
func electionSessionRule(open electionOf) Rule {
	r := open.contests().sessionRule("K24")
	r.Cases = append(r.Cases, Case{Name: "Run", Needs: NeedExpire | NeedRemoveNode, Check: open.check(runsOnSession)})
	return r
}

// runsOnSession has Run be given sessions: what happens to its entry it outlives, and not the
// end of the session.
func runsOnSession(t poll) {
	open := func(c *coord.Client) (*coord.Session, poll) {
		s, e := t.ownSession(c), t.open(c, name)
		if e.On == nil {
			t.NotVerified("the recipe was made with options of its own")
		}
		return s, poll{t.arena, func(*coord.Client, string) subject.Electing { return e.On(s) }}
	}
	c := t.Client()
	s, own := open(c)
	r := own.runs(t.ctx, c, "v")
	one := r.begins("a Run with a session of its own")
	t.isOn(one.l, s)
	t.removeNode(t.candidates(1)[0])
	t.deposed(one.l, "a leader with a session of its own, whose entry was removed", coord.ErrRemoved)
	one.returns <- nil
	one = r.begins("a Run with a session of its own, whose entry was removed")
	t.isOn(one.l, s)
	t.expire(s.Driver())
	t.deposed(one.l, "a leader whose own session was ended", coord.ErrSessionLost)
	one.returns <- errOops
	r.ends("a Run that leads, whose own session was ended", coord.ErrSessionLost, errOops)

	ahead := t.elect(t.Client(), "a")
	for _, ends := range []bool{false, true} { // Run's ctx ends with the session
		s, own = open(c)
		ctx, cancel := context.WithCancel(t.ctx)
		if ends {
			ctx = endsWith{ctx, cancel, s}
		}
		r = own.runs(ctx, c, "v")
		t.candidates(2)
		t.expire(s.Driver())
		if ends {
			r.ends("a Run that waits, whose ctx has ended with its own session", context.Canceled)
		} else {
			r.ends("a Run that waits, whose own session was ended", coord.ErrSessionLost)
		}
		cancel()
	}
	t.resign(ahead)

	s, own = open(c)
	r = own.runs(t.ctx, c, "v")
	one = r.begins("a Run with another session of its own")
	t.resign(one.l)
	if err := s.Close(t.ctx); err != nil {
		t.Fatalf("Close of the session: %v", err)
	}
	one.returns <- election.ErrStepDown
	if t.Trial.join("a Run whose function has closed its session", r.over); !errors.Is(r.err, coord.ErrClosed) && !errors.Is(r.err, coord.ErrSessionLost) {
		t.Fatalf("a Run whose function has closed its session returned %s; want ErrClosed", errorOf(r.err))
	}
	t.empty()
}

// endsWith is a ctx that has ended when it is asked after the loss of s, and not before.
type endsWith struct {
	context.Context
	cancel context.CancelFunc
	s      *coord.Session
}

func (c endsWith) Err() error {
	if c.s.Err() != nil {
		c.cancel()
	}
	return c.Context.Err()
}

// contestOwnSessionLong has the store out of reach for longer than the client's TTL, and not as
// long as that of a session. Who stands in line with the session keeps its place, and who comes
// only then is told in the client's TTL.
func contestOwnSessionLong(d duel) {
	o := &outage{t: d.Trial, waits: make(map[*request]context.CancelFunc)}
	var begins atomic.Bool // once an entry is made
	away := make(chan struct{})
	c := d.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		err := o.call(ctx, c, next)
		if err == nil && (c.op == "Create" || c.op == "CreateList") && begins.CompareAndSwap(true, false) {
			o.begin()
			close(away)
		}
		return err
	})
	s, err := c.NewSession(d.ctx, 3*d.h.TTL)
	if err != nil {
		d.Fatalf("NewSession: %v", err)
	}
	held := d.take(d.one(d.Client()))
	begins.Store(true)
	waiter := d.join(d.ctx, "a waiter whose store is out of reach", d.on(d.other(c), s), 2)
	if !d.within(d.patience(), away) { // the line shows the entry before its maker knows
		d.Fatalf("no entry was made")
	}
	late := d.bid(d.ctx, "an acquire where the store is out of reach", d.on(d.one(c), s))
	d.sleep(2 * d.h.TTL)
	told := ended(late.over)
	o.end()
	if !told {
		d.Fatalf("an acquire where the store is out of reach has not returned after two TTLs of its client")
	}
	d.fails(late, coord.ErrUnavailable)
	d.waits(waiter)
	d.release(held)
	d.release(d.wins(waiter))
	d.empty()
}

package conformance

import (
	"errors"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

func sessionRules() []Rule {
	return []Rule{
		{
			ID:   "S1",
			Text: "Done closes before anybody else can see the session's nodes gone.",
			Cases: append(perDirection(doneFirst),
				Case{Name: "replies delayed then frozen up", Needs: NeedLink, Check: func(t *Trial) {
					doneFirst(t, func(l Link) {
						l.Delay(netfault.Down, t.h.TTL/4)
						t.sleep(t.h.TTL) // renewals go through, with late replies
						l.Freeze(netfault.Up)
					})
				}},
				Case{Name: "opened by a late reply then frozen", Needs: NeedLink, Check: doneFirstAfterSlowOpening},
				Case{Name: "calls answered then frozen", Needs: NeedLink, Check: doneFirstAfterCalls},
				Case{Name: fraction, Needs: NeedLink, Check: doneFirstOfFraction},
				Case{Name: "with a margin", Needs: NeedLink, Check: doneWithMargin},
				Case{Name: long, Needs: NeedLink, Check: doneFirstOfLong, virtual: true, idle: true, patience: 10},
				Case{Name: shortest, Needs: NeedLink, Check: doneFirstOfShortest, virtual: true},
				Case{Name: "two times to live", Needs: NeedLink, Check: doneFirstOfEach},
				Case{Name: "closed over a link frozen down", Needs: NeedLink, Check: doneFirstAtClose},
				Case{Name: "connection closed", Check: doneFirstAtConnClose},
			),
		},
		{
			ID:   "S2",
			Text: "A lost session stays lost and is never silently replaced.",
			Cases: []Case{
				{Name: "link healed", Needs: NeedLink, Check: staysLostAfterHeal},
				{Name: "ended by the store", Needs: NeedExpire, Check: staysLostAfterExpiry},
				{Name: "calls under way", Needs: NeedLink, Check: staysLostUnderWay},
			},
		},
		{
			ID:   "S3",
			Text: "A session whose link works, or fails for much less than the TTL, stays alive.",
			Cases: append(perDirection(func(t *Trial, fault func(Link)) {
				c, l := t.OpenLink()
				t.survivesFreezes(t.SessionOn(c), l, t.h.TTL, fault)
			}),
				Case{Name: fraction, Needs: NeedLink, Check: func(t *Trial) {
					c, l := t.OpenLink()
					t.survivesFreezes(t.fractional(c), l, t.fractionalTTL(), func(l Link) { l.Freeze(netfault.Both) })
				}},
				Case{Name: "link works", Check: survives},
				Case{Name: "calls all the time", Check: survivesCalls},
				quiet("a long quiet time", 0, livesLong),
				Case{Name: long, Check: survivesOfLong, idle: true, patience: 10},
				Case{Name: shortest, Check: survivesOfShortest, virtual: true},
				Case{Name: "connections reset", Needs: NeedLink, Check: survivesResets},
				Case{Name: "connections refused", Needs: NeedLink, Check: func(t *Trial) {
					c, l := t.OpenLink()
					t.survivesFreezes(t.SessionOn(c), l, t.h.TTL, Link.Cut)
				}},
				Case{Name: "connections reset once", Needs: NeedLink, Check: survivesReset},
				oftenReset(survivesManyResets),
				Case{Name: "beside many waits", Check: livesUnderWaits},
			),
		},
		{
			ID:   "S4",
			Text: "A session that the store ended is noticed within its TTL.",
			Cases: []Case{
				{Name: "ended by the store", Needs: NeedExpire, Check: noticesExpiry},
			},
		},
	}
}

// doneFirst breaks the link of a session and watches its node.
func doneFirst(t *Trial, fault func(Link)) {
	s, l := t.SessionOverLink()
	n := t.Create(s, dir, "0")
	t.Sees(n)
	fault(l)
	t.doneBeforeGone(s, n)
}

// doneBeforeGone watches until the third client sees the node gone, and wants
// Done to be closed then. That the node goes at all is for S6.
func (t *Trial) doneBeforeGone(s driver.Session, n driver.Node) {
	start := time.Now()
	if !t.comes(t.expiryOf(s), t.absent(n)) {
		return
	}
	switch {
	case ended(s.Done()):
	case t.pulse.lag(start) > t.h.TTL/20 && s.Err() != nil:
		// The process stood still and Done's timer is as late as ours: the
		// clock, which Err asks, decides.
	default:
		t.Fatalf("a third client sees the session's node gone after %v, and Done is still open (Err returns %s)",
			time.Since(start).Round(time.Millisecond), errorOf(s.Err()))
	}
}

// doneFirstOfEach has two sessions of one connection, of which the second lives twice
// as long as the first: each has a lease of its own.
func doneFirstOfEach(t *Trial) {
	c, l := t.OpenLink()
	short := t.SessionOn(c)
	long := t.sessionOf(c, 2*t.h.TTL)
	n, m := t.Create(short, dir, "0"), t.Create(long, other, "1")
	t.Sees(n)
	t.Sees(m)
	l.Freeze(netfault.Both)
	t.joinWithin(t.expiryOf(long)+t.patience(), "looking at the nodes of one of two sessions",
		t.Go(func() { t.doneBeforeGone(short, n) }),
		t.Go(func() { t.doneBeforeGone(long, m) }))
}

// doneFirstAfterSlowOpening keeps the reply to the opening back for a quarter of
// the TTL, which leaves an attempt the time to get it, and breaks the link
// before a renewal can make up for a lease that is counted from the reply.
func doneFirstAfterSlowOpening(t *Trial) {
	c, l := t.OpenLink()
	_, _ = c.List(t.ctx, dir) // connects, so that nothing but the reply is late
	l.Freeze(netfault.Down)
	var s driver.Session
	opened := t.Go(func() { s = t.SessionOn(c) })
	t.sleep(t.h.TTL / 4)
	t.heal(l)
	t.join("OpenSession", opened)
	n := t.Create(s, dir, "0")
	t.Sees(n)
	l.Freeze(netfault.Both)
	t.doneBeforeGone(s, n)
}

func doneFirstAtClose(t *Trial) {
	s, l := t.SessionOverLink()
	n := t.Create(s, dir, "0")
	t.Sees(n)
	l.Freeze(netfault.Down)
	t.Go(func() { _ = s.Close(t.ctx) }) // ended by the trial's cleanup at the latest
	t.doneBeforeGone(s, n)
}

func doneFirstAtConnClose(t *Trial) {
	c := t.Open()
	s := t.SessionOn(c)
	n := t.Create(s, dir, "0")
	t.Sees(n)
	t.Go(func() { _ = c.Close() })
	t.doneBeforeGone(s, n)
}

func staysLostAfterHeal(t *Trial) {
	s, l := t.SessionOverLink()
	n := t.Create(s, dir, "0")
	l.Freeze(netfault.Both)
	if !t.within(t.h.Expiry, s.Done()) {
		t.NotVerified("Done did not close on a frozen link, which S1 is about")
	}
	t.comes(t.h.Expiry, t.absent(n))
	t.heal(l)
	t.staysLost(s, n)
}

func staysLostAfterExpiry(t *Trial) {
	s := t.Session()
	n := t.Create(s, dir, "0")
	t.expire(s)
	if !t.within(t.h.Expiry, s.Done()) {
		t.NotVerified("Done did not close, which S4 is about")
	}
	t.staysLost(s, n)
}

// staysLost watches an ended session for longer than its TTL. What WaitDelete
// does on it is for W4.
func (t *Trial) staysLost(s driver.Session, n driver.Node) {
	id := s.ID()
	t.Throughout(t.h.TTL*3/2, func() error {
		if !ended(s.Done()) || s.Err() == nil || s.ID() != id {
			t.Fatalf("a lost session came back: Done is closed: %v, Err returns %s, ID %q (it was %q)", ended(s.Done()), errorOf(s.Err()), s.ID(), id)
		}
		_, create := s.Create(t.ctx, dir, "1", nil)
		_, list := s.List(t.ctx, dir)
		_, update := s.Update(t.ctx, n, nil)
		for name, err := range map[string]error{
			"Err": s.Err(), "Create": create, "List": list, "Update": update,
			"Delete": s.Delete(t.ctx, n), "Abandon": s.Abandon(t.ctx, dir, "1"),
		} {
			if !errors.Is(err, driver.ErrSessionLost) || driver.Transient(err) {
				t.Fatalf("%s of a lost session returned %s; want ErrSessionLost, and not that it may be made again", name, errorOf(err))
			}
		}
		return nil
	})
	_ = s.Close(t.ctx) // S5
	if err := s.Err(); !errors.Is(err, driver.ErrSessionLost) || errors.Is(err, driver.ErrClosed) {
		t.Fatalf("Err of a lost session returns %s since it was closed; want ErrSessionLost, as before", errorOf(err))
	}
}

// alive checks that a session, which had reason to be renewed, is in order.
func (t *Trial) alive(s driver.Session, n driver.Node) {
	t.isAlive(s)
	t.Sees(n)
}

// isAlive wants a session not to have ended.
func (t *Trial) isAlive(s driver.Session) {
	if err := s.Err(); err != nil || ended(s.Done()) {
		t.Fatalf("the session has ended: Done is closed: %v, and Err returns %s", ended(s.Done()), errorOf(err))
	}
}

func survives(t *Trial) {
	s := t.Session()
	nodes := t.everyKind(s)
	t.stays(s, 4*t.h.TTL)
	for _, n := range nodes {
		t.alive(s, n)
	}
}

// survivesFreezes stops the link for a quarter of the TTL, again and again.
// If less than the TTL asked for was granted, TTL says so.
func (t *Trial) survivesFreezes(s driver.Session, l Link, asked time.Duration, fault func(Link)) {
	ttl := min(asked, s.TTL())
	n := t.Create(s, dir, "0")
	for range 4 {
		t.stays(s, ttl/2)
		fault(l)
		t.stays(s, ttl/4)
		t.heal(l)
	}
	t.stays(s, ttl)
	t.alive(s, n)
}

func survivesResets(t *Trial) {
	s, l := t.SessionOverLink()
	n := t.Create(s, dir, "0")
	for range 8 {
		t.stays(s, t.h.TTL/4)
		l.DropConnections()
	}
	t.stays(s, t.h.TTL)
	t.alive(s, n)
}

// survivesReset resets the connection once, and opens another session after it.
func survivesReset(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	n := t.Create(s, dir, "0")
	l.DropConnections()
	later := t.SessionOn(c)
	t.stays(s, t.h.TTL*5/2)
	t.alive(s, n)
	t.isAlive(later)
}

func noticesExpiry(t *Trial) {
	s := t.Session()
	t.Create(s, dir, "0")
	t.expire(s)
	if !t.within(t.h.TTL, s.Done()) {
		t.Fatalf("Done is still open a TTL (%v) after the store ended the session", t.h.TTL)
	}
	if err := s.Err(); !errors.Is(err, driver.ErrSessionLost) {
		t.Fatalf("Err returns %s after the store ended the session; want ErrSessionLost", errorOf(err))
	}
}

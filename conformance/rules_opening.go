package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

func openingRules() []Rule {
	giveUp := func(fault func(Link)) func(*Trial) {
		return func(t *Trial) { t.leavesNoSession(3, fault, t.h.TTL/8) }
	}
	return []Rule{
		{
			ID:   "S9",
			Text: "An OpenSession that failed leaves no session for longer than its TTL.",
			Cases: []Case{
				{Name: "given up, frozen up", Needs: NeedLink | NeedResidue, Check: giveUp(func(l Link) { l.Freeze(netfault.Up) })},
				{Name: "given up, frozen down", Needs: NeedLink | NeedResidue, Check: giveUp(func(l Link) { l.Freeze(netfault.Down) })},
				{Name: "given up, replies lost", Needs: NeedLink | NeedResidue, Check: giveUp(Link.DropReplies)},
				{Name: "replies lost", Needs: NeedLink | NeedResidue, Check: func(t *Trial) { t.leavesNoSession(1, Link.DropReplies, longestAttempt) }},
				{Name: "ctx ended before", Needs: NeedResidue, Check: opensAfterCtx},
				{Name: "connection closed", Needs: NeedLink | NeedResidue, Check: closedWhileOpening},
			},
		},
	}
}

// sessionsNow counts the store's sessions before a case's own.
func (t *Trial) sessionsNow() int {
	t.Sees(t.Bystander(dir)) // so that the third client and its session are there
	n := t.residue().Sessions
	if n == Unknown {
		t.NotVerified("the store cannot count sessions")
	}
	return n
}

// noMoreSessions wants the store to have no more sessions than before, when what was
// opened has had the time to expire.
func (t *Trial) noMoreSessions(before int, after string) {
	t.sleep(t.lateness()) // a request that was on its way lands
	t.Eventually(t.h.Expiry+t.h.TTL, func() error {
		if now := t.residue().Sessions; now > before {
			return fmt.Errorf("after %s the store has %d sessions; there were %d", after, now, before)
		}
		return nil
	})
}

// leavesNoSession opens sessions over a broken link, gives each up when patience has
// passed, if the driver has not, and heals the link: a request that was on its way may
// open one then, which nobody must renew.
func (t *Trial) leavesNoSession(tries int, fault func(Link), patience time.Duration) {
	c, l := t.OpenLink()
	before := t.sessionsNow()
	for range tries {
		fault(l)
		ctx, cancel := context.WithTimeout(t.ctx, patience)
		s, err := c.OpenSession(ctx, t.h.TTL)
		cancel()
		t.heal(l)
		if err == nil {
			_ = s.Close(t.ctx) // S5
		}
	}
	t.noMoreSessions(before, fmt.Sprintf("OpenSession had failed %d times over a broken link", tries))
}

// opensAfterCtx opens sessions with a ctx that has ended.
func opensAfterCtx(t *Trial) {
	c := t.Open()
	t.Bystander(dir)                                                                      // a missing directory is for L4
	t.insist(nil, "Conn.List", func() error { _, err := c.List(t.ctx, dir); return err }) // a session of its own is there
	before := t.sessionsNow()
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	const tries = 3
	for range tries {
		if s, err := c.OpenSession(ctx, t.h.TTL); err == nil {
			_ = s.Close(t.ctx) // it is for E1 that there is one
		}
	}
	t.noMoreSessions(before, fmt.Sprintf("OpenSession with a ctx that had ended, %d times,", tries))
}

// closedWhileOpening closes connections while sessions are being opened on them, over a
// link whose replies take a while. A session that Close has not seen must end too.
func closedWhileOpening(t *Trial) {
	const rounds, step = 8, 16
	before := t.sessionsNow()
	for round := range rounds {
		c, l := t.OpenLink()
		opened := t.SessionOn(c)
		l.Delay(netfault.Down, t.h.TTL/step)
		var s driver.Session
		var err error
		opening := t.Go(func() { s, err = c.OpenSession(t.ctx, t.h.TTL) })
		t.sleep(time.Duration(round) * t.h.TTL / step / (rounds - 2)) // also when the reply is there
		_ = c.Close()                                                 // N1
		if !t.within(time.Second, opening) {
			t.Fatalf("OpenSession has not returned a second after Conn.Close")
		}
		if opened.Err() == nil {
			t.NotVerified("a session lives on although its connection was closed, which N1 is about")
		}
		if err == nil && (s.Err() == nil || !ended(s.Done())) {
			t.Fatalf("OpenSession returned a session while its connection was closed, and it lives on: Done is closed: %v, and Err returns %s",
				ended(s.Done()), errorOf(s.Err()))
		}
		if err != nil && !errors.Is(err, driver.ErrClosed) && !driver.Transient(err) {
			t.Fatalf("OpenSession, when its connection was closed, returned %q; want ErrClosed", err)
		}
	}
	t.noMoreSessions(before, fmt.Sprintf("%d connections had been closed while they opened sessions", rounds))
}

// longestAttempt is how long a call may wait for an answer where no lease runs out
// meanwhile.
const longestAttempt = 20 * time.Second

// connAttemptCases are those of E3 for the calls of a connection.
func connAttemptCases() (cases []Case) {
	for _, m := range []struct {
		name string
		call func(*Trial, driver.Conn) error
	}{
		{"OpenSession", func(t *Trial, c driver.Conn) error { _, err := c.OpenSession(t.ctx, t.h.TTL); return err }},
		{"Conn.List", func(t *Trial, c driver.Conn) error { _, err := c.List(t.ctx, dir); return err }},
	} {
		cases = append(cases, Case{Name: m.name + " over a frozen link", Needs: NeedLink, Check: func(t *Trial) {
			t.Bystander(dir)
			for _, d := range directions {
				c, l := t.OpenLink()
				if d != netfault.Both { // then it has to connect as well
					_, _ = c.List(t.ctx, dir)
				}
				l.Freeze(d)
				t.givesUpInTime(m.name, func() error { return m.call(t, c) })
			}
		}})
	}
	return cases
}

func (t *Trial) givesUpInTime(name string, call func() error) {
	var err error
	start := time.Now()
	done := t.Go(func() { err = call() })
	if limit := max(t.h.TTL, longestAttempt); !t.within(limit, done) {
		t.Fatalf("%s has not returned %v after it was made over a broken link", name, limit)
	}
	if err != nil && !errors.Is(err, driver.ErrUncertain) && !errors.Is(err, driver.ErrUnavailable) {
		t.Fatalf("%s over a broken link returned %q after %v; want ErrUncertain or ErrUnavailable", name, err, time.Since(start).Round(time.Millisecond))
	}
}

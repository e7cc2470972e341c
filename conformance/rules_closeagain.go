package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// closeAgainCases are those of S5 for a Close after the end of the session, or after a
// Close that failed, and for what comes after Close.
func closeAgainCases() []Case {
	return []Case{
		{Name: "without a deadline, frozen both", Needs: NeedLink, Check: closeComesToEnd},
		{Name: "after one that failed, frozen both", Needs: NeedLink, Check: func(t *Trial) {
			closeAfterFailure(t, func(l Link) { l.Freeze(netfault.Both) })
		}},
		{Name: "after one that failed, connections refused", Needs: NeedLink, Check: func(t *Trial) { closeAfterFailure(t, Link.Cut) }},
		{Name: "after a loss", Needs: NeedLink, Check: closeAfterLoss},
		{Name: "after the store ended the session", Needs: NeedExpire, Check: closeAfterExpiry},
		{Name: "calls afterwards", Check: callsAfterSessionClose},
		{Name: "ctx ended before", Check: closeAfterCtx},
		{Name: "beside one under way, frozen up", Needs: NeedLink, Check: closeBesideClose},
	}
}

// closeAfterCtx closes with a ctx that has ended, as a deferred Close often has. The session
// ends all the same, and the lease runs out if nobody could remove the nodes.
func closeAfterCtx(t *Trial) {
	s := t.Session()
	n := t.Create(s, dir, "0")
	t.Sees(n)
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	_ = s.Close(ctx)
	if err := s.Err(); !ended(s.Done()) || !errors.Is(err, driver.ErrClosed) {
		t.Fatalf("after Close with a ctx that had ended Done is closed: %v, and Err returns %s; want ErrClosed", ended(s.Done()), errorOf(err))
	}
	t.Eventually(t.h.Expiry, t.absent(n))
}

// closeBesideClose closes a session while another Close waits for the store.
func closeBesideClose(t *Trial) {
	s, l := t.SessionOverLink()
	t.Create(s, dir, "0")
	l.Freeze(netfault.Up)
	first := t.Go(func() { _ = s.Close(t.ctx) }) // what it returns is for the other cases
	t.pause()
	if err := t.briefly(s.Close); err == nil && !ended(first) {
		t.Fatalf("Close over a frozen link, while another Close waited, returned nil although the store could not be asked")
	}
	t.heal(l)
	t.join("Close, when the link is healed", first)
}

// closeComesToEnd closes with a ctx that does not end. When the store has ended the
// session by itself at the latest, there is nothing to wait for.
func closeComesToEnd(t *Trial) {
	s, l := t.SessionOverLink()
	t.Create(s, dir, "0")
	l.Freeze(netfault.Both)
	done := t.Go(func() { _ = s.Close(t.ctx) }) // what it returns is for the other cases
	if limit := t.h.Expiry + t.h.TTL; !t.within(limit, done) {
		t.Fatalf("Close over a frozen link, with a ctx that lives, has not returned after %v", limit)
	}
}

// closeAfterFailure closes a session twice over a broken link and again when it is
// healed. Each Close asks the store, and the last removes the nodes.
func closeAfterFailure(t *Trial, fault func(Link)) {
	t.isPrompt("Close after one that failed", func() (took time.Duration) {
		c, l := t.OpenLink()
		s := t.SessionOn(c)
		n := t.Create(s, dir, "0")
		t.Sees(n)
		fault(l)
		for i := range 2 {
			if err := t.briefly(s.Close); err == nil {
				t.Fatalf("Close, call %d over a broken link, returned nil although the store could not be asked", i+1)
			}
		}
		t.heal(l)
		took = t.timed(func() {
			t.insist(nil, "Close, when the link is healed after one that failed,", func() error { return s.Close(t.ctx) })
		})
		t.Eventually(max(t.h.TTL/2-took, t.lateness()), t.absent(n))
		return took
	})
}

// closeAfterLoss closes a session that was lost a moment ago, which the store still
// has: for the margin of the lease at least. Whoever is next need not wait for that.
func closeAfterLoss(t *Trial) {
	const tries = 3
	soon := t.h.TTL / 20 // half the margin of package lease
	for range tries {
		c, l := t.OpenLink()
		s := t.SessionOn(c)
		n := t.Create(s, dir, "0")
		t.Sees(n)
		l.Freeze(netfault.Both)
		if !t.within(t.h.Expiry, s.Done()) {
			t.NotVerified("Done did not close on a frozen link, which S1 is about")
		}
		t.heal(l)
		took := t.timed(func() {
			t.insist(nil, "Close of a lost session, when the link is healed,", func() error { return s.Close(t.ctx) })
		})
		if t.comes(max(soon-took, 0), t.absent(n)) {
			return
		}
	}
	t.Fatalf("a third client still sees the node of a lost session %v after Close was called, %d times in a row", soon, tries)
}

// closeAfterExpiry closes a session that is gone, which is what was asked for.
func closeAfterExpiry(t *Trial) {
	s := t.Session()
	t.Create(s, dir, "0")
	t.expire(s)
	if !t.within(t.h.TTL, s.Done()) {
		t.NotVerified("Done did not close, which S4 is about")
	}
	if err := s.Close(t.ctx); err != nil {
		t.Fatalf("Close of a session that the store has ended returned %q; want nil", err)
	}
}

// callsAfterSessionClose makes each call on a closed session, whose connection is open.
func callsAfterSessionClose(t *Trial) {
	c := t.Open()
	s := t.SessionOn(c)
	ms := without(t.methods(c, s), "OpenSession", "Conn.List", "WaitDelete", "WaitAny") // W4, F2
	t.closeSession(s)
	for _, m := range ms {
		var err error
		if !t.within(time.Second, t.Go(func() { err = m.call(t.ctx) })) {
			t.Fatalf("%s of a closed session has not returned after a second", m.name)
		}
		if !isOver(err) {
			t.Fatalf("%s of a closed session returned %s; want ErrClosed", m.name, errorOf(err))
		}
	}
}

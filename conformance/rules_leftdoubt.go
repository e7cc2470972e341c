package conformance

import (
	"fmt"
	"strconv"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
)

// leavesNoKeyInDoubt makes a node again after a Create that was given up and has landed.
func leavesNoKeyInDoubt(t *Trial) {
	t.leavesNoMore("keys", func(r Residue) int { return r.Keys }, func() {
		c, l := t.OpenLink()
		s := t.SessionOn(c)
		release := t.hold(l)
		t.giveUpCreate(s, "0")
		release()
		t.Sees(t.Create(s, dir, "0"))
		t.closeConn(c)
	})
}

// leavesNoConnUnanswered has calls given up by the driver, while their ctx lives.
func leavesNoConnUnanswered(t *Trial) {
	t.leavesNoMore("connections", func(r Residue) int { return r.Conns }, func() {
		c, l := t.OpenLink()
		_, _ = c.List(t.ctx, dir) // connects
		l.Freeze(netfault.Down)
		var calls []<-chan struct{}
		for range 4 {
			calls = append(calls, t.Go(func() { _, _ = c.List(t.ctx, dir) }))
		}
		for _, call := range calls {
			if !t.within(longestAttempt, call) {
				t.leaveTo("E3", "a call over a frozen link is not given up")
			}
		}
		t.heal(l)
		t.closeConn(c)
	})
}

// leavesNoConnRefused makes calls that the store refuses: on sessions that it has ended, before
// the driver can know. A refusal is an answer, and another way out of a call.
func leavesNoConnRefused(t *Trial) {
	t.leavesNoMore("connections", func(r Residue) int { return r.Conns }, func() {
		c := t.Open()
		for i := range 4 {
			s := t.SessionOn(c)
			t.expire(s)
			_, _ = s.Create(t.ctx, dir, strconv.Itoa(i), nil) // C7
			_ = s.Close(t.ctx)                                // S5
		}
		t.closeConn(c)
	})
}

// losesWithoutGoroutines has the store end sessions on a connection that stays.
func losesWithoutGoroutines(t *Trial) {
	const sessions = 30
	c := t.Open()
	t.Create(t.SessionOn(c), dir, "0")
	name := t.labeled("sessions", func() {
		t.crowd(sessions, func(i int) {
			s := t.SessionOn(c)
			t.Create(s, dir, strconv.Itoa(i))
			t.expire(s)
			if !t.within(t.h.TTL+t.patience(), s.Done()) {
				t.NotVerified("a session that the store ended lives on, which S4 is about")
			}
			_ = s.Close(t.ctx)
		})
	})
	t.fewRun(name, sharedLoops, fmt.Sprintf("%d sessions were lost and closed", sessions))
}

// closesTwice closes a connection while it is being closed. The second Close returns when
// the first has done its work, and does not keep it from that.
func closesTwice(t *Trial) {
	c, l := t.OpenLink()
	n := t.Create(t.SessionOn(c), dir, "0")
	t.Sees(n)
	l.Delay(netfault.Up, min(t.h.TTL/16, 200*time.Millisecond))
	first := t.Go(func() { t.closeConn(c) })
	t.sleep(min(t.h.TTL/64, 50*time.Millisecond))
	t.closeConn(c)
	t.Eventually(t.lateness(), t.absent(n))
	t.join("Conn.Close beside another", first)
}

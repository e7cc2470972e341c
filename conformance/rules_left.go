package conformance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

func leftoverRules() []Rule {
	return []Rule{
		{
			ID:   "N1",
			Text: "After Close nothing is left: no node, watch, goroutine or connection.",
			Cases: []Case{
				{Name: "calls after Close", Check: callsAfterClose},
				{Name: "waits", Check: closeEndsWaits},
				{Name: "waits for each other", Check: closeEndsAllFirst},
				{Name: "calls under way", Needs: NeedLink, Check: closeEndsCalls},
				{Name: "nodes", Check: func(t *Trial) { closeLeavesNoNode(t, 2) }},
				{Name: "nodes of many sessions", Check: func(t *Trial) { closeLeavesNoNode(t, manySessions) }},
				{Name: "node of a session whose Close failed", Needs: NeedLink, Check: closesUnclosed},
				leavesCount("keys", func(r Residue) int { return r.Keys }),
				{Name: "keys after a Create in doubt", Needs: NeedLink | NeedHold | NeedResidue, Check: leavesNoKeyInDoubt},
				{Name: "connections after calls without an answer", Needs: NeedLink | NeedResidue, Check: leavesNoConnUnanswered},
				{Name: "connections after calls that were refused", Needs: NeedExpire | NeedResidue, Check: leavesNoConnRefused},
				leavesCount("sessions", func(r Residue) int { return r.Sessions }),
				leavesCount("watches", func(r Residue) int { return r.Watches }),
				leavesCount("connections", func(r Residue) int { return r.Conns }),
				{Name: "goroutines", Check: closeLeavesNoGoroutine},
				{Name: "goroutines of a connection that lives", Needs: NeedLink, Check: livesWithoutGoroutines},
				{Name: "goroutines of lost sessions", Needs: NeedExpire, Check: losesWithoutGoroutines},
				{Name: "closed twice at a time", Needs: NeedLink, Check: closesTwice},
				{Name: "over a frozen link", Needs: NeedLink, Check: closesFrozen},
			},
		},
	}
}

// closeConn closes a connection, which waits for nobody.
func (t *Trial) closeConn(c driver.Conn) {
	done := t.Go(func() {
		if err := c.Close(); err != nil {
			t.Fatalf("Conn.Close: %v", err)
		}
	})
	if !t.within(time.Second, done) {
		t.Fatalf("Conn.Close has not returned after a second")
	}
}

func callsAfterClose(t *Trial) {
	c := t.Open()
	s := t.SessionOn(c)
	t.Create(s, dir, "0")
	t.closeConn(c)
	t.closeConn(c)
	if err := s.Err(); err == nil || !ended(s.Done()) {
		t.Fatalf("after Conn.Close a session's Done is closed: %v, and Err returns %s", ended(s.Done()), errorOf(err))
	}
	_, open := c.OpenSession(t.ctx, t.h.TTL)
	_, list := c.List(t.ctx, dir)
	for name, err := range map[string]error{"OpenSession": open, "Conn.List": list} {
		if !errors.Is(err, driver.ErrClosed) {
			t.Fatalf("%s after Conn.Close returned %s; want ErrClosed", name, errorOf(err))
		}
	}
}

func closeEndsWaits(t *Trial) {
	c := t.Open()
	s := t.SessionOn(c)
	w := t.wait(s, t.Bystander(dir))
	t.closeConn(c)
	if !t.within(time.Second, w.done) {
		t.Fatalf("WaitDelete has not returned a second after Conn.Close")
	}
	if !isOver(w.err) {
		t.Fatalf("WaitDelete, when its connection is closed, returned %s; want ErrClosed", errorOf(w.err))
	}
}

// closeEndsAllFirst closes a connection whose sessions wait for each other's nodes. The
// nodes go, and nobody is to be told that it is its turn: it is over for all of them.
func closeEndsAllFirst(t *Trial) {
	const count = 4
	c := t.Open()
	var sessions []driver.Session
	var nodes []driver.Node
	for i := range count {
		s := t.SessionOn(c)
		// The data are short: what a wait for a node with more data does is for W2.
		sessions, nodes = append(sessions, s), append(nodes, t.Create(s, dir, strconv.Itoa(i), byte(i)))
	}
	var waits []*waiting
	for i, s := range sessions {
		waits = append(waits, t.wait(s, nodes[(i+1)%count]))
	}
	t.closeConn(c)
	for _, w := range waits {
		if !t.within(time.Second, w.done) {
			t.Fatalf("WaitDelete has not returned a second after Conn.Close")
		}
		if !isOver(w.err) {
			t.Fatalf("WaitDelete for the node of another session, when the connection of both is closed, returned %s; want ErrClosed", errorOf(w.err))
		}
	}
}

// closeEndsCalls closes a connection while calls wait for an answer that does not come.
func closeEndsCalls(t *Trial) {
	c, l := t.OpenLink()
	ms := without(t.methods(c, t.SessionOn(c)), "WaitDelete", "WaitAny")
	l.Freeze(netfault.Both)
	var calling []<-chan struct{}
	for _, m := range ms {
		calling = append(calling, t.Go(func() {
			if err := m.call(t.ctx); err != nil && !isOver(err) && !driver.Transient(err) {
				t.Fatalf("%s, when its connection was closed, returned %q; want ErrClosed", m.name, err)
			}
		}))
	}
	t.sleep(t.h.TTL / 16) // for the requests to be on their way
	t.closeConn(c)
	for i, done := range calling {
		if !t.within(time.Second, done) {
			t.Fatalf("%s has not returned a second after Conn.Close", ms[i].name)
		}
	}
}

// busy makes use of all of a connection: sessions, one of them closed, nodes,
// abandoned ones, waits that ended and waits that have not, a watch.
func (t *Trial) busy(c driver.Conn, near driver.Node) {
	for range 3 {
		s := t.SessionOn(c)
		n := t.Create(s, dir, "0")
		t.Update(s, n, []byte("data")...)
		t.Create(s, dir, "1")
		t.abandon(s, "1")
		t.Create(s, dir, "2")
		canceled := t.wait(s, near)
		t.wait(s, near)
		canceled.cancel()
		t.within(time.Second, canceled.done)
		gone := t.Create(s, dir, "3")
		w := t.wait(s, gone)
		t.Delete(s, gone)
		t.within(time.Second, w.done)
	}
	_ = t.SessionOn(c).Close(t.ctx) // what it owes is for S5
	if _, ok := driver.As[driver.Watcher](c); ok {
		o := t.observeWith(t.ctx, c, near.Dir, func(int) bool { return false })
		t.within(time.Second, o.done) // V1
		o.cancel()
	}
}

// leavesCount counts something in the store before and after.
func leavesCount(what string, of func(Residue) int) Case {
	return Case{Name: what + " in the store", Needs: NeedResidue, Check: func(t *Trial) {
		near := t.Bystander(dir)
		t.leavesNoMore(what, of, func() {
			c := t.Open()
			t.busy(c, near)
			t.closeConn(c)
		})
	}}
}

// leavesNoMore opens, uses and closes a connection, and counts before and after.
func (t *Trial) leavesNoMore(what string, of func(Residue) int, use func()) {
	t.Sees(t.Create(t.Session(), dir, "counted")) // so that what the trial has for itself is there
	before := of(t.residue())
	if before == Unknown {
		t.NotVerified("the store cannot count %s", what)
	}
	use()
	t.Eventually(t.h.Expiry+t.patience(), func() error {
		if after := of(t.residue()); after > before {
			return fmt.Errorf("after Conn.Close the store has %d %s; there were %d before Open", after, what, before)
		}
		return nil
	})
}

// closeLeavesNoGoroutine counts by profiler labels, which what the driver
// starts inherits.
func closeLeavesNoGoroutine(t *Trial) {
	near := t.Bystander(dir)
	name := t.labeled("connection", func() {
		c := t.Open()
		t.busy(c, near)
		t.closeConn(c)
	})
	t.noneRuns(name)
}

// livesWithoutGoroutines gives calls up and closes sessions on a connection that stays.
func livesWithoutGoroutines(t *Trial) {
	const calls, sessions = 30, 30
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	t.Create(s, dir, "0")
	t.list(s, dir)
	name := t.labeled("calls and sessions", func() {
		for range sessions {
			_ = t.SessionOn(c).Close(t.ctx) // what it owes is for S5
		}
		l.Freeze(netfault.Both)
		ctx, cancel := context.WithTimeout(t.ctx, t.h.TTL/8)
		defer cancel()
		t.crowd(calls, func(i int) {
			_, _ = s.Create(ctx, dir, strconv.Itoa(i), nil)
			_, _ = s.List(ctx, dir)
		})
		t.heal(l)
	})
	t.fewRun(name, sharedLoops, fmt.Sprintf("%d calls were given up and %d sessions closed", 2*calls, sessions))
}

// noneRuns wants no goroutine to run under the label.
func (t *Trial) noneRuns(name string) {
	t.fewRun(name, 0, "Conn.Close")
}

// fewRun wants at most so many goroutines to run under the label. It looks
// seldom, for each look stops every goroutine of the process.
func (t *Trial) fewRun(name string, most int, after string) {
	t.Eventually(t.patience(), func() error {
		left := stacks(name)
		n := goroutines(left)
		if n <= most {
			return nil
		}
		t.sleep(t.patience() / 100)
		return fmt.Errorf("after %s there still run %d goroutines:\n\t%s", after, n, strings.Join(left, "\n\t"))
	})
}

// closesFrozen closes while nothing answers: that must neither take long nor
// leave anything on this side. The link, whose goroutines are not the driver's,
// is made outside of the label.
func closesFrozen(t *Trial) {
	c, l := t.OpenLink()
	var nodes []driver.Node
	name := t.labeled("session", func() {
		var s driver.Session
		for range 5 { // which are not to be closed one after another
			s = t.SessionOn(c)
			nodes = append(nodes, t.Create(s, dir, "0"))
		}
		for _, n := range nodes {
			t.Sees(n)
		}
		l.Freeze(netfault.Both)
		_ = t.briefly(func(ctx context.Context) error { _, err := s.List(ctx, dir); return err })
		t.closeConn(c)
	})
	t.noneRuns(name)
	for _, n := range nodes {
		t.Eventually(t.h.Expiry, t.absent(n))
	}
}

package conformance

import (
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// quiet makes a case in which nothing happens for a long time, but for renewals. Something
// on the way may have its own idea of how long a call may wait or a connection may stand
// idle: a proxy, a pool, a limit of one attempt.
func quiet(name string, needs Need, check func(*Trial)) Case {
	return Case{Name: name, Needs: needs, Check: check, idle: true, patience: 2}
}

// quietTime is how long that is: longer than the half minute that is a common limit, and
// than some renewals.
func (t *Trial) quietTime() time.Duration { return max(3*t.h.TTL, 35*time.Second) }

// passQuietly lets that time pass for a session. If that ends the session, S3 says so. What
// a client that was quiet too would see afterwards is for L5, so another one looks.
func (t *Trial) passQuietly(s driver.Session) {
	timer := time.NewTimer(t.quietTime())
	defer timer.Stop()
	select { // at the very end a loss may be missed
	case <-timer.C:
	case <-s.Done():
		t.leaveTo("S3", "the session has ended")
	case <-t.ctx.Done():
	}
	t.watcher = watcher{}
}

// livesLong leaves a session alone.
func livesLong(t *Trial) {
	s := t.Session()
	n := t.Create(s, dir, "0")
	t.stays(s, t.quietTime())
	t.alive(s, n)
}

func waitsLong(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	n := t.Create(owner, dir, "0")
	w := t.wait(waiter, n)
	t.passQuietly(waiter)
	t.list(owner, dir) // the first call after it is for U1 and U3
	t.Delete(owner, n)
	t.returnsNil(w, n, "its deletion, after a long quiet time")
}

func staysBlockedLong(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	n := t.Create(owner, dir, "0")
	w := t.wait(waiter, n)
	t.passQuietly(waiter)
	t.blocked(w, n, "a long quiet time")
}

func watchesLong(t *Trial) {
	c, s := t.Open(), t.Session()
	v := t.view(t.Bystander(dir))
	o := t.observe(t.ctx, c, dir)
	v.first(o)
	t.passQuietly(s)
	t.list(s, dir) // the first call after it is for U1 and U3
	n := v.create(s, "0")
	v.shows(o, "a node was created, after a long quiet time")
	v.delete(s, n)
	v.shows(o, "a node was deleted, after a long quiet time")
}

// longAfter is the name of the cases in which a link is broken again long after it was.
const longAfter = "reset a long quiet time after other faults"

// faultsThenQuiet has a link refuse connections twice, for a quarter of the TTL, and then
// leaves it alone for a long time. The driver's pauses between attempts grow at first, and
// must be short again at the end.
func (t *Trial) faultsThenQuiet(l Link, s driver.Session) {
	for range 2 {
		l.Cut()
		t.sleep(t.h.TTL / 4)
		t.heal(l)
		t.sleep(t.h.TTL / 4)
	}
	t.passQuietly(s)
}

func deletedLongAfterFaults(t *Trial) {
	c, l := t.OpenLink()
	waiter, owner := t.SessionOn(c), t.Session()
	n := t.Create(owner, dir, "0")
	w, undisturbed := t.wait(waiter, n), t.wait(t.Session(), n)
	t.faultsThenQuiet(l, waiter)
	if ended(w.done) && driver.Transient(w.err) { // as it may
		w = t.wait(waiter, n)
		t.pause()
	}
	l.DropConnections()
	t.list(owner, dir) // the first call after a quiet time is for U1 and U3
	t.Delete(owner, n)
	if !t.within(t.patience(), undisturbed.done) {
		t.leaveTo("W1", "a wait whose link always worked has not returned")
	}
	t.comesToEnd(waiter, w, n)
}

func changedLongAfterFaults(t *Trial) {
	w := t.watched()
	goes := w.create(w.owner, "0")
	undisturbed := t.observe(t.ctx, t.Open(), dir)
	t.faultsThenQuiet(w.link, w.owner)
	t.list(w.owner, dir) // the first call after a quiet time is for U1 and U3
	w.link.DropConnections()
	w.delete(w.owner, goes)
	if t.awaits(undisturbed, t.patience(), w.look) != nil {
		t.leaveTo("V1", "a watch whose link always worked does not show a change")
	}
	w.goesOn("a reset, long after other faults")
}

// updatesLong and deletesLong make the first call after a quiet time.
func updatesLong(t *Trial) {
	s := t.Session()
	n := t.Create(s, dir, "0")
	t.passQuietly(s)
	n = t.Update(s, n, []byte("after a quiet time")...)
	t.settles(t.is(n, "after a quiet time"))
}

func deletesLong(t *Trial) {
	s := t.Session()
	n := t.Create(s, dir, "0")
	t.Sees(n)
	t.passQuietly(s)
	t.Delete(s, n)
	t.Eventually(t.patience(), t.absent(n))
}

// listsLong lists by a connection that was not used for a long time.
func listsLong(t *Trial) {
	c, s := t.Open(), t.Session()
	t.Create(s, dir, "before") // a missing directory is for L4
	t.insist(nil, "Conn.List", func() error { _, err := c.List(t.ctx, dir); return err })
	t.passQuietly(s)
	n := t.Create(s, dir, "0")
	var nodes []driver.Node
	t.insist(nil, "Conn.List after a long quiet time", func() (err error) { nodes, err = c.List(t.ctx, dir); return err })
	if _, ok := find(nodes, n); !ok {
		t.Fatalf("Conn.List after a long quiet time returned %s without %s, which had been made", show(nodes...), show(n))
	}
}

// closesLong closes a session that was renewed many times.
func closesLong(t *Trial) {
	t.isPrompt("Close of a session that has lived long", func() time.Duration {
		s := t.Session()
		n := t.Create(s, dir, "0")
		t.Sees(n)
		t.passQuietly(s)
		took := t.timed(func() { t.closeSession(s) })
		t.Eventually(max(t.h.TTL/2-took, t.lateness()), t.absent(n))
		return took
	})
}

// expiresLong cuts off a session that was renewed many times: its lease is no longer than
// at first.
func expiresLong(t *Trial) {
	s, l := t.SessionOverLink()
	n := t.Create(s, dir, "0")
	t.Sees(n)
	t.passQuietly(s)
	l.Freeze(netfault.Both)
	t.Eventually(t.h.Expiry, t.absent(n))
}

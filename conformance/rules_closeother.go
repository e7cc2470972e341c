package conformance

import (
	"fmt"

	"github.com/coordkit/coordkit/coord/driver"
)

// In these cases a program has three connections of one namespace, and closes the one that
// it has opened first and the one that it has opened last. What connections share, such as
// a client that counts its users, has to go on for the third.

// threeConns opens connections, in this order.
func (t *Trial) threeConns() (first, middle, last driver.Conn) { return t.Open(), t.Open(), t.Open() }

// closeBoth closes two of them. What Close owes is for N1.
func closeBoth(first, last driver.Conn) {
	_ = first.Close()
	_ = last.Close()
}

const othersClosed = "two other connections of the program were closed"

func watchesBesideClosed(t *Trial) {
	s := t.Session()
	v := t.view(t.Create(s, dir, "stays"))
	first, c, last := t.threeConns()
	v.first(t.observe(t.ctx, first, dir))
	o := t.observe(t.ctx, c, dir)
	v.first(o)
	v.first(t.observe(t.ctx, last, dir))
	closeBoth(first, last)
	shows := func(o *observing, after string) {
		if err := t.awaits(o, t.patience(), v.look); err != nil {
			t.mustLive(s) // S8
			t.Fatalf("a watch does not show the directory after %s, when %s: %v", after, othersClosed, err)
		}
	}
	for i := range 3 {
		n := v.create(s, fmt.Sprint(i))
		shows(o, "a node was created")
		v.delete(s, n)
		shows(o, "a node was deleted")
	}
	shows(t.observe(t.ctx, c, dir), "it began")
}

// waitBesideClosed has sessions of three connections wait for a node, closes two of them,
// and returns the wait of the third. The node is of the session that is returned, too.
func (t *Trial) waitBesideClosed() (w *waiting, owner, waiter driver.Session, n driver.Node) {
	owner = t.Session()
	n = t.Create(owner, dir, "0")
	first, c, last := t.threeConns()
	waiter = t.SessionOn(c)
	t.wait(t.SessionOn(first), n)
	w = t.wait(waiter, n)
	t.wait(t.SessionOn(last), n)
	closeBoth(first, last)
	t.probe(waiter, owner, "probe")
	return w, owner, waiter, n
}

// waitsBesideClosed is for W1: whether a wait ends too early is for W2.
func waitsBesideClosed(t *Trial) {
	w, owner, waiter, n := t.waitBesideClosed()
	if ended(w.done) && w.err == nil {
		t.NotVerified("WaitDelete of %s returned nil before its deletion, which W2 is about, when %s", show(n), othersClosed)
	}
	t.Delete(owner, n)
	if t.within(t.patience(), w.done) && w.err != nil {
		t.mustLive(waiter) // S8
	}
	t.returnsNil(w, n, "its deletion, when "+othersClosed)
}

func staysBlockedBesideClosed(t *Trial) {
	w, _, _, n := t.waitBesideClosed()
	t.blocked(w, n, othersClosed)
	w.cancel()
}

func independentOfClosed(t *Trial) {
	first, c, last := t.threeConns()
	t.Create(t.SessionOn(first), dir, "first")
	s := t.SessionOn(c)
	n := t.Create(s, dir, "0")
	t.Create(t.SessionOn(last), dir, "last")
	closeBoth(first, last)
	t.stays(s, t.h.TTL*5/4)
	t.alive(s, n)
	t.callEach(c, s)
}

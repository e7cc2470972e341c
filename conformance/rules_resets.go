package conformance

import (
	"fmt"

	"github.com/coordkit/coordkit/coord/driver"
)

// oftenReset is a case in which a connection is reset time and again, and each time comes
// back. A limit of retries that is counted in all, and not in a row, ends something then.
// On a real network that takes minutes.
func oftenReset(check func(*Trial)) Case {
	return Case{Name: "reset a hundred times", Needs: NeedLink, Check: check, virtual: true}
}

// resetOften resets a connection, and leaves it the time to come back and to renew a lease,
// a hundred times.
func (t *Trial) resetOften(l Link, between func()) {
	const resets = 100
	for range resets {
		l.DropConnections()
		t.sleep(t.h.TTL / 16)
		between()
	}
}

func survivesManyResets(t *Trial) {
	s, l := t.SessionOverLink()
	n := t.Create(s, dir, "0")
	t.resetOften(l, func() { t.isAlive(s) })
	t.stays(s, t.h.TTL)
	t.alive(s, n)
}

// deletedAfterManyResets begins the wait anew when it ends with an error, as it may.
func deletedAfterManyResets(t *Trial) {
	c, l := t.OpenLink()
	waiter, owner := t.SessionOn(c), t.Session()
	n := t.Create(owner, dir, "0")
	w := t.wait(waiter, n)
	t.resetOften(l, func() {
		t.mustLive(waiter)
		if ended(w.done) && driver.Transient(w.err) {
			w = t.wait(waiter, n)
		}
	})
	t.Delete(owner, n)
	t.comesToEnd(waiter, w, n)
}

func changedAfterManyResets(t *Trial) {
	w := t.watched()
	changes := 0
	t.resetOften(w.link, func() {
		if changes++; changes%10 == 0 {
			w.delete(w.owner, w.create(w.owner, fmt.Sprint(changes%4)))
		}
	})
	w.goesOn("a hundred resets of its connection")
}

package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// These cases are about what a driver remembers of requests whose outcome it does not know:
// for how long, of how many, and what makes it forget them too soon.

// manyInDoubt is more slots than a small fixed table would hold.
const manyInDoubt = 9

// overtakenByATTL lets a Create land that was given up more than a TTL ago.
func overtakenByATTL(t *Trial) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	release := t.hold(l)
	t.giveUpCreate(s, "0")
	t.stays(s, t.h.TTL*11/10)
	t.Delete(s, t.Create(s, dir, "0"))
	release()
	t.settles(t.none(s, dir, "0"))
}

// overtakenUnanswered gives up a Create. The driver itself gives up its first attempt at the
// next one, which does not settle the one before. Then both land, in their order.
func overtakenUnanswered(t *Trial) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	releaseFirst := t.hold(l)
	t.giveUpCreate(s, "0")
	releaseSecond := t.hold(l)
	t.Delete(s, t.Create(s, dir, "0"))
	releaseFirst()
	releaseSecond()
	t.settles(t.none(s, dir, "0"))
}

// overtakenAfterDelete gives up the Create of a slot that has a node. The Delete of that
// node does not settle it.
func overtakenAfterDelete(t *Trial) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	n := t.Create(s, dir, "0")
	release := t.hold(l)
	t.giveUpCreate(s, "0")
	t.Delete(s, n)
	t.Delete(s, t.Create(s, dir, "0"))
	release()
	t.settles(t.none(s, dir, "0"))
}

// overtakenBesideAnother has two sessions of one connection. What the one does, and its
// end, do not settle what the other has given up.
func overtakenBesideAnother(t *Trial) {
	c, l := t.OpenLink()
	a, b := t.SessionOn(c), t.SessionOn(c)
	t.Bystander(dir)
	t.Create(a, dir, "0")
	release := t.hold(l)
	t.giveUpCreate(b, "0")
	n := t.Create(b, dir, "0")
	t.abandon(a, "0")
	t.closeSession(a)
	t.Delete(b, n)
	release()
	t.settles(t.none(b, dir, "0"))
}

// abandonsAfterDoubtedDelete gives up a Delete before the Abandon.
func abandonsAfterDoubtedDelete(t *Trial) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	n := t.Create(s, dir, "0")
	t.hold(l)
	_ = t.briefly(func(ctx context.Context) error { return s.Delete(ctx, n) })
	t.abandon(s, "0")
	t.settles(t.none(s, dir, "0"))
}

// updatesBesideAHeldOne keeps the Update of one node on its way while another node is
// updated. Both count.
func updatesBesideAHeldOne(t *Trial) {
	s, l := t.SessionOverLink()
	n, m := t.Create(s, dir, "0"), t.Create(s, dir, "1")
	release := t.hold(l)
	first := t.Go(func() { t.Update(s, n, []byte("first")...) })
	t.sleep(t.h.TTL / 16) // for its request to be on its way
	t.Update(s, m, []byte("second")...)
	release()
	t.join("Update, whose request was held", first)
	t.settles(func() error { return errors.Join(t.is(n, "first")(), t.is(m, "second")()) })
}

// sendsNothing creates with a ctx that has ended. If the error says that nothing was done,
// nothing may appear.
func sendsNothing(t *Trial) {
	s := t.Session()
	t.Bystander(dir)
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	for i := range 10 {
		id := fmt.Sprint(i)
		_, _, err := t.create(ctx, s, dir, id, t.someData())
		if errors.Is(err, driver.ErrUnavailable) {
			defer func() { t.settles(t.none(s, dir, id)) }()
		}
	}
}

// listsBesideAList lists while another List of the same connection is under way, of which
// the answer is older.
func listsBesideAList(t *Trial) {
	c, l := t.OpenLink()
	s := t.Session()
	t.Create(s, dir, "before") // a missing directory is for L4
	t.insist(nil, "Conn.List", func() error { _, err := c.List(t.ctx, dir); return err })
	for i := range 3 {
		l.Delay(netfault.Down, t.h.TTL/8)
		earlier := t.Go(func() { _, _ = c.List(t.ctx, dir) })
		t.sleep(t.h.TTL / 16) // for the store to have answered it
		n := t.Create(s, dir, fmt.Sprint(i))
		var nodes []driver.Node
		t.insist(nil, "Conn.List beside another", func() (err error) { nodes, err = c.List(t.ctx, dir); return err })
		t.join("Conn.List over a slow link", earlier)
		t.heal(l)
		if _, ok := find(nodes, n); !ok {
			t.Fatalf("Conn.List, made while another one was under way, returned %s without %s, which had been made before", show(nodes...), show(n))
		}
	}
}

// waitsForDoubtedDelete gives up the Delete of the node that the same session waits for.
func waitsForDoubtedDelete(t *Trial) {
	s, l := t.SessionOverLink()
	n := t.Create(s, dir, "0")
	w := t.wait(s, n)
	l.Freeze(netfault.Up)
	_ = t.briefly(func(ctx context.Context) error { return s.Delete(ctx, n) })
	if ended(w.done) && w.err == nil {
		t.Sees(n) // nil was right if it is gone
		t.Fatalf("WaitDelete of %s returned nil while its Delete was held on its way", show(n))
	}
}

// waitsBesideOneThatGivesUp has the first of two waits for a node given up.
func waitsBesideOneThatGivesUp(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	n := t.Create(owner, dir, "0")
	first, second := t.wait(waiter, n), t.wait(waiter, n)
	first.cancel()
	t.within(t.patience(), first.done) // if it does not return, that is for B1
	if ended(second.done) {
		t.NotVerified("WaitDelete of %s returned %s before its deletion, which W2 is about", show(n), errorOf(second.err))
	}
	t.Delete(owner, n)
	t.returnsNil(second, n, "its deletion, before which another wait was given up")
}

// opensManyAtATime opens sessions at the same time, and closes every other one.
func opensManyAtATime(t *Trial) {
	const count = 12
	c := t.Open()
	sessions, nodes := make([]driver.Session, count), make([]driver.Node, count)
	t.crowd(count, func(i int) {
		sessions[i] = t.SessionOn(c)
		nodes[i] = t.Create(sessions[i], dir, fmt.Sprint(i))
	})
	ids := make(map[string]bool)
	for _, s := range sessions {
		ids[s.ID()] = true
	}
	if len(ids) != count {
		t.Fatalf("%d sessions that were opened at the same time have %d different IDs", count, len(ids))
	}
	for i := 0; i < count; i += 2 {
		t.closeSession(sessions[i])
	}
	for i := 1; i < count; i += 2 {
		t.alive(sessions[i], nodes[i])
	}
}

// opensAgain opens and closes sessions. None has the ID of another.
func opensAgain(t *Trial) {
	ids := make(map[string]bool)
	for i := range 5 {
		s := t.Session()
		if ids[s.ID()] {
			t.Fatalf("session %d has the ID %q of an earlier one", i+1, s.ID())
		}
		ids[s.ID()] = true
		t.closeSession(s)
	}
}

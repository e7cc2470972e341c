package conformance

import (
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// blocked wants the wait for n, which the third client still sees, not to have
// returned nil, and reports whether it still waits.
func (t *Trial) blocked(w *waiting, n driver.Node, after string) bool {
	over := ended(w.done) // before the look: what is seen then was there
	if _, ok := find(t.Nodes(n.Dir), n); !ok {
		return false // nothing can be said
	}
	if !over {
		return true
	}
	if w.err == nil {
		t.Fatalf("WaitDelete of %s returned nil after %s, and a third client still sees the node", show(n), after)
	}
	return false
}

func waitsThroughChanges(t *Trial) {
	owner, waiter, third := t.Session(), t.Session(), t.Session()
	ahead := t.Create(third, dir, "ahead")
	n := t.Create(owner, dir, "0")
	t.Sees(n)
	w := t.wait(waiter, n)
	for i, change := range []struct {
		name string
		make func()
	}{
		{"nothing", func() {}},
		{"an update", func() { t.Update(owner, n, []byte("new")...) }},
		{"a second update", func() { t.Update(owner, n) }},
		{"a node joined the line", func() { t.Create(third, dir, "1") }},
		{"the head of the line left it", func() { t.Delete(third, ahead) }},
		{"another session's node of that id came and went", func() { t.Delete(third, t.Create(third, dir, "0")) }},
		{"a node of that name in another directory came and went", func() { t.Delete(owner, t.Create(owner, other, "0")) }},
		{"a session in the line was closed", func() { _ = third.Close(t.ctx) }},
	} {
		change.make()
		t.probe(waiter, owner, fmt.Sprint("probe", i))
		t.blocked(w, n, change.name)
	}
}

// waitsForSizes waits for nodes with data of all sizes.
func waitsForSizes(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	var nodes []driver.Node
	var waits []*waiting
	for i, data := range sizes() {
		nodes = append(nodes, t.Create(owner, dir, fmt.Sprint(i), data...))
		if !t.comes(t.patience(), t.present(nodes[i])) {
			t.NotVerified("a third client does not see %s, which L1 is about", show(nodes[i]))
		}
		waits = append(waits, t.wait(waiter, nodes[i]))
	}
	t.probe(waiter, owner, "probe")
	for i, n := range nodes {
		t.blocked(waits[i], n, "it was made")
	}
	for i, n := range nodes {
		t.Delete(owner, n)
		t.returnsNil(waits[i], n, "its deletion")
	}
}

func waitsThroughResets(t *Trial) {
	c, l := t.OpenLink()
	waiter, owner := t.SessionOn(c), t.Session()
	n := t.Create(owner, dir, "0")
	t.Sees(n)
	for i := range 5 {
		w := t.wait(waiter, n)
		if i%2 == 0 {
			l.DropConnections()
		} else {
			l.Cut()
			t.sleep(t.h.TTL / 16)
			t.heal(l)
		}
		t.Throughout(t.h.TTL/8, func() error { t.blocked(w, n, "the connection was reset"); return nil })
		w.cancel()
	}
}

func waitsThroughFreezes(t *Trial) {
	c, l := t.OpenLink()
	waiter, owner := t.SessionOn(c), t.Session()
	n := t.Create(owner, dir, "0")
	t.Sees(n)
	w := t.wait(waiter, n)
	for _, d := range directions {
		l.Freeze(d)
		t.Throughout(t.h.TTL/4, func() error { t.blocked(w, n, "the link was frozen"); return nil })
		t.heal(l)
		t.Throughout(t.h.TTL/4, func() error { t.blocked(w, n, "the link was healed"); return nil })
	}
}

// waitsForTheNew waits for nodes that were made a moment before, while another wait has
// the driver follow the directory already, by a link on which news takes its time: what
// is not heard of yet is not gone.
func waitsForTheNew(t *Trial) {
	c, l := t.OpenLink()
	waiter, owner := t.SessionOn(c), t.Session()
	t.wait(waiter, t.Bystander(dir))
	l.Delay(netfault.Down, t.h.TTL/32)
	for i := range 8 {
		n := t.Create(owner, dir, fmt.Sprint(i))
		w := t.startWait(waiter, n)
		t.Throughout(t.h.TTL/16, func() error { t.blocked(w, n, "it was made"); return nil })
		t.Delete(owner, n)
		if !ended(w.done) || w.err == nil {
			t.returnsNil(w, n, "its deletion")
		}
	}
}

// givesUp wants a wait that its caller gave up not to pass for a deletion.
func givesUp(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	n := t.Create(owner, dir, "0")
	t.Sees(n)
	for _, e := range endings {
		wait := t.waitFor(waiter, n)
		ctx, cancel := e.make(t.ctx, t.h.TTL/8)
		w := &waiting{cancel: cancel}
		w.done = t.Go(func() { w.err = wait(ctx) })
		t.within(t.patience(), w.done) // B1
		t.blocked(w, n, "its ctx was "+e.name)
		cancel()
	}
}

// waitsWhenEnded waits on a session that the store has just ended, before the driver can
// know: its own node is gone, and no other.
func waitsWhenEnded(t *Trial) {
	s := t.Session()
	t.Create(s, dir, "0")
	stands := t.Bystander(dir)
	t.Sees(stands)
	before := t.wait(s, stands)
	t.expire(s)
	for when, w := range map[string]*waiting{"ended": before, "had ended": t.wait(s, stands)} {
		if t.within(t.h.TTL+time.Second, w.done); s.Err() == nil { // what it returns when the driver knows is for W4
			t.blocked(w, stands, "the store "+when+" the session that waits")
		}
	}
}

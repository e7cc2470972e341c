package conformance

import (
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

func namesakeBefore(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	t.Bystander(dir)
	n := t.Create(owner, dir, "0")
	t.Delete(owner, n)
	later := t.Create(owner, dir, "0", 'b')
	t.returnsNil(t.wait(waiter, n), n, "it was gone and a later node had its slot")

	// And the deletion of the earlier is no news of the later.
	w := t.wait(waiter, later)
	t.probe(waiter, owner, "0")
	t.blocked(w, later, "an earlier node of its name had been deleted")
}

func namesakeDuring(t *Trial, remove func(driver.Session, driver.Node)) {
	owner, waiter := t.Session(), t.Session()
	t.Bystander(dir)
	n := t.Create(owner, dir, "0")
	for range 10 {
		w := t.wait(waiter, n)
		remove(owner, n)
		later := t.createAgain(owner)
		t.endsBefore(w, n, owner, later)
		t.returnsNil(w, n, "it went and another took its slot")
		n = later
	}
}

// namesakeUnseen deletes and makes anew while the waiter cannot hear of it.
func namesakeUnseen(t *Trial) {
	c, l := t.OpenLink()
	waiter, owner := t.SessionOn(c), t.Session()
	t.Bystander(dir)
	n := t.Create(owner, dir, "0")
	w := t.wait(waiter, n)
	l.Freeze(netfault.Both)
	t.Delete(owner, n)
	later := t.Create(owner, dir, "0")
	t.heal(l)
	t.endsBefore(w, n, owner, later)
	t.mustLive(waiter)
	if w.err != nil && !driver.Transient(w.err) {
		t.Fatalf("WaitDelete of %s returned %q after it was deleted and another took its slot; want nil", show(n), w.err)
	}
}

// endsBefore wants the wait for n, which is gone, not to go on for the node that has taken
// its slot.
func (t *Trial) endsBefore(w *waiting, n driver.Node, owner driver.Session, later driver.Node) {
	if t.within(t.patience(), w.done) {
		return
	}
	t.Delete(owner, later)
	if t.within(t.patience(), w.done) {
		t.Fatalf("WaitDelete of %s returned only when %s, which had taken its slot, was deleted too", show(n), show(later))
	}
	t.NotVerified("the wait hangs, which W1 and W5 are about")
}

// createAgain makes (dir, "0") where its directory may have been removed: that this works
// is for C6.
func (t *Trial) createAgain(s driver.Session) (n driver.Node) {
	if !t.comes(t.patience(), func() (err error) {
		n, _, err = t.create(t.ctx, s, dir, "0", t.someData())
		return err
	}) {
		t.mustLive(s)
		t.NotVerified("Create in a directory that was removed fails, which C6 is about")
	}
	return n
}

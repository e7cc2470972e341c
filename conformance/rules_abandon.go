package conformance

import (
	"context"
	"errors"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// abandon insists as the layers above a driver do.
func (t *Trial) abandon(s driver.Session, id string) {
	t.insist(s, "Abandon "+dir+" "+id, func() error { return s.Abandon(t.ctx, dir, id) })
}

// abandoned abandons a node, for rules about others who are told of that.
func (t *Trial) abandoned(s driver.Session, n driver.Node) {
	t.abandon(s, n.ID)
	if !t.comes(t.patience(), t.absent(n)) {
		t.NotVerified("Abandon does not remove the node, which C4 is about")
	}
}

func abandonsNode(t *Trial) {
	s, another := t.Session(), t.Session()
	first := t.Create(s, dir, "0")
	kept := []driver.Node{
		t.Create(s, dir, "1"),
		t.Create(s, dir, "00"), // whose name begins alike
		t.Create(s, other, "0"),
		t.Create(another, dir, "0"),
	}
	t.Sees(first)
	t.abandon(s, "0")
	t.Eventually(t.patience(), t.none(s, dir, "0"))
	second := t.Create(s, dir, "0")
	if second.Same(first) {
		t.Fatalf("Create after Abandon returned the node that was abandoned: %s", show(second))
	}
	t.Eventually(t.patience(), t.only(s, "0", second))
	for _, n := range kept {
		t.Eventually(t.patience(), t.present(n))
	}
}

func abandonsNothing(t *Trial) {
	s := t.Session()
	t.abandon(s, "0") // in a directory that does not exist
	t.Bystander(dir)
	t.abandon(s, "0")
	t.abandon(s, "0")
	t.Eventually(t.patience(), t.only(s, "0", t.Create(s, dir, "0")))
}

// abandonsRemoved abandons what is gone without the session's doing.
func abandonsRemoved(t *Trial, remove func(driver.Node)) {
	s := t.Session()
	t.Bystander(dir)
	first := t.Create(s, dir, "0")
	remove(first)
	t.abandon(s, "0")
	second := t.createAgain(s)
	if second.Same(first) {
		t.Fatalf("Create after Abandon returned a node that had been removed before: %s", show(second))
	}
	t.settles(t.only(s, "0", second))
}

func abandonsLostReply(t *Trial) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	l.DropReplies()
	t.landed(s)
	t.heal(l)
	t.abandon(s, "0")
	t.settles(t.none(s, dir, "0"))
}

// abandonsLateRequest lets the request of Create and the one of Abandon race.
func abandonsLateRequest(t *Trial) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	for range 3 {
		l.Freeze(netfault.Up)
		t.giveUpCreate(s, "0")
		t.heal(l)
		t.abandon(s, "0")
		t.settles(t.none(s, dir, "0"))
	}
}

// abandonsOvertaken lets the request of Create land after Abandon returned.
func abandonsOvertaken(t *Trial) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	release := t.hold(l)
	t.giveUpCreate(s, "0")
	t.abandon(s, "0")
	release()
	t.settles(t.none(s, dir, "0"))
	// Nor does an earlier Abandon stand in the way of a later Create.
	n := t.Create(s, dir, "0")
	t.settles(t.only(s, "0", n))
}

// abandonsBesideCreate abandons a slot while a Create of another one is under way, which
// is to succeed all the same.
func abandonsBesideCreate(t *Trial) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	var n driver.Node
	release := t.hold(l)
	creating := t.Go(func() { n = t.Create(s, dir, "0") })
	t.sleep(t.h.TTL / 16) // for its request to be on its way
	t.Create(s, dir, "1")
	t.abandon(s, "1")
	release()
	t.join("Create while another slot is abandoned", creating)
	t.settles(func() error { return errors.Join(t.only(s, "0", n)(), t.none(s, dir, "1")()) })
}

// abandonComesLate gives up an Abandon, makes the node, and only then lets the
// Abandon land.
func abandonComesLate(t *Trial) {
	s, l := t.SessionOverLink()
	t.Create(s, dir, "0")
	release := t.hold(l)
	_ = t.briefly(func(ctx context.Context) error { return s.Abandon(ctx, dir, "0") })
	n := t.Create(s, dir, "0")
	release()
	t.settles(t.only(s, "0", n))
}

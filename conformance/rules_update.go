package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

func updateRules() []Rule {
	return []Rule{
		{
			ID:   "U1",
			Text: "Update replaces the data and nothing else.",
			Cases: []Case{
				{Name: "in the middle of a line", Check: updatesData},
			},
		},
		{
			ID:   "U2",
			Text: "Update and Delete touch only the very node given.",
			Cases: []Case{
				{Name: "a later node of that name", Check: sparesNamesake},
				{Name: "other nodes", Check: sparesOthers},
				{Name: "Delete overtaken", Needs: NeedLink | NeedHold, Check: deleteComesLate},
				{Name: "Update overtaken", Needs: NeedLink | NeedHold, Check: updateComesLate},
			},
		},
		{
			ID:   "U3",
			Text: "Deleting a gone node is success.",
			Cases: []Case{
				{Name: "deleted twice", Check: deletesTwice},
				{Name: "removed by an operator", Needs: NeedRemoveNode, Check: deletesRemoved},
				{Name: "directory removed", Needs: NeedRemoveDir, Check: deletesInRemoved},
				{Name: "reply lost", Needs: NeedLink, Check: deletesAfterLostReply},
			},
		},
		{
			ID:   "U4",
			Text: "Neither Update nor Delete brings a node to life.",
			Cases: []Case{
				{Name: "deleted", Check: func(t *Trial) {
					t.staysGone(func(s driver.Session, n driver.Node) { t.Delete(s, n) })
				}},
				{Name: "removed by an operator", Needs: NeedRemoveNode, Check: func(t *Trial) {
					t.staysGone(func(_ driver.Session, n driver.Node) { t.removeNode(n) })
				}},
				{Name: "Update overtaken by Delete", Needs: NeedLink | NeedHold, Check: updateAfterDelete},
			},
		},
		{
			ID:   "U5",
			Text: "An Update that was given up does not undo a later one.",
			Cases: []Case{
				{Name: "request late", Needs: NeedLink, Check: updatesRace},
				{Name: "request overtaken", Needs: NeedLink | NeedHold, Check: updateOvertaken},
				{Name: "several overtaken", Needs: NeedLink | NeedHold, Check: updatesOvertaken},
				{Name: "overtaken by the same again", Needs: NeedLink | NeedHold, Check: updateOvertakenBySame},
			},
		},
	}
}

// is returns nil if the third client sees the node with that data.
func (t *Trial) is(n driver.Node, data string) func() error {
	return func() error {
		m, ok := find(t.Nodes(n.Dir), n)
		if !ok || string(m.Data) != data {
			return fmt.Errorf("a third client sees %s with %q instead of %s with %q", show(m), m.Data, show(n), data)
		}
		return nil
	}
}

func updatesData(t *Trial) {
	a, b := t.Session(), t.Session()
	before, n, after := t.Create(a, dir, "0"), t.Create(b, dir, "0", []byte("old")...), t.Create(a, dir, "1")
	for _, data := range []string{"new", "", "a longer one"} {
		m, err := b.Update(t.ctx, n, []byte(data))
		if err != nil {
			t.Fatalf("Update: %v", err)
		}
		if !m.Same(n) || m.Dir != n.Dir || m.ID != n.ID || m.Session != n.Session || m.Seq != n.Seq || string(m.Data) != data {
			t.Fatalf("Update of %s with %q returned %s with %q", show(n), data, show(m), m.Data)
		}
		t.Eventually(t.patience(), t.is(n, data))
		for _, m := range t.Nodes(dir) {
			if m.Same(n) && (m.Session != n.Session || m.Seq != n.Seq || m.ID != n.ID) {
				t.Fatalf("after Update a third client sees %s as %s", show(n), show(m))
			}
		}
	}
	t.Eventually(t.patience(), t.is(before, ""))
	t.Eventually(t.patience(), t.is(after, ""))
	if m, err := b.Update(t.ctx, n, []byte("by the first Node")); err != nil || !m.Same(n) {
		t.Fatalf("Update with the Node that Create returned gave %s and %s; want the node and nil", show(m), errorOf(err))
	}
}

func sparesNamesake(t *Trial) {
	s := t.Session()
	t.Bystander(dir)
	first := t.Create(s, dir, "0", []byte("first")...)
	t.Delete(s, first)
	second := t.Create(s, dir, "0", []byte("second")...)
	if m, err := s.Update(t.ctx, first, []byte("stale")); !errors.Is(err, driver.ErrGone) {
		t.Fatalf("Update of %s, in whose place is %s, returned %s and %s; want ErrGone", show(first), show(second), show(m), errorOf(err))
	}
	t.deleteAgain(s, first)
	t.settles(t.is(second, "second"))
}

func sparesOthers(t *Trial) {
	a, b := t.Session(), t.Session()
	n := t.Create(a, dir, "1", []byte("mine")...)
	keep := []driver.Node{
		t.Create(a, dir, "10", []byte("kept")...), // whose name begins like n's
		t.Create(a, dir, "0", []byte("kept")...),
		t.Create(b, dir, "1", []byte("kept")...),
		t.Create(a, other, "1", []byte("kept")...),
	}
	n = t.Update(a, n, []byte("changed")...)
	for _, k := range keep {
		t.Eventually(t.patience(), t.is(k, "kept"))
	}
	t.Delete(a, n)
	t.Eventually(t.patience(), t.absent(n))
	for _, k := range keep {
		t.Eventually(t.patience(), t.is(k, "kept"))
	}
}

// deleteAgain deletes what is gone or may be.
func (t *Trial) deleteAgain(s driver.Session, n driver.Node) {
	if err := s.Delete(t.ctx, n); err != nil {
		t.NotVerified("Delete of a node that is gone or may be failed, which U3 is about: %v", err)
	}
}

// deleteComesLate lets a Delete land when the slot has a new node.
func deleteComesLate(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	t.Bystander(dir)
	first := t.Create(s, dir, "0")
	release := t.hold(l)
	_ = t.briefly(func(ctx context.Context) error { return s.Delete(ctx, first) })
	t.deleteAgain(s, first)
	second := t.Create(s, dir, "0", []byte("second")...)
	release()
	t.settles(t.is(second, "second"))
}

// updateComesLate likewise.
func updateComesLate(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	t.Bystander(dir)
	first := t.Create(s, dir, "0")
	release := t.hold(l)
	_ = t.briefly(func(ctx context.Context) error { _, err := s.Update(ctx, first, []byte("stale")); return err })
	t.Delete(s, first)
	second := t.Create(s, dir, "0", []byte("second")...)
	release()
	t.settles(t.is(second, "second"))
}

func deletesTwice(t *Trial) {
	s := t.Session()
	n := t.Create(s, dir, "0")
	for i := range 3 { // the first leaves the directory empty
		if err := s.Delete(t.ctx, n); err != nil {
			t.Fatalf("Delete, call %d: %v", i+1, err)
		}
	}
	t.Create(s, dir, "1")
	if err := s.Delete(t.ctx, n); err != nil {
		t.Fatalf("Delete of a node gone long ago: %v", err)
	}
}

func deletesRemoved(t *Trial) {
	s := t.Session()
	n := t.Create(s, dir, "0")
	t.removeNode(n)
	if err := s.Delete(t.ctx, n); err != nil {
		t.Fatalf("Delete of a node that an operator had removed: %v", err)
	}
}

func deletesInRemoved(t *Trial) {
	s := t.Session()
	n := t.Create(s, dir, "0")
	t.removeDir(dir)
	if err := s.Delete(t.ctx, n); err != nil {
		t.Fatalf("Delete of a node whose directory an operator had removed: %v", err)
	}
}

func deletesAfterLostReply(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	n := t.Create(s, dir, "0")
	t.Sees(n)
	l.DropReplies()
	_ = t.briefly(func(ctx context.Context) error { return s.Delete(ctx, n) })
	t.heal(l)
	t.Delete(s, n)
	t.Eventually(t.patience(), t.absent(n))
}

// staysGone makes a node go and tries to change it.
func (t *Trial) staysGone(remove func(driver.Session, driver.Node)) {
	s := t.Session()
	t.Bystander(dir)
	n := t.Create(s, dir, "0", []byte("old")...)
	remove(s, n)
	t.Eventually(t.patience(), t.absent(n))
	if m, err := s.Update(t.ctx, n, []byte("new")); !errors.Is(err, driver.ErrGone) {
		t.Fatalf("Update of %s, which is gone, returned %s and %s; want ErrGone", show(n), show(m), errorOf(err))
	}
	_ = s.Delete(t.ctx, n) // what it returns is for U3
	t.settles(t.none(s, dir, "0"))
}

// updateAfterDelete lets an Update land on a node that was deleted meanwhile.
func updateAfterDelete(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	t.Bystander(dir)
	n := t.Create(s, dir, "0")
	release := t.hold(l)
	_ = t.briefly(func(ctx context.Context) error { _, err := s.Update(ctx, n, []byte("new")); return err })
	t.Delete(s, n)
	release()
	t.settles(t.none(s, dir, "0"))
}

// giveUpUpdate makes an Update that is to be swallowed by a fault.
func (t *Trial) giveUpUpdate(s driver.Session, n driver.Node, data string) {
	_ = t.briefly(func(ctx context.Context) error { _, err := s.Update(ctx, n, []byte(data)); return err })
}

// updatesRace delivers the request of an Update that was given up together with
// that of the next one.
func updatesRace(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	n := t.Create(s, dir, "0")
	for i := range 3 {
		last := fmt.Sprint("new ", i)
		l.Freeze(netfault.Up)
		t.giveUpUpdate(s, n, fmt.Sprint("given up ", i))
		t.heal(l)
		t.Update(s, n, []byte(last)...)
		t.settles(t.is(n, last))
	}
}

// updateOvertaken lets an Update land when the next one was acknowledged.
func updateOvertaken(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	n := t.Create(s, dir, "0")
	release := t.hold(l)
	t.giveUpUpdate(s, n, "given up")
	t.Update(s, n, []byte("new")...)
	release()
	t.settles(t.is(n, "new"))
}

// updatesOvertaken gives up two Updates before one is acknowledged, and in
// between updates another node. Then they land, the later one first.
func updatesOvertaken(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	n, m := t.Create(s, dir, "0"), t.Create(s, dir, "1")
	releaseFirst := t.hold(l)
	t.giveUpUpdate(s, n, "given up first")
	releaseSecond := t.hold(l)
	t.giveUpUpdate(s, n, "given up second")
	t.Update(s, m, []byte("new")...)
	t.Update(s, n, []byte("new")...)
	releaseSecond()
	releaseFirst()
	t.settles(func() error { return errors.Join(t.is(n, "new")(), t.is(m, "new")()) })
}

// updateOvertakenBySame gives up an Update and has the data of before written again.
// A store may not count that as a change.
func updateOvertakenBySame(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	n := t.Update(s, t.Create(s, dir, "0"), []byte("kept")...)
	release := t.hold(l)
	t.giveUpUpdate(s, n, "given up")
	t.Update(s, n, []byte("kept")...)
	release()
	t.settles(t.is(n, "kept"))
}

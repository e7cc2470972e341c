package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/coord/driver"
)

func updateRules() []Rule {
	return []Rule{
		{
			ID:   "U1",
			Text: "Update replaces the data and nothing else.",
			Cases: []Case{
				{Name: "in the middle of a line", Check: updatesData},
				{Name: "by a node as it is listed", Check: updatesListed},
				{Name: "data that begin alike", Check: updatesAlike},
				{Name: "similar directories", Check: updatesInAlike},
				{Name: "of another node, while the first is held", Needs: NeedLink | NeedHold, Check: updatesBesideAHeldOne},
				quiet("after a long quiet time", 0, updatesLong),
			},
		},
		{
			ID:   "U2",
			Text: "Update and Delete touch only the very node given.",
			Cases: append([]Case{
				{Name: "a later node of that name", Check: sparesNamesake},
				{Name: "other nodes", Check: sparesOthers},
			}, andCtxAlive(
				Case{Name: "Delete overtaken", Needs: NeedLink | NeedHold, Check: deleteComesLate},
				Case{Name: "Update overtaken", Needs: NeedLink | NeedHold, Check: updateComesLate},
			)...),
		},
		{
			ID:   "U3",
			Text: "Deleting a gone node is success.",
			Cases: []Case{
				{Name: "deleted twice", Check: deletesTwice},
				{Name: "removed by an operator", Needs: NeedRemoveNode, Check: deletesRemoved},
				{Name: "directory removed", Needs: NeedRemoveDir, Check: deletesInRemoved},
				{Name: "reply lost", Needs: NeedLink, Check: deletesAfterLostReply},
				quiet("after a long quiet time", 0, deletesLong),
			},
		},
		{
			ID:   "U4",
			Text: "Neither Update nor Delete brings a node to life.",
			Cases: append([]Case{
				{Name: "deleted", Check: func(t *Trial) {
					t.Bystander(dir)
					t.staysGone(t.Delete)
				}},
				{Name: "the only node deleted", Check: func(t *Trial) { t.staysGone(t.Delete) }},
				{Name: "removed by an operator", Needs: NeedRemoveNode, Check: func(t *Trial) {
					t.Bystander(dir)
					t.staysGone(func(_ driver.Session, n driver.Node) { t.removeNode(n) })
				}},
				{Name: "directory removed", Needs: NeedRemoveDir, Check: func(t *Trial) {
					t.staysGone(func(_ driver.Session, n driver.Node) { t.removeDir(n.Dir) })
				}},
			}, andCtxAlive(
				Case{Name: "Update overtaken by Delete", Needs: NeedLink | NeedHold, Check: updateAfterDelete},
			)...),
		},
		{
			ID:   "U5",
			Text: "An Update that was given up does not undo a later one.",
			Cases: append([]Case{
				{Name: "request late", Needs: NeedLink, Check: updatesRace},
				{Name: "overtaken by the same again", Needs: NeedLink | NeedHold, Check: updateOvertakenBySame},
			}, andCtxAlive(
				Case{Name: "request overtaken", Needs: NeedLink | NeedHold, Check: updateOvertaken},
				Case{Name: "several overtaken", Needs: NeedLink | NeedHold, Check: updatesOvertaken},
			)...),
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
	t.Eventually(t.patience(), t.is(before, string(before.Data)))
	t.Eventually(t.patience(), t.is(after, string(after.Data)))
	if m, err := b.Update(t.ctx, n, []byte("by the first Node")); err != nil || !m.Same(n) {
		t.Fatalf("Update with the Node that Create returned gave %s and %s; want the node and nil", show(m), errorOf(err))
	}
}

// updatesListed updates and deletes nodes as lists show them, also by a list from before an
// update.
func updatesListed(t *Trial) {
	c := t.Open()
	s := t.SessionOn(c)
	t.Bystander(dir)
	sources := t.sources(c, s)
	for i, last := range sources {
		made := t.Create(s, dir, fmt.Sprint(i))
		listed := t.asListed(last, made)
		for _, source := range sources {
			n := t.asListed(source, made)
			data := "by " + source.call
			if m, err := s.Update(t.ctx, n, []byte(data)); err != nil || !m.Same(made) || m.Seq != made.Seq || string(m.Data) != data {
				t.Fatalf("Update of %s, as it is in %s, with %q returned %s with %q and %s",
					show(n), source.call, data, show(m), m.Data, errorOf(err))
			}
			t.Eventually(t.patience(), t.is(made, data))
		}
		t.Delete(s, listed)
		t.Eventually(t.patience(), t.absent(made))
	}
}

// updatesAlike replaces data by what begins like it, is a part of it, or is the same.
func updatesAlike(t *Trial) {
	s := t.Session()
	n := t.Create(s, dir, "0", []byte("abcdef")...)
	for _, data := range []string{"abc", "abcdef", "def", "abcdefabcdef", "abcdef", "abcdef", "", "abc"} {
		n = t.Update(s, n, []byte(data)...)
		t.Eventually(t.patience(), t.is(n, data))
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
	s, l := t.SessionOverLink()
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
	s, l := t.SessionOverLink()
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
	for _, dir := range []string{other, dir} {
		t.Create(s, dir, "1")
		if err := s.Delete(t.ctx, n); err != nil {
			t.Fatalf("Delete of a node gone long ago: %v", err)
		}
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
	s, l := t.SessionOverLink()
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
	n := t.Create(s, dir, "0", []byte("old")...)
	remove(s, n)
	t.Create(s, other, "0") // which may take the place that the directory had
	t.Eventually(t.patience(), t.absent(n))
	if m, err := s.Update(t.ctx, n, []byte("new")); !errors.Is(err, driver.ErrGone) {
		t.Fatalf("Update of %s, which is gone, returned %s and %s; want ErrGone", show(n), show(m), errorOf(err))
	}
	_ = s.Delete(t.ctx, n) // what it returns is for U3
	t.settles(t.none(s, dir, "0"))
}

// updateAfterDelete lets an Update land on a node that was deleted meanwhile.
func updateAfterDelete(t *Trial) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	n := t.Create(s, dir, "0")
	release := t.hold(l)
	_ = t.briefly(func(ctx context.Context) error { _, err := s.Update(ctx, n, []byte("new")); return err })
	t.Delete(s, n)
	release()
	t.settles(t.none(s, dir, "0"))
}

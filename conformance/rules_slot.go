package conformance

import (
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

func slotRules() []Rule {
	return []Rule{
		{
			ID:   "C4",
			Text: "After Abandon no earlier Create of (session, dir, id) has left a node or will.",
			Cases: append([]Case{
				{Name: "node stands", Check: abandonsNode},
				{Name: "nothing there", Check: abandonsNothing},
				{Name: "removed by an operator", Needs: NeedRemoveNode, Check: func(t *Trial) { abandonsRemoved(t, t.removeNode) }},
				{Name: "directory removed", Needs: NeedRemoveDir, Check: func(t *Trial) {
					abandonsRemoved(t, func(n driver.Node) { t.removeDir(n.Dir) })
				}},
				{Name: "reply lost", Needs: NeedLink, Check: abandonsLostReply},
				{Name: "request late", Needs: NeedLink, Check: abandonsLateRequest},
				{Name: "deletion in doubt", Needs: NeedLink | NeedHold, Check: abandonsAfterDoubtedDelete},
				{Name: "many requests overtaken", Needs: NeedLink | NeedHold, Check: manyAbandoned},
				{Name: "another slot's Create under way", Needs: NeedLink | NeedHold, Check: abandonsBesideCreate},
			}, andCtxAlive(
				Case{Name: "request overtaken", Needs: NeedLink | NeedHold, Check: abandonsOvertaken},
				Case{Name: "Create after a late Abandon", Needs: NeedLink | NeedHold, Check: abandonComesLate},
			)...),
		},
		{
			ID:   "C5",
			Text: "After Delete, Create of the same id makes a new node at the end of the line.",
			Cases: []Case{
				{Name: "slot used again", Check: func(t *Trial) { slotAgain(t, t.Delete) }},
				{Name: "removed by an operator", Needs: NeedRemoveNode, Check: func(t *Trial) {
					slotAgain(t, func(_ driver.Session, n driver.Node) { t.removeNode(n) })
				}},
			},
		},
		{
			ID:   "C6",
			Text: "Create works where the directory is missing or was removed.",
			Cases: []Case{
				{Name: "missing", Check: createsInMissing},
				{Name: "removed", Needs: NeedRemoveDir, Check: createsInRemoved},
				{Name: "removed all along", Needs: NeedRemoveDir, Check: createsWhileRemoved},
				{Name: "removed with its namespace", Needs: NeedRemoveDir, Check: createsInRemovedNamespace},
			},
		},
		{
			ID:   "C7",
			Text: "Create after the session's end fails and leaves nothing.",
			Cases: []Case{
				{Name: "closed", Check: createsAfterClose},
				{Name: "ended by the store", Needs: NeedExpire, Check: createsAfterExpiry},
				{Name: "link lost and healed", Needs: NeedLink, Check: createsAfterLoss},
				{Name: "Close at the same time", Check: func(t *Trial) {
					createsDuringEnd(t, func(s driver.Session) { _ = s.Close(t.ctx) }) // what it owes is for S5
				}},
				{Name: "ended by the store at the same time", Needs: NeedExpire, Check: func(t *Trial) { createsDuringEnd(t, t.expire) }},
			},
		},
	}
}

// slotAgain makes a node go and uses its slot again, while others join the line.
func slotAgain(t *Trial, remove func(driver.Session, driver.Node)) {
	s, between := t.Session(), t.Session()
	first := t.Create(s, dir, "0", []byte("first")...)
	next := t.Create(between, dir, "0")
	for i := range 3 {
		remove(s, first)
		data := fmt.Sprint(i)
		again := t.Create(s, dir, "0", []byte(data)...)
		if again.Same(first) || again.Seq <= next.Seq || again.Token <= next.Token || string(again.Data) != data {
			t.Fatalf("%s went, then Create with %q returned %s with %q; in line before it is %s",
				show(first), data, show(again), again.Data, show(next))
		}
		t.Eventually(t.patience(), t.only(s, "0", again))
		first, next = again, t.Create(between, dir, fmt.Sprint(i+1))
	}
}

func createsInMissing(t *Trial) {
	s := t.Session()
	for _, dir := range []string{dir, other, "a", "x_y-z.%3A:0"} {
		n, _, err := t.create(t.ctx, s, dir, "0", nil)
		if err != nil {
			t.Fatalf("Create in %s, which does not exist: %v", dir, err)
		}
		t.Sees(n)
	}
}

func createsInRemoved(t *Trial) {
	s := t.Session()
	first := t.Create(s, dir, "0")
	t.Create(s, dir, "1")
	t.Sees(first)
	for _, id := range []string{"0", "2"} {
		t.removeDir(dir)
		n, _, err := t.create(t.ctx, s, dir, id, nil)
		if err != nil {
			t.Fatalf("Create of %s in %s, which was removed: %v", id, dir, err)
		}
		if n.Same(first) {
			t.Fatalf("Create in a removed directory returned the node that was removed with it: %s", show(n))
		}
		t.Sees(n)
	}
}

// createsWhileRemoved removes the directory again and again, also between a
// driver's making sure of it and its creating the node.
func createsWhileRemoved(t *Trial) {
	s := t.Session()
	done := t.Go(func() {
		for i := range 50 {
			if _, _, err := t.create(t.ctx, s, dir, fmt.Sprint(i), nil); err != nil && !driver.Transient(err) {
				t.Fatalf("Create in a directory that is being removed: %v", err)
			}
			t.sleep(70 * time.Microsecond)
		}
	})
	for !ended(done) && t.ctx.Err() == nil {
		t.removeDir(dir)
		t.sleep(100 * time.Microsecond)
	}
	t.join("Create in a directory that is being removed", done)
	t.Sees(t.Create(s, dir, "last"))
}

// createsInRemovedNamespace removes everything, and with it what the driver keeps beside
// the directories. If that is the session too, there is another.
func createsInRemovedNamespace(t *Trial) {
	c := t.Open()
	s := t.SessionOn(c)
	for round := range 2 {
		t.Sees(t.Create(s, dir, fmt.Sprint(round)))
		t.removeNamespace()
		var n driver.Node
		t.Eventually(t.patience(), func() (err error) {
			if s.Err() != nil {
				s = t.SessionOn(c)
			}
			n, err = s.Create(t.ctx, dir, "again", nil)
			if err != nil {
				err = fmt.Errorf("Create in a namespace that was removed: %w", err)
			}
			return err
		})
		t.Sees(n)
		t.Delete(s, n)
	}
}

// refused checks that Create on an ended session fails and leaves nothing.
func (t *Trial) refused(s driver.Session, id string) {
	n, _, err := t.create(t.ctx, s, dir, id, nil)
	if err == nil {
		t.Fatalf("Create after the session's end returned %s", show(n))
	}
	if !isOver(err) {
		t.Fatalf("Create after the session's end returned %s; want ErrSessionLost or ErrClosed", errorOf(err))
	}
}

// leavesNone watches that no node with the id turns up, of whatever session.
func (t *Trial) leavesNone(id string) {
	t.Throughout(t.lateness(), func() error {
		for _, n := range t.Nodes(dir) {
			if n.ID == id {
				return fmt.Errorf("after the session's end a third client sees %s", show(n))
			}
		}
		return nil
	})
}

func createsAfterClose(t *Trial) {
	t.Bystander(dir)
	s := t.Session()
	_ = s.Close(t.ctx) // what it owes is for S5
	t.refused(s, "late")
	t.leavesNone("late")
}

// createsAfterExpiry creates before the driver can have noticed.
func createsAfterExpiry(t *Trial) {
	t.Bystander(dir)
	s := t.Session()
	t.expire(s)
	t.refused(s, "late")
	t.refused(s, "late")
	t.leavesNone("late")
}

func createsAfterLoss(t *Trial) {
	t.Bystander(dir)
	s, l := t.SessionOverLink()
	l.Freeze(netfault.Both)
	if !t.within(t.h.Expiry, s.Done()) {
		t.NotVerified("Done did not close on a frozen link, which S1 is about")
	}
	t.refused(s, "frozen")
	t.heal(l)
	t.refused(s, "late")
	t.leavesNone("frozen")
	t.leavesNone("late")
}

// createsDuringEnd ends sessions while Create is under way: whichever is first, in the
// end there is no node.
func createsDuringEnd(t *Trial, end func(driver.Session)) {
	stays := t.Bystander(dir)
	c := t.Open()
	for i := range 20 {
		s, id := t.SessionOn(c), fmt.Sprint(i)
		done := t.Go(func() {
			if _, _, err := t.create(t.ctx, s, dir, id, nil); err != nil && !isOver(err) && !driver.Transient(err) {
				t.Fatalf("Create while the session ends: %v", err)
			}
		})
		end(s)
		t.join("Create while the session ends", done)
	}
	t.Eventually(t.h.Expiry, func() error {
		for _, n := range t.Nodes(dir) {
			if n.Session != stays.Session {
				return fmt.Errorf("sessions ended during Create, and a third client sees %s", show(n))
			}
		}
		return nil
	})
}

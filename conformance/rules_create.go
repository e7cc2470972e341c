package conformance

import (
	"bytes"
	"context"
	"fmt"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

func createRules() []Rule {
	return []Rule{
		{
			ID:   "C1",
			Text: "Create makes one node that others see once it is acknowledged.",
			Cases: []Case{
				{Name: "one", Check: createsOne},
				{Name: "many at a time", Check: createsMany},
				{Name: "ids nearly alike", Check: createsAlike},
			},
		},
		{
			ID:   "C2",
			Text: "Create is idempotent per (session, dir, id), also after a lost reply.",
			Cases: append([]Case{
				{Name: "again", Check: createAgain},
				{Name: "reply lost", Needs: NeedLink, Check: func(t *Trial) { replyLost(t, Link.DropReplies) }},
				{Name: "reply late", Needs: NeedLink, Check: func(t *Trial) {
					replyLost(t, func(l Link) { l.Freeze(netfault.Down) })
				}},
				{Name: "request late", Needs: NeedLink, Check: requestLate},
				{Name: "requests of two slots", Needs: NeedLink | NeedHold, Check: requestsOfTwoSlots},
				{Name: "connections reset", Needs: NeedLink, Check: createUnderResets},
				{Name: "connections reset, many at a time", Needs: NeedLink, Check: createManyUnderResets},
				{Name: "several requests overtaken", Needs: NeedLink | NeedHold, Check: requestsOvertaken},
				{Name: "many requests overtaken", Needs: NeedLink | NeedHold, Check: manyDeleted},
				{Name: "request overtaken a TTL later", Needs: NeedLink | NeedHold, Check: overtakenByATTL},
				{Name: "request overtaken, and the next one unanswered", Needs: NeedLink | NeedHold, Check: overtakenUnanswered},
				{Name: "request overtaken after a deletion", Needs: NeedLink | NeedHold, Check: overtakenAfterDelete},
				{Name: "request overtaken, and another session closed", Needs: NeedLink | NeedHold, Check: overtakenBesideAnother},
				{Name: "former node's deletion in doubt", Needs: NeedLink | NeedHold, Check: formerInDoubt},
			}, andCtxAlive(Case{Name: "request overtaken", Needs: NeedLink | NeedHold, Check: requestOvertaken})...),
		},
		{
			ID:   "C3",
			Text: "A node belongs to one session: another session's node is never taken for one's own.",
			Cases: []Case{
				{Name: "namesakes", Check: namesakes},
				{Name: "session replaced after a lost reply", Needs: NeedLink, Check: replacedAfterLostReply},
				{Name: "session replaced while the old node stands", Needs: NeedLink, Check: replacedWhileDying},
			},
		},
	}
}

// formerInDoubt has both a Create of a slot that has a node and the Delete of a former node
// of that slot given up. Neither changes the node.
func formerInDoubt(t *Trial) {
	s, l := t.SessionOverLink()
	former := t.Create(s, dir, "0")
	t.Delete(s, former)
	n := t.Create(s, dir, "0")
	giveUp := func(call func(ctx context.Context) error) {
		release := t.hold(l)
		_ = t.briefly(call)
		release()
	}
	giveUp(func(ctx context.Context) error { _, _, err := t.create(ctx, s, dir, "0", nil); return err })
	giveUp(func(ctx context.Context) error { return s.Delete(ctx, former) })
	if m := t.Create(s, dir, "0"); !m.Same(n) {
		t.Fatalf("Create returned %s; there was %s, and what was deleted is %s", show(m), show(n), show(former))
	}
	t.Sees(n)
}

func createsOne(t *Trial) {
	marker := t.Bystander(dir)
	s := t.Session()
	n, _, err := t.create(t.ctx, s, dir, "0", []byte("data"))
	if err != nil {
		t.Fatalf("Create: %v", err)
	}
	if n.Dir != dir || n.ID != "0" || n.Session != s.ID() || n.Key == "" || !bytes.Equal(n.Data, []byte("data")) {
		t.Fatalf("Create of %s/0 with 4 bytes by session %s returned %s in %q", dir, s.ID(), show(n), n.Dir)
	}
	t.Sees(n)
	t.Sees(marker)
	if nodes := t.Nodes(dir); len(nodes) != 2 {
		t.Fatalf("two nodes were created, and a third client sees %s", show(nodes...))
	}
}

// createsMany lets several sessions create at once, each on several goroutines.
func createsMany(t *Trial) {
	const sessions, each = 4, 8
	var made [sessions][each]driver.Node
	var by [sessions]driver.Session
	var creating []<-chan struct{}
	for i := range sessions {
		by[i] = t.Session()
		for j := range each {
			creating = append(creating, t.Go(func() {
				t.insist(by[i], "Create of one of many nodes", func() (err error) {
					made[i][j], _, err = t.create(t.ctx, by[i], dir, fmt.Sprint(j), nil)
					return err
				})
			}))
		}
	}
	t.join("one of many calls of Create at a time", creating...)
	keys := make(map[string]bool)
	for i, nodes := range made {
		for j, n := range nodes {
			if keys[n.Key] || n.ID != fmt.Sprint(j) || n.Session != by[i].ID() {
				t.Fatalf("Create of %d by session %s, at the same time as others, returned %s", j, by[i].ID(), show(n))
			}
			keys[n.Key] = true
			t.Sees(n)
		}
	}
	if nodes := t.Nodes(dir); len(nodes) != sessions*each {
		t.Fatalf("%d nodes were created, and a third client sees %d", sessions*each, len(nodes))
	}
}

// createsAlike uses ids that differ in a capital letter, or in the last byte of the longest id.
func createsAlike(t *Trial) {
	s := t.Session()
	ids := []string{"a", "A", "abcdefghijklmno", "abcdefghijklmnop", "abcdefghijklmnoq", "abcdefghijklmnoP"}
	made := make(map[string]string) // ids, by key
	for _, id := range ids {
		n := t.Create(s, dir, id)
		if twin, taken := made[n.Key]; taken || n.ID != id {
			t.Fatalf("Create of %s returned %s; the ids with this key so far: %q", id, show(n), twin)
		}
		made[n.Key] = id
		t.Eventually(t.patience(), t.only(s, id, n))
	}
	if nodes := t.Nodes(dir); len(nodes) != len(ids) {
		t.Fatalf("nodes with the ids %q were created, and a third client sees %s", ids, show(nodes...))
	}
}

func createAgain(t *Trial) {
	s := t.Session()
	first := t.Create(s, dir, "0", []byte("first")...)
	for _, data := range []string{"first", "second"} {
		again := t.Create(s, dir, "0", []byte(data)...)
		if !again.Same(first) || again.Seq != first.Seq || string(again.Data) != "first" {
			t.Fatalf("Create made %s with \"first\", and called again it returned %s with %q", show(first), show(again), again.Data)
		}
	}
	t.Eventually(t.patience(), t.only(s, "0", first))
}

// namesakes are nodes with one (dir, id) and different sessions, on one
// connection and on two.
func namesakes(t *Trial) {
	c := t.Open()
	nodes := make(map[string]driver.Node)
	for _, s := range []driver.Session{t.SessionOn(c), t.SessionOn(c), t.Session()} {
		n := t.Create(s, dir, "0")
		if twin, taken := nodes[n.Key]; taken || n.Session != s.ID() {
			t.Fatalf("Create by session %s returned %s; there was %s", s.ID(), show(n), show(twin))
		}
		nodes[n.Key] = n
		t.Eventually(t.patience(), t.only(s, "0", n))
	}
}

// own checks that n is a node of s that stays when those of the old session go.
func (t *Trial) own(s driver.Session, n, old driver.Node) {
	if n.Same(old) || n.Session != s.ID() {
		t.Fatalf("Create by session %s returned %s; the former session's node is %s", s.ID(), show(n), show(old))
	}
	t.comes(t.h.Expiry, t.absent(old)) // whether it goes is for S6
	t.Eventually(t.patience(), t.only(s, "0", n))
}

func replacedAfterLostReply(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	t.Bystander(dir)
	l.DropReplies()
	old := t.landed(s)
	t.heal(l)
	next := t.SessionOn(c)
	n := t.Create(next, dir, "0")
	_ = s.Close(t.ctx) // what it owes is for S5
	t.own(next, n, old)
}

func replacedWhileDying(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	old := t.Create(s, dir, "0")
	l.Freeze(netfault.Both)
	if !t.within(t.h.Expiry, s.Done()) {
		t.NotVerified("Done did not close on a frozen link, which S1 is about")
	}
	t.heal(l)
	next := t.SessionOn(c)
	t.own(next, t.Create(next, dir, "0"), old)
}

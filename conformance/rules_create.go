package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

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
			},
		},
		{
			ID:   "C2",
			Text: "Create is idempotent per (session, dir, id), also after a lost reply.",
			Cases: []Case{
				{Name: "again", Check: createAgain},
				{Name: "reply lost", Needs: NeedLink, Check: func(t *Trial) { replyLost(t, Link.DropReplies) }},
				{Name: "reply late", Needs: NeedLink, Check: func(t *Trial) {
					replyLost(t, func(l Link) { l.Freeze(netfault.Down) })
				}},
				{Name: "request late", Needs: NeedLink, Check: requestLate},
				{Name: "request overtaken", Needs: NeedLink | NeedHold, Check: requestOvertaken},
				{Name: "connections reset", Needs: NeedLink, Check: createUnderResets},
			},
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

func createsOne(t *Trial) {
	marker := t.Bystander(dir)
	s := t.Session()
	n, err := s.Create(t.ctx, dir, "0", []byte("data"))
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
			creating = append(creating, t.Go(func() { made[i][j] = t.Create(by[i], dir, fmt.Sprint(j)) }))
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

// replyLost lets a Create have its effect without its caller hearing of it.
func replyLost(t *Trial, fault func(Link)) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	t.Bystander(dir)
	fault(l)
	landed := t.landed(s, func(ctx context.Context) error { _, err := s.Create(ctx, dir, "0", nil); return err })
	t.heal(l)
	if n := t.Create(s, dir, "0"); !n.Same(landed) {
		t.Fatalf("the reply to Create was lost; called again it returned %s and not %s, which it had made", show(n), show(landed))
	}
	t.settles(t.only(s, "0", landed))
}

// landed makes a call that creates (dir, "0") and whose reply is lost, gives
// the call up as soon as the node is there, and returns the node.
func (t *Trial) landed(s driver.Session, create func(ctx context.Context) error) (n driver.Node) {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	done := t.Go(func() { _ = create(ctx) })
	there := t.comes(t.h.TTL/2, func() error {
		if found := t.mine(s, dir, "0"); len(found) == 1 {
			n = found[0]
			return nil
		}
		return errors.New("not yet")
	})
	cancel()
	t.within(100*time.Millisecond, done) // if it does not return, that is for B1
	if !there {
		t.mustLive(s)
		t.NotVerified("the request did not get through the link")
	}
	return n
}

// requestLate gives up a Create whose request is delivered afterwards.
func requestLate(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	t.Bystander(dir)
	l.Freeze(netfault.Up)
	_ = t.briefly(func(ctx context.Context) error { _, err := s.Create(ctx, dir, "0", nil); return err })
	t.heal(l)
	n := t.Create(s, dir, "0")
	t.settles(t.only(s, "0", n))
}

// requestOvertaken lets the request of the first Create land after the second
// was acknowledged, and once more after its node was deleted.
func requestOvertaken(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	t.Bystander(dir)
	release := t.hold(l)
	_ = t.briefly(func(ctx context.Context) error { _, err := s.Create(ctx, dir, "0", nil); return err })
	n := t.Create(s, dir, "0")
	release()
	t.settles(t.only(s, "0", n))

	release = t.hold(l)
	_ = t.briefly(func(ctx context.Context) error { _, err := s.Create(ctx, dir, "1", nil); return err })
	n = t.Create(s, dir, "1")
	t.Delete(s, n)
	release()
	t.settles(t.none(s, dir, "1"))
}

// createUnderResets resets the connection while requests and replies are on
// their way.
func createUnderResets(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	delay := t.h.TTL / 200
	l.Delay(netfault.Both, delay)
	for i := range 12 {
		id := fmt.Sprint(i)
		var n driver.Node
		done := t.Go(func() { n = t.Create(s, dir, id) })
		for range i % 4 {
			t.sleep(delay * 3 / 4)
			l.DropConnections()
		}
		t.join("Create while connections are reset", done)
		t.Eventually(t.patience(), t.only(s, id, n))
	}
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
	old := t.landed(s, func(ctx context.Context) error { _, err := s.Create(ctx, dir, "0", nil); return err })
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

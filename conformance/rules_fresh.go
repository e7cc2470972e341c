package conformance

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

func ownListRule() Rule {
	return Rule{
		ID:   "L3",
		Text: "Session.List holds the session's own acknowledged writes and what preceded them.",
		Cases: []Case{
			{Name: "created after another", Check: func(t *Trial) { listsOwnAndBefore(t, t.Session(), 40) }},
			{Name: "created after another, beside a wait and a watch", Needs: NeedLink, Check: func(t *Trial) {
				_, s := t.follower()
				listsOwnAndBefore(t, s, 12)
			}},
			{Name: "updated and deleted", Check: listsOwnChanges},
			{Name: "created at the same time", Check: func(t *Trial) { listsWhoIsAhead(t, t.Session, 25) }},
			{Name: "created at the same time over slow links", Needs: NeedLink, Check: func(t *Trial) {
				listsWhoIsAhead(t, t.slowSession(), 10)
			}},
		},
	}
}

func observerListRule() Rule {
	return Rule{
		ID:   "L5",
		Text: "Conn.List holds everything acknowledged to anybody before.",
		Cases: []Case{
			{Name: "acknowledged elsewhere", Check: func(t *Trial) {
				t.Bystander(dir)
				listsAcknowledged(t, t.Open(), func() {}, 40)
			}},
			{Name: "beside a session's list, a wait and a watch", Needs: NeedLink, Check: func(t *Trial) {
				c, s := t.follower()
				listsAcknowledged(t, c, func() { t.list(s, dir) }, 12)
			}},
			{Name: "beside a list under way", Needs: NeedLink, Check: listsBesideAList},
			quiet("after a long quiet time", 0, listsLong),
		},
	}
}

// follower opens a session on a connection that follows the directory in all ways: by a
// wait and by a watch, over a link on which news takes its time. So a driver may believe
// that it knows what is in the directory.
func (t *Trial) follower() (driver.Conn, driver.Session) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	t.wait(s, t.Bystander(dir))
	if _, ok := driver.As[driver.Watcher](c); ok {
		t.begins(t.observe(t.ctx, c, dir))
	}
	l.Delay(netfault.Down, t.h.TTL/128)
	return c, s
}

func listsOwnAndBefore(t *Trial, a driver.Session, rounds int) {
	b := t.Session()
	for i := range rounds {
		id := fmt.Sprint(i)
		before := t.Create(b, dir, id)
		own, nodes := t.enterAndList(a, id)
		for _, n := range []driver.Node{before, own} {
			if _, ok := find(nodes, n); !ok {
				t.Fatalf("after Create of %s, Session.List does not hold %s", show(own), show(n))
			}
		}
	}
}

// enterAndList makes a node and lists: by one call where the case is about one that does
// both.
func (t *Trial) enterAndList(s driver.Session, id string) (driver.Node, []driver.Node) {
	n, nodes := t.enter(s, dir, id)
	if nodes == nil {
		nodes = t.list(s, dir)
	}
	return n, nodes
}

// slowSession opens every other session over a link that takes its time.
func (t *Trial) slowSession() func() driver.Session {
	opened := 0
	return func() driver.Session {
		if opened++; opened%2 == 0 {
			return t.Session()
		}
		c, l := t.OpenLink()
		s := t.SessionOn(c)
		l.Delay(netfault.Both, t.h.TTL/32)
		return s
	}
}

// listsWhoIsAhead has two create at the same time, and each look at once at who is
// ahead. Whoever is not in a list that holds a later node, and is in the store
// nevertheless, was overlooked: two would hold.
func listsWhoIsAhead(t *Trial, open func() driver.Session, rounds int) {
	type look struct {
		own   driver.Node
		nodes []driver.Node
	}
	var mu sync.Mutex
	var looks []look
	var sessions []driver.Session
	for range 2 { // whether Seq is the same to all is for O1
		sessions = append(sessions, open())
	}
	var done []<-chan struct{}
	for _, s := range sessions {
		done = append(done, t.Go(func() {
			for i := range rounds {
				own, nodes := t.enterAndList(s, fmt.Sprint(i))
				mu.Lock()
				looks = append(looks, look{own, nodes})
				mu.Unlock()
			}
		}))
	}
	t.join("creating and listing", done...)
	mu.Lock()
	defer mu.Unlock()
	now := t.Nodes(dir) // without those whose session was lost
	for _, l := range looks {
		for _, other := range looks {
			_, lives := find(now, other.own)
			if _, ok := find(l.nodes, other.own); !ok && lives && other.own.Seq <= l.own.Seq {
				t.Fatalf("after Create of %s, Session.List does not hold %s, which was created before it", show(l.own), show(other.own))
			}
		}
	}
}

func listsOwnChanges(t *Trial) {
	t.Bystander(dir)
	s := t.Session()
	for i := range 20 {
		n := t.Create(s, dir, "0")
		data := fmt.Sprint(i)
		t.Update(s, n, []byte(data)...)
		m, ok := find(t.list(s, dir), n)
		if !ok || !t.sameData(m.Data, []byte(data)) {
			t.Fatalf("after Update with %q, Session.List shows %s with %q", data, show(m), m.Data)
		}
		t.Delete(s, n)
		if _, ok := find(t.list(s, dir), n); ok {
			t.Fatalf("after Delete of %s, Session.List still shows it", show(n))
		}
	}
}

// listsAcknowledged has a connection list right after others were told that a node was
// created, updated or deleted. before is done, and the connection lists, before each.
func listsAcknowledged(t *Trial, reader driver.Conn, before func(), rounds int) {
	c := t.Open()
	writer := t.SessionOn(c)
	for i := range rounds {
		var n driver.Node
		stands := true
		for _, change := range []struct {
			call string
			make func()
		}{
			{"Create", func() { n = t.Create(writer, dir, fmt.Sprint(i%8)) }},
			{"Update", func() { n = t.Update(writer, n, byte('a'+i), byte(i)) }},
			{"Delete", func() { t.Delete(writer, n); stands = false }},
		} {
			before()
			t.observed(reader)
			change.make()
			for who, c := range map[string]driver.Conn{"another client": reader, "the same client": c} {
				m, ok := find(t.observed(c), n)
				if ok != stands || stands && !bytes.Equal(m.Data, n.Data) {
					t.Fatalf("%s of %s with %q was acknowledged; in Conn.List of %s it is there: %v, with %q",
						change.call, show(n), n.Data, who, ok, m.Data)
				}
			}
		}
	}
}

// observed is Conn.List of the directory.
func (t *Trial) observed(c driver.Conn) (nodes []driver.Node) {
	t.insist(nil, "Conn.List", func() (err error) {
		nodes, err = c.List(t.ctx, dir)
		return err
	})
	return nodes
}

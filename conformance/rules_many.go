package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// These cases do with many what others do with a few. A driver that keeps a table of a
// fixed size, reads one page, or sets one watch too few works for a few alone.
const (
	manySessions = 24   // of one connection
	manyWaits    = 100  // of one session, and for one node
	manyWatches  = 40   // of one connection
	manyWaitedOn = 120  // nodes of one WaitAny
	manyWatched  = 520  // nodes of one watch: more than 500, a common size of pages
	manyOwned    = 150  // nodes of one session
	manyListed   = 1100 // nodes of one directory: more than the page of a store, which is often 1,000
	manyStates   = 1100 // of one directory, one after another
)

// waitsManyForOne has many waits, of several sessions, for one node.
func waitsManyForOne(t *Trial) {
	const sessions = 4
	owner := t.Session()
	n := t.Create(owner, dir, "0")
	var waits []*waiting
	for range sessions {
		s := t.Session()
		for range manyWaits / sessions {
			waits = append(waits, t.startWait(s, n))
		}
	}
	t.pause()
	t.probe(t.Session(), owner, "probe")
	t.Delete(owner, n)
	for _, w := range waits {
		t.returnsNil(w, n, fmt.Sprintf("its deletion, for which %d calls waited", len(waits)))
	}
}

// livesUnderWaits has a session wait for many nodes while it is renewed and makes calls.
func livesUnderWaits(t *Trial) {
	owner, s := t.Session(), t.Session()
	n := t.Create(s, other, "own")
	var waits []*waiting
	for i := range manyWaits {
		waits = append(waits, t.startWait(s, t.Create(owner, dir, fmt.Sprint(i))))
	}
	t.isPrompt(fmt.Sprintf("Create beside %d waits of the session", len(waits)), func() time.Duration {
		return t.timed(func() { t.Delete(s, t.Create(s, other, "beside")) })
	})
	t.stays(s, t.h.TTL*5/2)
	t.alive(s, n)
}

// waitsAnyOfMany waits for many nodes at a time, of which the last goes first.
func waitsAnyOfMany(t *Trial) {
	s, owner := t.Session(), t.Session()
	nodes := make([]driver.Node, manyWaitedOn)
	t.crowd(len(nodes), func(i int) { nodes[i] = t.Create(owner, dir, fmt.Sprint(i)) })
	for len(nodes) > manyWaitedOn-3 {
		last := len(nodes) - 1
		w := t.waitAny(s, nodes...)
		t.Delete(owner, nodes[last])
		t.returns(w, last, fmt.Sprintf("the last of %d nodes was deleted", len(nodes)))
		nodes = nodes[:last]
	}
}

// manyIndependent ends every other one of many sessions of a connection.
func manyIndependent(t *Trial, end func(driver.Session)) {
	c := t.Open()
	ids := make(map[string]bool)
	var sessions []driver.Session
	var nodes []driver.Node
	for i := range manySessions {
		s := t.SessionOn(c)
		if ids[s.ID()] {
			t.Fatalf("two of %d sessions of a connection have the ID %q", i+1, s.ID())
		}
		ids[s.ID()] = true
		sessions, nodes = append(sessions, s), append(nodes, t.Create(s, dir, fmt.Sprint(i)))
	}
	for i := 0; i < manySessions; i += 2 {
		end(sessions[i])
	}
	t.stays(sessions[1], t.h.TTL*5/4)
	for i, s := range sessions {
		if i%2 == 1 {
			t.alive(s, nodes[i])
		} else {
			t.Eventually(t.h.Expiry, t.absent(nodes[i]))
		}
	}
}

// closeRemovesMany closes a session with many nodes: all of them go at once. If some stay
// for longer than the session could, S6 says so.
func closeRemovesMany(t *Trial) {
	const dirs = 3
	t.isPrompt("Close of a session with many nodes", func() time.Duration {
		s := t.Session()
		t.crowd(manyOwned, func(i int) { t.Create(s, fmt.Sprint(dir, i%dirs), fmt.Sprint(i)) })
		took := t.timed(func() { t.closeSession(s) })
		closed := time.Now()
		for left := 1; left > 0; {
			left = 0
			for i := range dirs {
				left += len(t.Nodes(fmt.Sprint(dir, i)))
			}
			if left > 0 && time.Since(closed) > t.h.Expiry {
				t.leaveTo("S6", fmt.Sprintf("%d of %d nodes stay", left, manyOwned))
			}
			if left > 0 {
				t.sleep(t.h.TTL / 50)
			}
		}
		gone := time.Since(closed)
		if most := max(t.h.TTL/2-took, t.lateness()); gone > most {
			t.Fatalf("the last of %d nodes went %v after Close of its session had returned; want %v at the most", manyOwned, gone, most)
		}
		return took
	})
}

// watchesMany has many watches on one connection, half of them of one directory.
func watchesMany(t *Trial) {
	c, s := t.Open(), t.Session()
	v := t.view(t.Bystander(dir))
	var same []*observing
	apart := make(map[string]*observing)
	for i := range manyWatches / 2 {
		same = append(same, t.observe(t.ctx, c, dir))
		name := fmt.Sprint(other, i)
		apart[name] = t.observe(t.ctx, c, name)
	}
	for _, o := range same {
		v.shows(o, "it began")
	}
	v.create(s, "0")
	for _, o := range same {
		v.shows(o, fmt.Sprintf("a node was created, in one of %d watches", manyWatches))
	}
	for name, o := range apart {
		n := t.Create(s, name, "0")
		if err := t.awaits(o, t.patience(), t.view(n).look); err != nil {
			t.Fatalf("one of %d watches does not show a new node: %v", manyWatches, err)
		}
	}
}

// watchesManyStates has one watch show many states, one after another.
func watchesManyStates(t *Trial) {
	c, s := t.Open(), t.Session()
	v := t.view(t.Bystander(dir))
	o := t.observe(t.ctx, c, dir)
	v.first(o)
	for i := range manyStates / 2 {
		n := v.create(s, "0")
		v.shows(o, fmt.Sprintf("change %d", 2*i+1))
		v.delete(s, n)
		v.shows(o, fmt.Sprintf("change %d", 2*i+2))
	}
}

// watchesManyNodes watches a directory of many nodes. The last node is deleted, and another one
// is created.
func watchesManyNodes(t *Trial) {
	c, s := t.Open(), t.Session()
	line := t.fill(s, manyWatched)
	v := t.view(line...)
	o := t.observe(t.ctx, c, dir)
	v.shows(o, fmt.Sprintf("it began with %d nodes", len(line)))
	v.delete(s, line[len(line)-1])
	v.shows(o, fmt.Sprintf("the last of %d nodes was deleted", len(line)))
	v.create(s, "last")
	v.shows(o, fmt.Sprintf("a node was created behind %d others", len(line)-1))
}

// listsMany makes more nodes than a store returns in one page by habit.
func listsMany(t *Trial) {
	s := t.Session()
	want := append(t.fill(s, manyListed-1), t.Create(s, dir, "last"))
	for who, list := range t.lists(s) {
		t.Eventually(t.patience(), t.seldom(func() error { return t.holds(who, list(dir), want, nil) }))
	}
}

// fill makes a line of n nodes, by the plain call: one that lists too would be told of the
// line again and again.
func (t *Trial) fill(s driver.Session, n int) []driver.Node {
	line := make([]driver.Node, n)
	t.crowd(n, func(i int) {
		id, data := fmt.Sprint(i), t.someData()
		t.insist(s, "Create "+dir+" "+id, func() (err error) { line[i], err = s.Create(t.ctx, dir, id, data); return err })
	})
	slices.SortFunc(line, func(n, m driver.Node) int { return cmp.Compare(n.Seq, m.Seq) })
	return line
}

// listsUpdated updates nodes at the front, in the middle and at the end of a long line.
func listsUpdated(t *Trial) {
	s := t.Session()
	line := t.fill(s, 100)
	for _, i := range []int{0, 1, 50, 98, 99} {
		line[i] = t.Update(s, line[i], []byte(fmt.Sprint("new ", i))...)
		for who, list := range t.lists(s) {
			t.Eventually(t.patience(), func() error { return t.shown(who, list(dir), line[i]) })
		}
	}
}

// shown wants a list to hold a node with its present data.
func (t *Trial) shown(who string, nodes []driver.Node, n driver.Node) error {
	m, ok := find(nodes, n)
	if !ok || !t.sameData(m.Data, n.Data) {
		return fmt.Errorf("%s shows %s for %s", who, show(m), show(n))
	}
	return nil
}

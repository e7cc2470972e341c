package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// waitLeftCases are those of W6.
func waitLeftCases() []Case {
	return []Case{
		{Name: "canceled, one node", Needs: NeedResidue, Check: func(t *Trial) { leavesNoWatch(t, waitOne, 1) }},
		{Name: "canceled, many nodes", Needs: NeedResidue, Check: func(t *Trial) { leavesNoWatch(t, waitOne, 40) }},
		{Name: "canceled, WaitAny", Needs: NeedResidue, Check: func(t *Trial) { leavesNoWatch(t, waitThree, 40) }},
		{Name: "canceled on a frozen link", Needs: NeedLink | NeedResidue, Check: func(t *Trial) { leavesNoWatchFrozen(t, waitOne) }},
		{Name: "canceled on a frozen link, WaitAny", Needs: NeedLink | NeedResidue, Check: func(t *Trial) { leavesNoWatchFrozen(t, waitThree) }},
		{Name: "canceled as it begins", Needs: NeedResidue, Check: func(t *Trial) { leavesNoWatchUnbegun(t, waitOne) }},
		{Name: "canceled as it begins, WaitAny", Needs: NeedResidue, Check: func(t *Trial) { leavesNoWatchUnbegun(t, waitThree) }},
		{Name: "ended, WaitAny", Needs: NeedResidue, Check: leavesNoneOfThree},
		{Name: "connections reset", Needs: NeedLink | NeedResidue, Check: func(t *Trial) { setsNoMoreWatches(t, waitOne) }},
		{Name: "connections reset, WaitAny", Needs: NeedLink | NeedResidue, Check: func(t *Trial) { setsNoMoreWatches(t, waitThree) }},
		{Name: "goroutines", Needs: NeedLink, Check: leavesNoWaitGoroutine},
	}
}

// What the cases of W6 make. What they allow to stay is as for V5.
const (
	waitRounds   = 3
	waitsAtATime = 40
	manyResets   = 30
)

// waiter begins the i-th of several waits for some of the nodes.
type waiter func(t *Trial, s driver.Session, nodes []driver.Node, i int) *waiting

func waitOne(t *Trial, s driver.Session, nodes []driver.Node, i int) *waiting {
	return t.startWait(s, nodes[i%len(nodes)])
}

// waitThree waits for three nodes, of which there are that many or more.
func waitThree(t *Trial, s driver.Session, nodes []driver.Node, i int) *waiting {
	i %= len(nodes) - 2
	return &t.startAny(s, nodes[i:i+3]...).waiting
}

// nodesToWaitFor makes nodes.
func (t *Trial) nodesToWaitFor(s driver.Session, count int) []driver.Node {
	nodes := make([]driver.Node, count)
	for i := range nodes {
		nodes[i] = t.Create(s, dir, fmt.Sprint(i))
	}
	return nodes
}

// waits begins so many waits, and gives them the time to be set.
func (t *Trial) waits(wait waiter, s driver.Session, nodes []driver.Node, count int) (all []*waiting) {
	for i := range count {
		all = append(all, wait(t, s, nodes, i))
	}
	t.pause()
	return all
}

func (t *Trial) cancelAll(all []*waiting) {
	for _, w := range all {
		w.cancel()
	}
	for _, w := range all {
		t.within(time.Second, w.done) // B1
	}
}

// leavesNoWatch starts and cancels many waits, on one node or on many.
func leavesNoWatch(t *Trial, wait waiter, count int) {
	owner, s := t.Session(), t.Session()
	nodes := t.nodesToWaitFor(owner, count)
	t.probe(s, owner, "0") // sets up what waits may share
	before := t.watchesNow()
	for range waitRounds {
		t.cancelAll(t.waits(wait, s, nodes, waitsAtATime))
	}
	t.noMoreWatches(before, sharedWatches, fmt.Sprintf("%d waits on %d nodes were canceled", waitRounds*waitsAtATime, count))
}

// leavesNoWatchUnbegun cancels waits as they begin.
func leavesNoWatchUnbegun(t *Trial, wait waiter) {
	owner, s := t.Session(), t.Session()
	nodes := t.nodesToWaitFor(owner, waitsAtATime)
	t.probe(s, owner, "0")
	before := t.watchesNow()
	for range waitRounds {
		var all []*waiting
		for i := range waitsAtATime {
			w := wait(t, s, nodes, i)
			w.cancel()
			all = append(all, w)
		}
		t.cancelAll(all)
	}
	t.noMoreWatches(before, sharedWatches, fmt.Sprintf("%d waits were canceled as they began", waitRounds*waitsAtATime))
}

// leavesNoWatchFrozen cancels waits when nobody can tell the store: some that were set
// before, and some whose requests are still on their way.
func leavesNoWatchFrozen(t *Trial, wait waiter) {
	c, l := t.OpenLink()
	owner, s := t.Session(), t.SessionOn(c)
	nodes := t.nodesToWaitFor(owner, waitsAtATime)
	t.probe(s, owner, "0")
	before := t.watchesNow()
	for range waitRounds {
		all := t.waits(wait, s, nodes, waitsAtATime/2)
		l.Freeze(netfault.Both)
		all = append(all, t.waits(wait, s, nodes, waitsAtATime/2)...)
		t.cancelAll(all)
		t.heal(l)
	}
	t.noMoreWatches(before, sharedWatches, fmt.Sprintf("%d waits were canceled over a frozen link", waitRounds*waitsAtATime))
}

// leavesNoneOfThree ends waits for three nodes by the deletion of one.
func leavesNoneOfThree(t *Trial) {
	owner, s := t.Session(), t.Session()
	stay := t.nodesToWaitFor(owner, 2)
	t.probe(s, owner, "0")
	before := t.watchesNow()
	for i := range waitsAtATime {
		goes := t.Create(owner, dir, fmt.Sprint("goes", i%4))
		w := t.waitAny(s, stay[0], goes, stay[1])
		t.Delete(owner, goes)
		if !t.within(t.patience(), w.done) {
			t.NotVerified("WaitAny has not returned after one of three nodes was deleted, which F2 is about")
		}
		w.cancel()
	}
	t.noMoreWatches(before, sharedWatches, fmt.Sprintf("%d calls of WaitAny for three nodes had ended", waitsAtATime))
}

// setsNoMoreWatches resets the connection again and again under waits, each of which
// has a watch for each of its nodes at the most. One that a reset ends is begun again.
func setsNoMoreWatches(t *Trial, wait waiter) {
	const count, nodesEach = 3, 3
	c, l := t.OpenLink()
	owner, s := t.Session(), t.SessionOn(c)
	nodes := t.nodesToWaitFor(owner, count+nodesEach)
	t.probe(s, owner, "0")
	before := t.watchesNow()
	all := t.waits(wait, s, nodes, count)
	latest := slices.Clone(all)
	for range manyResets {
		l.DropConnections()
		t.pause()
		for i, w := range latest {
			if ended(w.done) {
				latest[i] = wait(t, s, nodes, i)
				all = append(all, latest[i])
			}
		}
	}
	t.noMoreWatches(before, sharedWatches+count*nodesEach, fmt.Sprintf("%d resets of the connection under %d waits", manyResets, count))
	t.cancelAll(all)
	t.noMoreWatches(before, sharedWatches, fmt.Sprintf("%d waits, whose connection was reset again and again, were canceled", count))
}

// leavesNoWaitGoroutine counts goroutines by profiler labels, as leavesNoLoop does.
func leavesNoWaitGoroutine(t *Trial) {
	c, l := t.OpenLink()
	owner, s := t.Session(), t.SessionOn(c)
	nodes := t.nodesToWaitFor(owner, waitsAtATime)
	t.probe(s, owner, "0")
	name := t.labeled("waits", func() {
		all := t.waits(waitOne, s, nodes, waitsAtATime)
		if _, ok := driver.As[driver.AnyWaiter](s); ok {
			all = append(all, t.waits(waitThree, s, nodes, waitsAtATime)...)
		}
		for range 3 {
			l.DropConnections()
			t.pause()
		}
		t.cancelAll(all)
	})
	t.fewRun(name, sharedLoops, fmt.Sprintf("the end of %d waits and more", waitsAtATime))
}

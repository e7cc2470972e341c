package consul

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

func (f *fixture) fill(s driver.Session, dir string, n int) (nodes []driver.Node) {
	f.t.Helper()
	for i := range n {
		nodes = append(nodes, f.create(s, dir, fmt.Sprint(i)))
	}
	return nodes
}

// open queries and lines of a connection, once nothing changes any more.
func (f *fixture) wantIdle() {
	f.t.Helper()
	eventually(f.t, "no query is left", func() bool {
		h := f.watches
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.eyes == 0 && len(h.broad) == 0 && len(h.lines) == 0 && len(h.scans) == 0
	})
}

// brief makes queries lapse soon.
func brief() timing {
	t := defaultTiming
	t.watch.wait = 500 * time.Millisecond
	t.watch.later = 50 * time.Millisecond
	return t
}

func TestWaitsForAKeyShareAQuery(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	n := f.create(f.open(time.Minute), "d", "0")
	var waits []<-chan error
	counted := f.tap.during(func() {
		for range 50 {
			waits = append(waits, waiting(within(t), s, n), waiting(within(t), other, n))
		}
		f.eventuallyWaiting("d", len(waits)) // who comes after the deletion asks again
		f.eventuallyWatched(1)
		f.remove(n.Key)
		for _, w := range waits {
			must(t, receive(t, "a wait", w))
		}
	})
	wantSent(t, "100 waits", counted, sent{"watch": 1})
	f.wantIdle()
}

// A query is not canceled with its last wait, and the next wait finds it.
func TestQueriesLapse(t *testing.T) {
	f := startOn(t, single.Get(t), brief())
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	counted := f.tap.during(func() {
		for range 20 {
			ctx, cancel := context.WithCancel(within(t))
			wait := waiting(ctx, s, n)
			f.eventuallyWaiting("d", 1)
			cancel()
			wantIs(t, receive(t, "the wait", wait), context.Canceled)
		}
	})
	if n := counted["watch"]; n > 10 { // each lasts half a second
		t.Errorf("%d queries for waits one after the other", n)
	}
	f.wantIdle()
	f.eventuallyWatched(0)
}

// Many nodes of a directory cost few queries, whichever goes first.
func TestManyNodesOfADirectory(t *testing.T) {
	f := start(t)
	s, owner := f.open(time.Minute), f.open(time.Minute)
	const many = 60
	nodes := f.fill(owner, "d", many)
	waits := make([]<-chan error, many)
	for i, n := range nodes {
		waits[i] = waiting(within(t), s, n)
	}
	f.eventuallyWatched(maxLineEyes + 1)
	for i := range many { // from the front, from the back and from the middle in turns
		at := []int{i / 3, many - 1 - i/3, many/3 + i/3}[i%3]
		f.remove(nodes[at].Key)
		must(t, receive(t, "the wait", waits[at]))
	}
	if s := f.tap.state(); s.most > maxLineEyes+1+maxCalls {
		t.Errorf("%d connections", s.most)
	}
}

// A wait that joins when the directory is watched as a whole learns from the
// last answer what will be in no other.
func TestJoiningABroadQuery(t *testing.T) {
	f := start(t)
	s, owner := f.open(time.Minute), f.open(time.Minute)
	nodes := f.fill(owner, "d", maxLineEyes+2)
	stays, goes := nodes[:maxLineEyes+1], nodes[maxLineEyes+1]
	f.remove(goes.Key)
	for _, n := range stays {
		waiting(within(t), s, n)
	}
	f.eventuallyWatched(maxLineEyes + 1)
	f.wantAnswered("d")
	counted := f.tap.during(func() { must(t, s.WaitDelete(within(t), goes)) })
	wantSent(t, "a wait for what is known to be gone", counted, sent{})

	again := f.create(owner, "d", goes.ID)
	must(t, s.WaitDelete(within(t), goes))
	wait := waiting(within(t), s, again)
	f.remove(again.Key)
	must(t, receive(t, "the wait for the later one", wait))
}

// wantAnswered waits until the query for a directory has had an answer.
func (f *fixture) wantAnswered(dir string) {
	f.t.Helper()
	eventually(f.t, "the directory was seen", func() bool {
		f.watches.mu.Lock()
		defer f.watches.mu.Unlock()
		b := f.watches.broad[f.dir(dir)]
		return b != nil && b.seen != nil
	})
}

// An agent that does not answer a query when it should have lapsed is given up.
func TestQueryThatIsNotAnswered(t *testing.T) {
	timing := brief()
	timing.watch.wait, timing.watch.grace = 50*time.Millisecond, 100*time.Millisecond
	var asked atomic.Int32
	silent := posing(t, withSessions(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
	}))
	other := posing(t, withSessions(func(w http.ResponseWriter, _ *http.Request) { answerWith(w, 120) }))
	c, err := openWith(within(t), driver.Target{Hosts: []string{silent, other}, Namespace: "ns"}, timing)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	must(t, receive(t, "the wait", waiting(within(t), fakeSession(t, c), waitedFor("0", 100))))
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

package etcd

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
)

func wantSent(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: sent %v; want %v", what, got, want)
	}
}

type sent = map[string]int

func TestRoundTrips(t *testing.T) {
	f := start(t)
	f.waits.linger = patience
	s, other := f.open(time.Minute), f.open(time.Minute)
	var n driver.Node
	wantSent(t, "create", f.tap.during(func() { n = f.create(s, "d", "0") }), sent{"Txn": 1})
	wantSent(t, "update", f.tap.during(func() {
		_, err := s.Update(within(t), n, nil)
		must(t, err)
	}), sent{"Txn": 1})
	wantSent(t, "delete", f.tap.during(func() { must(t, s.Delete(within(t), n)) }), sent{"Txn": 1})
	wantSent(t, "list", f.tap.during(func() {
		_, err := s.List(within(t), "d")
		must(t, err)
	}), sent{"Range": 1})
	wantSent(t, "abandon", f.tap.during(func() { must(t, s.Abandon(within(t), "d", "0")) }), sent{"Txn": 1})

	f.create(other, "d", "0")
	var all []driver.Node
	wantSent(t, "create and list", f.tap.during(func() {
		var err error
		_, all, err = s.CreateList(within(t), "d", "0", nil)
		must(t, err)
	}), sent{"Txn": 1})
	wantSent(t, "the first wait in a line", f.tap.during(func() {
		wait := waiting(within(t), s, all[0])
		f.eventuallyOpen("d", 1)
		_, err := f.admin.Delete(within(t), all[0].Key)
		must(t, err)
		must(t, receive(t, "the wait", wait))
	}), sent{"Watch": 1, "Range": 1})
	wantSent(t, "wait for what is known to be gone", f.tap.during(func() {
		must(t, s.WaitDelete(within(t), all[0]))
	}), sent{})

	// The feed lingers: the next wait in line costs nothing at all, whoever
	// writes in the meantime.
	n = f.create(other, "d", "0")
	f.create(other, "e", "0")
	wantSent(t, "the next wait", f.tap.during(func() {
		wait := waiting(within(t), s, n)
		f.eventuallyOpen("d", 1)
		_, err := f.admin.Delete(within(t), n.Key)
		must(t, err)
		must(t, receive(t, "the wait", wait))
	}), sent{})
}

// All waits that begin together cost one watch and one read.
func TestOneReadServesAllWaits(t *testing.T) {
	f := start(t)
	f.wire.answer = patience // however long it takes until all wait
	s := f.open(time.Minute)
	var nodes []driver.Node
	for i := range 20 {
		nodes = append(nodes, f.create(s, "d", fmt.Sprint(i)))
	}
	var waits []<-chan error
	wantSent(t, "20 waits", f.tap.during(func() {
		release := f.tap.holdStreams()
		for _, n := range nodes {
			waits = append(waits, waiting(within(t), s, n))
		}
		eventually(t, "all wait", func() bool { return f.users("d") == len(nodes) })
		release()
		f.eventuallyOpen("d", 1)
	}), sent{"Watch": 1, "Range": 1})
	must(t, s.Close(within(t)))
	for _, w := range waits {
		wantIs(t, receive(t, "the wait", w), driver.ErrClosed)
	}
}

// openWatches is how many watches the server has open.
func openWatches(t testing.TB, m *testserver.EtcdMember) int {
	t.Helper()
	resp, err := http.Get(m.Endpoint() + "/metrics")
	must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	http.DefaultClient.CloseIdleConnections()
	found := watcherTotal.FindSubmatch(text)
	if found == nil {
		t.Fatal("the metrics do not tell the number of watchers")
	}
	n, err := strconv.Atoi(string(found[1]))
	must(t, err)
	return n
}

func TestThousandWaitsAreOneWatch(t *testing.T) {
	f := start(t)
	member := single.Get(t).Member(0)
	eventually(t, "no watches of earlier tests", func() bool { return openWatches(t, member) == 0 })
	s, other := f.open(time.Minute), f.open(time.Minute)
	const many = 1000
	var nodes []driver.Node
	for i := range many / 2 {
		nodes = append(nodes, f.create(s, "d", fmt.Sprint(i)), f.create(other, "d", fmt.Sprint(i)))
	}

	// Each for a node of its own, and each for one that is common to all.
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			w := driver.Session(s)
			if i%2 == 0 {
				w = other
			}
			if err := w.WaitDelete(within(t), n); err != nil {
				t.Errorf("wait for %s: %v", n.Key, err)
			}
			if err := w.WaitDelete(within(t), nodes[many-1]); err != nil {
				t.Errorf("wait for the last: %v", err)
			}
		})
	}
	eventually(t, "all wait", func() bool { return f.users("d") == many })
	f.eventuallyOpen("d", 1)
	if n := openWatches(t, member); n != 1 {
		t.Errorf("%d watches for %d waits", n, many)
	}
	for _, n := range nodes {
		must(t, s.Delete(within(t), n))
	}
	wg.Wait()
	eventually(t, "no watch", func() bool { return openWatches(t, member) == 0 })
	eventually(t, "no feed", func() bool { return f.users("d") < 0 })
}

// Waiting for any of many nodes costs no goroutine beside the caller's.
func TestWaitAnyOfManyCostsNoGoroutines(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	var nodes []driver.Node
	for i := range 200 {
		nodes = append(nodes, f.create(s, "d", fmt.Sprint(i)))
	}
	first := waiting(within(t), s, nodes[0]) // opens the feed
	f.eventuallyOpen("d", 1)
	before := runtime.NumGoroutine()
	done := make(chan int, 1)
	go func() {
		i, _ := s.WaitAny(within(t), nodes[1:])
		done <- i
	}()
	eventually(t, "both wait", func() bool { return f.users("d") == 2 })
	f.eventuallyOpen("d", 1)
	if more := runtime.NumGoroutine() - before; more > 10 {
		t.Errorf("%d goroutines more for one wait", more)
	}
	must(t, s.Delete(within(t), nodes[100]))
	if i := receive(t, "the wait", done); i != 99 {
		t.Errorf("told of index %d; want 99", i)
	}
	must(t, s.Delete(within(t), nodes[0]))
	must(t, receive(t, "the wait", first))
}

// Watches of many directories share a stream, and go with their waits.
func TestManyDirectoriesShareAStream(t *testing.T) {
	f := start(t)
	member := single.Get(t).Member(0)
	eventually(t, "no watches of earlier tests", func() bool { return openWatches(t, member) == 0 })
	s := f.open(time.Minute)
	const many = 50
	var nodes []driver.Node
	for i := range many {
		nodes = append(nodes, f.create(s, fmt.Sprint("d", i), "0"))
	}
	waits := make([]<-chan error, many)
	got := f.tap.during(func() {
		for i, n := range nodes {
			waits[i] = waiting(within(t), s, n)
		}
		for _, n := range nodes {
			f.eventuallyOpen(n.Dir, 1)
		}
	})
	if got["Watch"] != 1 {
		t.Errorf("%d streams", got["Watch"])
	}
	if n := openWatches(t, member); n != many {
		t.Errorf("%d watches; want %d", n, many)
	}
	for i, n := range nodes[1:] {
		must(t, s.Delete(within(t), n))
		must(t, receive(t, "the wait", waits[1+i]))
	}
	// One is still needed: the others are ended one by one.
	eventually(t, "one watch", func() bool { return openWatches(t, member) == 1 })
	pendingStill(t, waits[0])
	must(t, s.Delete(within(t), nodes[0]))
	must(t, receive(t, "the wait", waits[0]))
	eventually(t, "no watch", func() bool { return openWatches(t, member) == 0 })
}

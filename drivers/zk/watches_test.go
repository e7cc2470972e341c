package zk

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// watched is how many watches the servers have, for all their clients.
func (f *fixture) watched() int {
	f.t.Helper()
	n, err := watchCount(within(f.t), f.zk)
	must(f.t, err)
	return n
}

func (h *watches) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.paths)
}

func TestWaitsShareAWatch(t *testing.T) {
	f := start(t)
	eventually(t, "no watches of earlier tests", func() bool { return f.watched() == 0 })
	s := f.open(long)
	n := f.create(s, "d", "0")
	ctx, cancel := context.WithCancel(within(t))
	var waits []<-chan error
	var goroutines int
	got := f.tap.during(func() {
		for i := range 100 {
			waits = append(waits, waiting(ctx, s, n))
			if i == 0 {
				f.eventuallyArmed(s, n)
				goroutines = runtime.NumGoroutine()
			}
		}
		eventually(t, "all wait", func() bool {
			s.link.watches.mu.Lock()
			defer s.link.watches.mu.Unlock()
			return len(s.link.watches.paths[n.Key].users) == 100
		})
	})
	wantSent(t, "100 waits", got, sent{"watch": 1})
	if w := f.watched(); w != 1 {
		t.Errorf("the server has %d watches", w)
	}
	if more := runtime.NumGoroutine() - goroutines; more > 120 {
		t.Errorf("%d goroutines for 99 waits", more)
	}
	cancel()
	for _, w := range waits {
		wantIs(t, receive(t, "the wait", w), context.Canceled)
	}
	// It stays for whoever comes soon, and is then taken back.
	again := waiting(within(t), s, n)
	must(t, s.Delete(within(t), n))
	must(t, receive(t, "the wait", again))
	if got := s.link.watches.size(); got != 0 {
		t.Errorf("%d watches are remembered", got)
	}
}

func TestWatchesAreTakenBack(t *testing.T) {
	f := start(t)
	eventually(t, "no watches of earlier tests", func() bool { return f.watched() == 0 })
	s := f.open(long)
	ctx, cancel := context.WithCancel(within(t))
	var nodes []driver.Node
	var waits []<-chan error
	for i := range 30 {
		nodes = append(nodes, f.create(s, "d", fmt.Sprint(i)))
		waits = append(waits, waiting(ctx, s, nodes[i]))
	}
	f.eventuallyArmed(s, nodes...)
	if w := f.watched(); w != len(nodes) {
		t.Errorf("the server has %d watches; want %d", w, len(nodes))
	}
	still := waiting(within(t), s, nodes[7])
	cancel()
	for _, w := range waits {
		wantIs(t, receive(t, "the wait", w), context.Canceled)
	}
	eventually(t, "one watch", func() bool { return f.watched() == 1 && s.link.watches.size() == 1 })
	pendingStill(t, still)
	// And can be set again.
	again := waiting(within(t), s, nodes[3])
	f.eventuallyArmed(s, nodes[3])
	must(t, s.Delete(within(t), nodes[3]))
	must(t, receive(t, "the wait", again))
	must(t, s.Delete(within(t), nodes[7]))
	must(t, receive(t, "the other wait", still))
}

// Waits begin and end while their watches are taken back and the connection is
// lost: waits for one node, and for several, whose watches are asked for together.
func TestWatchesUnderChanges(t *testing.T) {
	f := start(t)
	s := f.open(long)
	s.link.watches.linger = 1 // nanosecond
	nodes := []driver.Node{f.create(s, "d", "0"), f.create(s, "d", "1"), f.create(s, "d", "2")}
	begin := func(ctx context.Context, nodes []driver.Node) <-chan error {
		ended := make(chan error, 1)
		go func() {
			i, err := s.WaitAny(ctx, nodes)
			if err == nil && i != len(nodes)-1 {
				t.Errorf("a wait for %d nodes was told of the one with index %d", len(nodes), i)
			}
			ended <- err
		}()
		return ended
	}
	stop := make(chan struct{})
	all := within(t) // one for all: a context is kept until the test ends
	var waiters sync.WaitGroup
	for i := range 9 {
		some := nodes[:1+i%3]
		waiters.Go(func() {
			for {
				ctx, cancel := context.WithCancel(all)
				wait := begin(ctx, some)
				runtime.Gosched()
				cancel()
				if err := <-wait; err == nil {
					t.Errorf("a wait for what stands returned nil")
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 20 {
		w := s.link.current()
		w.drop()
		eventually(t, "another connection", func() bool { return s.link.current() != w && isUp(s.link) })
	}
	close(stop)
	waiters.Wait()
	last := begin(within(t), nodes)
	f.eventuallyArmed(s, nodes...)
	must(t, f.admin.Delete(nodes[2].Key, -1))
	must(t, receive(t, "the last wait", last))
}

// A node that is deleted while there is no connection.
func TestDeletedInTheGap(t *testing.T) {
	f, g := linked(t)
	s := f.open(long)
	var nodes []driver.Node
	var waits []<-chan error
	for i := range 20 {
		nodes = append(nodes, f.create(s, "d", fmt.Sprint(i)))
		waits = append(waits, waiting(within(t), s, nodes[i]))
	}
	f.eventuallyArmed(s, nodes...)
	g.Cut()
	eventually(t, "the connection is lost", func() bool { return !isUp(s.link) })
	for i := 0; i < 20; i += 2 {
		must(t, f.admin.Delete(nodes[i].Key, -1))
	}
	must(t, g.Heal())
	for i := 0; i < 20; i += 2 {
		must(t, receive(t, "the wait", waits[i]))
	}
	f.eventuallyArmed(s, nodes[1], nodes[19])
	for i := 1; i < 20; i += 2 {
		pendingStill(t, waits[i])
		must(t, f.admin.Delete(nodes[i].Key, -1))
		must(t, receive(t, "the wait", waits[i]))
	}
}

// Of what is not the session's that its name tells, a wait says that it is no
// node, also while its watch still stands.
func TestWaitForWhatIsForeign(t *testing.T) {
	f := start(t)
	s := f.open(long)
	own := f.create(s, "d", "own")
	forged := driver.Node{Dir: "d", Key: f.dir("d") + "/0123456789abcdef-0-1-0000000099"}
	_, err := f.admin.Create(forged.Key, nil, 0, f.acl)
	must(t, err)
	for range 2 {
		must(t, s.WaitDelete(within(t), forged))
		for i, nodes := range [][]driver.Node{{forged, own}, {own, forged}} {
			if told, err := s.WaitAny(within(t), nodes); err != nil || told != i {
				t.Errorf("told of %d, %v; want %d", told, err, i)
			}
		}
	}
	if n := f.tap.sent()["watch"]; n != 2 {
		t.Errorf("%d watches were asked for; want 2", n)
	}
	for i := range 5 { // other than nodes, it can have children
		_, err := f.admin.Create(fmt.Sprint(forged.Key, "/", i), nil, 0, f.acl)
		must(t, err)
		must(t, s.WaitDelete(within(t), forged))
	}
	must(t, removeAll(f.admin, forged.Key))
	must(t, s.WaitDelete(within(t), forged))
}

func TestWaitsThatAreRefused(t *testing.T) {
	f := start(t)
	s := f.open(long)
	n := f.create(s, "d", "0")
	for _, nodes := range [][]driver.Node{
		{}, {{Dir: "d", Key: "x"}}, {{Dir: "e", Key: n.Key}}, {n, {Dir: "e", Key: f.dir("e") + n.Key[len(f.dir("d")):]}},
		{{Dir: "d", Key: f.dir("d") + "/lock-0000000001"}},
	} {
		_, err := s.WaitAny(within(t), nodes)
		wantIs(t, err, driver.ErrInvalid)
	}
	_, err := s.Update(within(t), driver.Node{Dir: "d", Key: f.dir("d")}, nil)
	wantIs(t, err, driver.ErrInvalid)
	wantIs(t, s.Delete(within(t), driver.Node{Dir: "d", Key: "/zookeeper"}), driver.ErrInvalid)
}

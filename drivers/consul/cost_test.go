package consul

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

type sent = map[string]int

func wantSent(t *testing.T, what string, got, want sent) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: sent %v; want %v", what, got, want)
	}
}

func TestRoundTrips(t *testing.T) {
	f := start(t)
	var s *session
	wantSent(t, "open", f.tap.during(func() { s = f.open(time.Minute) }), sent{"session create": 1})
	other := f.open(time.Minute)
	var n driver.Node
	wantSent(t, "create", f.tap.during(func() { n = f.create(s, "d", "0") }), sent{"write": 1})
	first := n
	for range 2 { // with a node that is up to date and with one that is not
		wantSent(t, "update", f.tap.during(func() {
			var err error
			n, err = s.Update(within(t), first, nil)
			must(t, err)
		}), sent{"write": 1})
	}
	wantSent(t, "list with own nodes", f.tap.during(func() { f.wantListed(s, n) }), sent{"read": 1})
	wantSent(t, "list without own nodes", f.tap.during(func() { f.wantListed(other, n) }), sent{"read": 1})
	wantSent(t, "delete", f.tap.during(func() { must(t, s.Delete(within(t), n)) }), sent{"write": 1})
	wantSent(t, "abandon", f.tap.during(func() { must(t, s.Abandon(within(t), "d", "0")) }), sent{"write": 1})

	ahead := f.create(other, "d", "0")
	wantSent(t, "create and list", f.tap.during(func() {
		_, all, err := s.CreateList(within(t), "d", "0", nil)
		must(t, err)
		if len(all) != 2 {
			t.Errorf("listed %+v", all)
		}
	}), sent{"write": 1})
	wantSent(t, "handoff from the head of the line", f.tap.during(func() {
		own := f.joins(s, "handoff", f.create(other, "handoff", "0"))
		f.wantHandoff(s, own, func(ahead driver.Node) { f.remove(ahead.Key) })
	}), sent{"write": 2, "watch": 1})
	wantSent(t, "handoff otherwise", f.tap.during(func() {
		head := f.create(other, "line", "0")
		own := f.joins(s, "line", head, f.create(other, "line", "1"))
		f.remove(head.Key)
		f.wantHandoff(s, own, func(ahead driver.Node) { f.remove(ahead.Key) })
		nodes, err := s.List(within(t), "line")
		must(t, err)
		if len(nodes) != 1 || !nodes[0].Same(own[0]) {
			t.Errorf("listed %+v", nodes)
		}
	}), sent{"write": 3, "watch": 1, "read": 1})
	wantSent(t, "wait", f.tap.during(func() {
		wait := waiting(within(t), s, ahead)
		f.eventuallyWatched(1)
		f.remove(ahead.Key)
		must(t, receive(t, "the wait", wait))
	}), sent{"watch": 1})
	wantSent(t, "wait for what is gone", f.tap.during(func() { must(t, s.WaitDelete(within(t), ahead)) }), sent{"watch": 1})
	wantSent(t, "close", f.tap.during(func() { must(t, s.Close(within(t))) }), sent{"session destroy": 1, "session info": 1})
}

// joins makes a node behind others and returns it with the one before it.
func (f *fixture) joins(s *session, dir string, line ...driver.Node) []driver.Node {
	f.t.Helper()
	own, all, err := s.CreateList(within(f.t), dir, "0", nil)
	must(f.t, err)
	if len(all) != len(line)+1 {
		f.t.Fatalf("listed %+v; want %+v before", all, line)
	}
	return []driver.Node{own, all[len(line)-1]}
}

// wantHandoff waits until the node before one's own is removed.
func (f *fixture) wantHandoff(s *session, own []driver.Node, remove func(ahead driver.Node)) {
	f.t.Helper()
	done := make(chan error, 1)
	go func() {
		i, err := s.WaitAny(within(f.t), own)
		if err == nil && i != 1 {
			err = fmt.Errorf("told of index %d", i)
		}
		done <- err
	}()
	f.eventuallyWatched(1)
	remove(own[1])
	must(f.t, receive(f.t, "the handoff", done))
}

// cycle takes a place in a line and leaves it.
func (f *fixture) cycle(s *session, dir string) (n driver.Node, took time.Duration) {
	f.t.Helper()
	start := time.Now()
	n, all, err := s.CreateList(within(f.t), dir, "0", nil)
	must(f.t, err)
	if len(all) != 1 {
		f.t.Fatalf("listed %+v", all)
	}
	must(f.t, s.Delete(within(f.t), n))
	return n, time.Since(start)
}

// The tokens are the indexes of Raft's log: two entries make a cycle. What else
// the server writes into its log is little.
func TestRaftEntries(t *testing.T) {
	f := startOn(t, standard.Get(t))
	s := f.open(time.Minute)
	const cycles = 500
	first, _ := f.cycle(s, "d")
	var last driver.Node
	for range cycles {
		last, _ = f.cycle(s, "d")
	}
	if entries := last.Token - first.Token; entries > 2*cycles+cycles/10 {
		t.Errorf("%d cycles took %d entries", cycles, entries)
	}
}

// Names are used again, so that a lock that was used ten thousand times is as
// quick as one that never was: deleted names stay in the store for a quarter of
// an hour.
func TestUsedLocksStayQuick(t *testing.T) {
	f := startOn(t, standard.Get(t))
	s := f.open(time.Minute)
	var using sync.WaitGroup
	for slot := range 8 { // at a time, so that it does not take that long
		using.Go(func() {
			for range 9_000 / 8 {
				n, err := s.Create(t.Context(), "used", fmt.Sprint(slot), nil)
				if err == nil {
					err = s.Delete(t.Context(), n)
				}
				if err != nil {
					t.Errorf("a cycle: %v", err)
					return
				}
			}
		})
	}
	using.Wait()
	const cycles = 1000
	var used, fresh []time.Duration
	for i := range cycles { // in turns, as other things go on as well
		_, took := f.cycle(s, "used")
		used = append(used, took)
		_, took = f.cycle(s, fmt.Sprint("fresh", i))
		fresh = append(fresh, took)
	}
	slices.Sort(used)
	slices.Sort(fresh)
	if u, n := used[cycles/2], fresh[cycles/2]; u > n*3/2 {
		t.Errorf("a used lock takes %v, a fresh one %v", u, n)
	}
}

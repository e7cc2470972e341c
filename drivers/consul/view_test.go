package consul

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

// viewer ranges over a Watch and keeps what it shows.
type viewer struct {
	t      testing.TB
	states chan []driver.Node
	err    error
	ended  chan struct{} // closed when the sequence has; err is set before
}

// viewing begins to watch, until ctx or the connection ends.
func viewing(ctx context.Context, t testing.TB, c *conn, dir string) *viewer {
	v := &viewer{t: t, states: make(chan []driver.Node, 10_000), ended: make(chan struct{})}
	go func() {
		defer close(v.ended)
		for nodes, err := range c.Watch(ctx, dir) {
			if err != nil {
				v.err = err
				continue // there is to be nothing after it
			}
			if v.err != nil {
				t.Errorf("shows %+v after the error %v", nodes, v.err)
			}
			v.states <- nodes
		}
	}()
	return v
}

// until takes states until one holds what is wanted.
func (v *viewer) until(what string, holds func(nodes []driver.Node) bool) (nodes []driver.Node) {
	v.t.Helper()
	for deadline := time.After(patience); ; {
		select {
		case nodes = <-v.states:
			if holds(nodes) {
				return nodes
			}
		case <-v.ended:
			if len(v.states) > 0 { // shown before, and taken in one of the next rounds
				continue
			}
			v.t.Fatalf("the watch has ended, with %v; want %s", v.err, what)
		case <-deadline:
			v.t.Fatalf("not within %v: %s; the last state is %+v", patience, what, nodes)
		}
	}
}

// shows waits until just these nodes are shown, with their data.
func (v *viewer) shows(what string, want ...driver.Node) {
	v.t.Helper()
	v.until(what, func(nodes []driver.Node) bool {
		return slices.EqualFunc(nodes, want, func(n, m driver.Node) bool { return n.Same(m) && string(n.Data) == string(m.Data) })
	})
}

// ends waits for the end of the sequence.
func (v *viewer) ends(want error) {
	v.t.Helper()
	receive(v.t, "the end of the watch", v.ended)
	wantIs(v.t, v.err, want)
}

// V1: every kind of change, whoever makes it.
func TestWatchShowsEveryChange(t *testing.T) {
	f := start(t)
	a, b := f.open(time.Minute), f.open(time.Minute)
	v := viewing(within(t), t, f.conn, "d")
	v.shows("an empty directory")
	n := f.create(a, "d", "0")
	v.shows("a node was created", n)
	m := f.create(b, "d", "0")
	f.create(b, "d2", "0") // elsewhere
	v.shows("another", n, m)
	n, err := a.Update(within(t), n, []byte("new"))
	must(t, err)
	v.shows("one was updated", n, m)
	must(t, a.Delete(within(t), n))
	v.shows("one was deleted", m)
	again := f.create(a, "d", "0")
	v.shows("its slot is used again", m, again)
	_, err = f.admin.KV().Put(&api.KVPair{Key: f.dir("d") + "readme"}, nil)
	must(t, err)
	f.remove(again.Key)
	v.shows("an operator deleted one, and left a note", m)
	must(t, b.Close(within(t)))
	v.shows("the session was closed")
	nodes := f.fill(a, "d", 3)
	v.shows("three nodes", nodes...)
	kv, _, err := f.admin.KV().Get(nodes[1].Key, nil)
	must(t, err)
	_, _, err = f.admin.KV().Release(kv, nil)
	must(t, err)
	v.shows("one was set free", nodes[0], nodes[2])
	_, err = f.admin.KV().DeleteTree(f.dir("d"), nil)
	must(t, err)
	v.shows("all were deleted together")
	nodes = f.fill(a, "d", 2)
	v.shows("two nodes", nodes...)
	f.destroySession(a.ID())
	v.shows("an operator destroyed the session")
}

// Consul says nothing of a tree that is deleted from further up, if something
// was deleted in it before.
func TestWatchOfATreeDeletedFromAbove(t *testing.T) {
	f := startOn(t, single.Get(t))
	s := f.open(time.Minute)
	must(t, s.Delete(within(t), f.create(s, "d", "0")))
	n := f.create(s, "d", "1")
	v := viewing(within(t), t, f.conn, "d")
	v.shows("the node", n)
	f.eventuallyWatched(1)
	_, err := f.admin.KV().DeleteTree(string(f.keyspace), nil)
	must(t, err)
	v.shows("it is gone")
	n = f.create(s, "d", "1")
	v.shows("the next one", n)
}

// V1, L5: the first state holds what was acknowledged to anybody, also where the
// directory is being watched already.
func TestWatchBeginsUpToDate(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	for round := range 40 {
		if round == 20 {
			viewing(t.Context(), t, f.conn, "d").until("anything", func([]driver.Node) bool { return true })
		}
		n := f.create(s, "d", "0")
		wantFirst(t, f.conn, "d", n)
		must(t, s.Delete(within(t), n))
		wantFirst(t, f.conn, "d")
	}
}

func wantFirst(t *testing.T, c *conn, dir string, want ...driver.Node) {
	t.Helper()
	for nodes, err := range c.Watch(within(t), dir) {
		must(t, err)
		if !slices.EqualFunc(nodes, want, driver.Node.Same) {
			t.Fatalf("shows %+v first; want %+v", nodes, want)
		}
		break
	}
}

// V2: an answer that is on its way while a later state is read is not shown after it.
func TestWatchJoinsALateAnswer(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	early := viewing(within(t), t, f.conn, "d")
	early.shows("an empty directory")
	f.eventuallyWatched(1)
	late := f.tap.holdReply("watch")
	n := f.create(s, "d", "0")
	receive(t, "the answer", late.caught)
	m := f.create(s, "d", "1")
	joined := viewing(within(t), t, f.conn, "d")
	if first := receive(t, "the first state", joined.states); len(first) != 2 {
		t.Fatalf("shows %+v first", first)
	}
	late.free()
	early.shows("both nodes", n, m)
	o := f.create(s, "d", "2")
	joined.until("the third, and never one only", func(nodes []driver.Node) bool {
		if len(nodes) < 2 {
			t.Errorf("shows %+v after two nodes", nodes)
		}
		return len(nodes) == 3 && nodes[2].Same(o)
	})
}

// V2: whoever watches, for however long, sees a counter rise only, and its end.
func TestWatchNeverGoesBack(t *testing.T) {
	t.Parallel()
	f := startOn(t, triple.Get(t))
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	const last = 100
	var viewers sync.WaitGroup
	done := make(chan struct{})
	for i := range 8 {
		viewers.Go(func() {
			seen := 0
			for seen < last {
				count := 0
				for nodes, err := range f.Watch(t.Context(), "d") {
					if err != nil || len(nodes) == 0 {
						t.Errorf("shows %+v, %v", nodes, err)
						return
					}
					at, _ := strconv.Atoi(string(nodes[len(nodes)-1].Data))
					if at < seen {
						t.Errorf("shows %d after %d", at, seen)
					}
					seen = max(seen, at)
					if count++; seen == last || i%2 == 0 && count == 5 { // and begins anew
						break
					}
				}
			}
		})
	}
	go func() { viewers.Wait(); close(done) }()
	for i := range last {
		var err error
		data := []byte(strconv.Itoa(i + 1))
		if i%10 == 9 { // made anew, in another slot, before the old one goes
			old := n
			n, err = s.Create(within(t), "d", strconv.Itoa(i%20), data)
			must(t, err)
			must(t, s.Delete(within(t), old))
		} else {
			n, err = s.Update(within(t), n, data)
			must(t, err)
		}
	}
	receive(t, "all see the last", done)
}

func (f *fixture) fill(s driver.Session, dir string, n int) (nodes []driver.Node) {
	f.t.Helper()
	for i := range n {
		nodes = append(nodes, f.create(s, dir, fmt.Sprint(i)))
	}
	return nodes
}

package etcd

import (
	"context"
	"fmt"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/coordkit/coordkit/coord/driver"
)

// gather has a directory crowded with nodes of one session, as another's connection
// sees it.
func gather(t *testing.T, timing timing) (f *fixture, s *session, nodes []driver.Node) {
	t.Helper()
	f = startOn(t, single.Get(t).ClientConfig(), single.Get(t).ClientConfig(), timing)
	s = f.open(time.Minute)
	other := f.open(time.Minute)
	for i := range 2*crowd + 1 {
		nodes = append(nodes, f.create(other, "d", fmt.Sprint(i)))
	}
	_, err := s.List(within(t), "d")
	must(t, err)
	return f, s, nodes
}

// ranges are the ranges of directories that were asked for, in transactions too, and
// how many of them by keys alone.
type ranges struct{ all, keys int }

func (f *fixture) ranges(do func()) (r ranges) {
	f.t.Helper()
	take := func(ask *pb.RangeRequest) {
		if ask == nil || len(ask.RangeEnd) == 0 {
			return
		}
		r.all++
		if ask.KeysOnly {
			r.keys++
		}
	}
	f.tap.intercept(func(c call) error {
		switch req := c.req.(type) {
		case *pb.RangeRequest:
			take(req)
		case *pb.TxnRequest:
			for _, o := range req.Success {
				take(o.GetRequestRange())
			}
		}
		return c.pass(c.ctx)
	})
	defer f.tap.intercept(nil)
	do()
	return r
}

func (f *fixture) listNames(s *session) (nodes []driver.Node) {
	f.t.Helper()
	nodes, err := s.ListNames(within(f.t), "d")
	must(f.t, err)
	return nodes
}

func wantNodes(t *testing.T, what string, got, want []driver.Node) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d nodes, want %d", what, len(got), len(want))
	}
	for i, n := range got {
		if w := want[i]; !n.Same(w) || n.Session != w.Session || n.ID != w.ID || n.Seq != w.Seq || n.Dir != w.Dir {
			t.Errorf("%s: %+v, want %+v", what, n, w)
		}
	}
}

// A crowd is listed by keys, and what is no crowd in full.
func TestCrowdByKeys(t *testing.T) {
	f, s, nodes := gather(t, defaultTiming)
	for len(nodes) > 0 {
		want := ranges{2, 2}
		if len(nodes) < crowd {
			want.keys = 0
		}
		got := f.ranges(func() {
			wantNodes(t, "ListNames", f.listNames(s), nodes)
			n, all, err := s.CreateNames(within(t), "d", "own", []byte("own"))
			must(t, err)
			if string(n.Data) != "own" {
				t.Errorf("created with %q", n.Data)
			}
			wantNodes(t, "CreateNames", all, append(nodes[:len(nodes):len(nodes)], n))
			must(t, s.Delete(within(t), n))
		})
		if got != want {
			t.Errorf("of %d nodes: asked for %+v, want %+v", len(nodes), got, want)
		}
		for range min(crowd, len(nodes)) {
			f.deleteKey(nodes[0].Key)
			nodes = nodes[1:]
		}
		_, err := s.List(within(t), "d")
		must(t, err)
	}
}

// Updated nodes are nodes.
func TestCrowdOfUpdated(t *testing.T) {
	f, s, nodes := gather(t, defaultTiming)
	for _, n := range nodes[:3] {
		_, err := s.Update(within(t), n, []byte("b"))
		must(t, err)
	}
	if got := f.ranges(func() { wantNodes(t, "ListNames", f.listNames(s), nodes) }); got != (ranges{1, 1}) {
		t.Errorf("asked for %+v, want one of keys", got)
	}
}

// What only looks like a node may be listed by its key. Who waits for it is told, and
// then it is not.
func TestCrowdWithAStranger(t *testing.T) {
	timing := defaultTiming
	timing.feeds.prove, timing.feeds.tick, timing.feeds.linger = 20*time.Millisecond, 5*time.Millisecond, patience
	timing.feeds.verify = time.Hour // by which it would be found out, too
	for name, c := range map[string]struct {
		before func(f *fixture, s *session, n driver.Node) // makes the watch that tells of n or of all
		with   func(strange, own driver.Node) []driver.Node
	}{
		"watched anew": {
			before: func(*fixture, *session, driver.Node) {},
			with:   func(strange, _ driver.Node) []driver.Node { return []driver.Node{strange} },
		},
		"watched by its key": {
			before: func(f *fixture, s *session, n driver.Node) {
				wait := waiting(within(f.t), s, n)
				eventually(f.t, "the key is watched", func() bool {
					f.feeds.mu.Lock()
					defer f.feeds.mu.Unlock()
					k := f.feeds.all[spanOf(n.Key)]
					return k != nil && k.open && !k.reading
				})
				f.deleteKey(n.Key)
				must(f.t, receive(f.t, "the wait", wait))
			},
			with: func(strange, _ driver.Node) []driver.Node { return []driver.Node{strange} },
		},
		"watched with the directory": {
			before: func(f *fixture, s *session, n driver.Node) {
				own := f.create(s, "d", "own")
				ctx, leave := context.WithCancel(within(f.t))
				both := make(chan error, 1)
				go func() {
					_, err := s.WaitAny(ctx, []driver.Node{own, n})
					both <- err
				}()
				f.eventuallyOpen("d")
				f.t.Cleanup(func() { leave(); <-both })
				f.deleteKey(n.Key)
			},
			with: func(strange, own driver.Node) []driver.Node { return []driver.Node{own, strange} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, s, nodes := gather(t, timing)
			c.before(f, s, nodes[0])
			f.deleteKey(nodes[0].Key)
			_, err := f.admin.Put(within(t), nodes[0].Key, "by hand")
			must(t, err)
			defer f.deleteKey(nodes[0].Key)
			var strange driver.Node
			for _, n := range f.listNames(s) {
				if n.Key == nodes[0].Key {
					strange = n
				}
			}
			if strange.Key == "" {
				t.Fatal("this server tells of leases; the test needs one that does not")
			}
			own := f.create(s, "d", "own")
			waitFor := c.with(strange, own)
			told := make(chan error, 1)
			go func() {
				i, err := s.WaitAny(within(t), waitFor)
				if err == nil && i != len(waitFor)-1 {
					err = fmt.Errorf("told of node %d", i)
				}
				told <- err
			}()
			must(t, receive(t, "the wait", told))
			for range 2 {
				for _, n := range f.listNames(s) {
					if n.Key == nodes[0].Key {
						t.Error("it is listed still")
					}
				}
			}
		})
	}
}

// If one key tells its lease, those without have none.
func TestGuess(t *testing.T) {
	f := new(conn)
	f.keyspace = "ns"
	key := func(n int64) []byte { return []byte(f.node("d", n, "0")) }
	for name, c := range map[string]struct {
		leases  []int64
		guessed bool
		nodes   int
	}{
		"nothing":                  {nil, false, 0},
		"none tells its lease":     {[]int64{0, 0, 0}, true, 3},
		"one does, and is a node":  {[]int64{0, 2, 0}, false, 1},
		"one does, and is no node": {[]int64{0, 5, 0}, false, 0},
	} {
		var kvs []*mvccpb.KeyValue
		for i, lease := range c.leases {
			kvs = append(kvs, &mvccpb.KeyValue{Key: key(int64(i + 1)), Lease: lease, CreateRevision: int64(10 + i)})
		}
		guessed := guess(kvs)
		if nodes := f.nodes("d", kvs, 20); guessed != c.guessed || len(nodes) != c.nodes {
			t.Errorf("%s: %v, %d nodes; want %v, %d", name, guessed, len(nodes), c.guessed, c.nodes)
		}
	}
}

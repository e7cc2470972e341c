package sabotage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

func orderSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "counter-wraps", Breaks: "O1",
			Doc:   "Seq is the store's 32-bit counter as it is, which wraps. (kazoo#606, #730, #731: at 2147483647 the newcomer acquires.)",
			Apply: wrapCounter,
		},
		{
			Name: "late-comers-clock", Breaks: "O1",
			Doc:   "Seq comes from the clients' clocks, and the third client's is slow.",
			Apply: slowThird(func(n *driver.Node) *uint64 { return &n.Seq }),
		},
		{
			Name: "late-comers-token", Breaks: "O2",
			Doc:   "Token comes from the clients' clocks likewise. (Timestamps as fencing tokens.)",
			Apply: slowThird(func(n *driver.Node) *uint64 { return &n.Token }),
		},
		{
			Name: "token-restarts", Breaks: "O2",
			Doc:   "Token is a counter of the directory, which starts anew with it. (ZooKeeper's sequence numbers.)",
			Apply: restartToken,
		},
	}
}

// mapped passes each node that leaves the driver through out, and each that
// comes in through in.
func mapped(h conformance.Harness, out, in func(namespace string, n driver.Node) driver.Node) conformance.Harness {
	return onConn(h, func(c *conn) {
		outAll := func(nodes []driver.Node) []driver.Node {
			all := make([]driver.Node, len(nodes))
			for i, n := range nodes {
				all[i] = out(c.namespace, n)
			}
			return all
		}
		c.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
			nodes, err := c.Conn.List(ctx, dir)
			return outAll(nodes), err
		}
		c.states(func(*loop) func([]driver.Node) [][]driver.Node {
			return func(nodes []driver.Node) [][]driver.Node { return [][]driver.Node{outAll(nodes)} }
		})
		c.sessions(func(s *session) {
			s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
				nodes, err := s.Session.List(ctx, dir)
				return outAll(nodes), err
			}
			s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
				n, err := s.Session.Create(ctx, dir, id, data)
				return out(c.namespace, n), err
			}
			s.createList = func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
				n, nodes, err := optional[driver.CreateLister](s.Session).CreateList(ctx, dir, id, data)
				return out(c.namespace, n), outAll(nodes), err
			}
			s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
				n, err := s.Session.Update(ctx, in(c.namespace, n), data)
				return out(c.namespace, n), err
			}
			s.remove = func(ctx context.Context, n driver.Node) error { return s.Session.Delete(ctx, in(c.namespace, n)) }
			s.wait = func(ctx context.Context, n driver.Node) error {
				return s.Session.WaitDelete(ctx, in(c.namespace, n))
			}
			s.waitAny = func(ctx context.Context, nodes []driver.Node) (int, error) {
				all := make([]driver.Node, len(nodes))
				for i, n := range nodes {
					all[i] = in(c.namespace, n)
				}
				return optional[driver.AnyWaiter](s.Session).WaitAny(ctx, all)
			}
		})
	})
}

// slowThird puts what the third session of a namespace creates before what was
// created before it.
func slowThird(field func(*driver.Node) *uint64) func(conformance.Harness) conformance.Harness {
	return func(h conformance.Harness) conformance.Harness {
		var mu sync.Mutex
		count := make(map[string]int)    // sessions, by namespace
		third := make(map[string]bool)   // by namespace and ID
		sound := make(map[string]uint64) // what the field was, by key and what it is
		name := func(n driver.Node) string { return fmt.Sprint(n.Key, " ", *field(&n)) }
		out := func(namespace string, n driver.Node) driver.Node {
			mu.Lock()
			defer mu.Unlock()
			f := field(&n)
			was := *f
			*f *= 4
			if third[namespace+n.Session] {
				*f -= min(*f-1, 18)
			}
			sound[name(n)] = was
			return n
		}
		in := func(_ string, n driver.Node) driver.Node {
			mu.Lock()
			defer mu.Unlock()
			*field(&n) = sound[name(n)]
			return n
		}
		counted := onSession(h, func(s *session) {
			mu.Lock()
			defer mu.Unlock()
			count[s.conn.namespace]++
			third[s.conn.namespace+s.ID()] = count[s.conn.namespace] == 3
		})
		return sortLists(mapped(counted, out, in))
	}
}

// sortLists puts lists into the order that Seq has by now.
func sortLists(h conformance.Harness) conformance.Harness {
	h = relist(func(_ string, nodes []driver.Node) []driver.Node { return bySeq(nodes) })(h)
	h = relistCreated(func(_ driver.Node, nodes []driver.Node) []driver.Node { return bySeq(nodes) })(h)
	return eachState(func(*loop) func([]driver.Node) [][]driver.Node {
		return func(nodes []driver.Node) [][]driver.Node { return [][]driver.Node{bySeq(nodes)} }
	})(h)
}

// bySeq returns the nodes in the order of Seq.
func bySeq(nodes []driver.Node) []driver.Node {
	return slices.SortedFunc(slices.Values(nodes), func(a, b driver.Node) int { return cmp.Compare(a.Seq, b.Seq) })
}

// wrapCounter counts in 31 bits where the harness brought a counter near its
// wrap.
func wrapCounter(h conformance.Harness) conformance.Harness {
	const wrap = 1 << 31
	var mu sync.Mutex
	offset := make(map[string]uint64) // by namespace
	near := h.NearWrap
	h.NearWrap = func(ctx context.Context, namespace, dir string) error {
		mu.Lock()
		defer mu.Unlock()
		offset[namespace] = wrap - 12
		return near(ctx, namespace, dir)
	}
	out := func(namespace string, n driver.Node) driver.Node {
		mu.Lock()
		defer mu.Unlock()
		if o := offset[namespace]; o > 0 && n.Seq > 0 {
			n.Seq = (n.Seq + o) % wrap
		}
		return n
	}
	return mapped(h, out, func(_ string, n driver.Node) driver.Node { return n })
}

// restartToken counts tokens of a directory from what is created first after its last
// removal.
func restartToken(h conformance.Harness) conformance.Harness {
	var mu sync.Mutex
	last := make(map[string]uint64)    // the greatest of a namespace
	removed := make(map[string]uint64) // what it was at a removal that nothing was created after, by namespace and directory
	base := make(map[string]uint64)    // likewise
	remove := h.RemoveDir
	h.RemoveDir = func(ctx context.Context, namespace, dir string) error {
		mu.Lock()
		defer mu.Unlock()
		removed[namespace+"/"+dir] = last[namespace]
		return remove(ctx, namespace, dir)
	}
	out := func(namespace string, n driver.Node) driver.Node {
		mu.Lock()
		defer mu.Unlock()
		last[namespace] = max(last[namespace], n.Token)
		in := namespace + "/" + n.Dir
		if before, ok := removed[in]; ok && n.Token > before {
			base[in] = n.Token - 1
			delete(removed, in)
		}
		if b := base[in]; n.Token > b {
			n.Token -= b
		}
		return n
	}
	in := func(namespace string, n driver.Node) driver.Node {
		mu.Lock()
		defer mu.Unlock()
		n.Token += base[namespace+"/"+n.Dir]
		return n
	}
	return mapped(h, out, in)
}

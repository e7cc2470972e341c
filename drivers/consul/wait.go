package consul

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

// WaitDelete implements driver.Session.
func (s *session) WaitDelete(ctx context.Context, n driver.Node) error {
	_, err := s.WaitAny(ctx, []driver.Node{n})
	return err
}

// WaitAny implements driver.AnyWaiter.
func (s *session) WaitAny(ctx context.Context, nodes []driver.Node) (index int, err error) {
	err = s.live(func() (err error) {
		index, err = s.wait(ctx, nodes)
		return err
	})
	return index, err
}

func (s *session) wait(ctx context.Context, nodes []driver.Node) (int, error) {
	o := s.op("wait", "")
	if len(nodes) == 0 {
		return 0, failed(o, driver.ErrInvalid, errors.New("no nodes to wait for"))
	}
	o.key = nodes[0].Dir
	for _, n := range nodes {
		if n.Dir != nodes[0].Dir || !s.conn.isIn(n) {
			return 0, invalid(o, "node %s is not in directory %q", n.Key, nodes[0].Dir)
		}
	}
	if ctx.Err() != nil {
		return 0, failed(o, nil, driver.ContextError(ctx))
	}
	w := newWait(s.conn.dir(nodes[0].Dir), s.id, nodes)
	if ahead, behind := s.ledger.place(nodes[0]); ahead == 1 && len(nodes) == 2 && behind.Same(nodes[1]) {
		w.pair = nodes[0].Token // when both were there
	}
	if err := s.conn.watches.join(o, w); err != nil {
		return 0, err
	}
	defer s.conn.watches.leave(w)
	// If the outcome is ready together with an end, either is true. live turns
	// a success into the session's error if that has ended too.
	select {
	case r := <-w.result:
		if r.err == nil && r.index > 0 && !r.first {
			told := r.index
			r.index, r.err = s.first(ctx, o, nodes, told)
			r.ours = r.ours && r.index == told
		}
		if r.err == nil && nodes[r.index].Session == s.id {
			s.dropped(nodes[r.index])
			if !r.ours {
				s.suspect(ctx)
			}
		}
		return r.index, r.err
	case <-ctx.Done():
		return 0, failed(o, nil, driver.ContextError(ctx))
	case <-s.Done():
		return 0, s.Err()
	}
}

// first returns the first of the nodes that is gone, of which that with the
// index given is one. They may have gone together, and the watches of single
// keys tell of that one by one.
//
// One read of all of them nearly always shows that the others are there. It
// need not be linearizable: that it shows them, who came later, and not the one
// that is gone proves that it is not older than the going.
func (s *session) first(ctx context.Context, o op, nodes []driver.Node, index int) (int, error) {
	c, dir, change := s.conn, nodes[0].Dir, s.glance.last()
	var kvs []*api.KVPair
	var err error
	ahead, _ := s.ledger.place(nodes[0])
	line := ahead > 1 || index >= mostTrees
	if line {
		// There were others before the one that is gone, so that its place in
		// line is not all that the caller wants to know. It will list.
		kvs, err = c.listAs(ctx, o, c.dir(dir), api.QueryOptions{})
	} else {
		ops := make([]*api.KVTxnOp, 0, index+1)
		for _, n := range nodes[:index+1] {
			ops = append(ops, tree(n.Key)) // reading the key itself would fail if there is none
		}
		kvs, err = c.readTxn(ctx, o, ops...)
	}
	if err != nil {
		return 0, err
	}
	if !onlyLast(nodes[:index+1], kvs) {
		line = true
		if kvs, err = c.list(ctx, o, c.dir(dir)); err != nil {
			return 0, err
		}
		for i, n := range nodes[:index] {
			if !alive(n, kvs) {
				return i, nil
			}
		}
	}
	if line {
		s.glance.keep(dir, c.nodes(dir, kvs), change)
	}
	return index, nil
}

// glance is a list that was read a moment ago, for one call of List. It does as
// well as another read if it shows what List has to show (L3).
type glance struct {
	mu      sync.Mutex
	dir     string
	nodes   []driver.Node
	until   time.Time
	changes int // of other sessions' nodes, by this one; its own are in the ledger
}

// moment is how long a glance is good.
const moment = 50 * time.Millisecond

// keep keeps a list that was asked for when change was the last.
func (g *glance) keep(dir string, nodes []driver.Node, change int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if change == g.changes {
		g.dir, g.nodes, g.until = dir, nodes, time.Now().Add(moment)
	}
}

// last returns the number of the last change of another session's node.
func (g *glance) last() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changes
}

// drop takes note of a change of another session's node, which was acknowledged and
// which no list from before shows.
func (g *glance) drop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.changes++
	g.dir, g.nodes = "", nil
}

// take returns the list of a directory, once.
func (g *glance) take(dir string) ([]driver.Node, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dir != dir {
		return nil, false
	}
	nodes, good := g.nodes, time.Now().Before(g.until)
	g.dir, g.nodes = "", nil
	return nodes, good
}

// mostTrees is how many reads are made in one transaction. Consul takes 128.
const mostTrees = 64

// onlyLast reports whether it is certain that the last of the nodes is gone and
// the others are not, by what was found of them at one time.
func onlyLast(nodes []driver.Node, found []*api.KVPair) bool {
	last := nodes[len(nodes)-1]
	var recent bool // the answer is newer than the last node
	for _, n := range nodes[:len(nodes)-1] {
		if !alive(n, found) {
			return false
		}
		recent = recent || n.Token > last.Token
	}
	kv := entryOf(found, last.Key)
	return kv == nil && recent || kv != nil && kv.CreateIndex > last.Token
}

// alive reports whether a node is among the entries of a directory.
func alive(n driver.Node, kvs []*api.KVPair) bool {
	kv := entryOf(kvs, n.Key)
	return kv != nil && kv.CreateIndex == n.Token && held(kv)
}

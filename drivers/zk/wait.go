package zk

import (
	"context"
	"errors"

	"github.com/coordkit/coordkit/coord/driver"
)

// wait is one call that waits for any of some nodes. watches guards it.
type wait struct {
	targets []*target
	told    bool
	result  chan outcome // has room for the one outcome
}

// outcome is the index of a node that is gone, or an error.
type outcome struct {
	index int
	err   error
}

// target is one node that a wait waits for.
type target struct {
	wait  *wait
	index int
	path  string
	owner int64  // whom the node belongs to
	seen  uint64 // the node was there at this zxid
	alive bool   // it was there when the watch was set, and the watch stands
	gone  bool
}

func newWait(nodes []driver.Node) *wait {
	w := &wait{result: make(chan outcome, 1)}
	for i, n := range nodes {
		_, base := cut(n.Key)
		parsed, _ := parseName(base) // the caller has checked it
		w.targets = append(w.targets, &target{wait: w, index: i, path: n.Key, owner: parsed.owner, seen: n.Version})
	}
	return w
}

// first returns the first node that is gone, and whether the watches of all
// before it stand.
func (w *wait) first() (gone *target, sure bool) {
	sure = true
	for _, t := range w.targets {
		if t.gone {
			return t, sure
		}
		sure = sure && t.alive
	}
	return nil, false
}

func (w *wait) tell(o outcome) {
	if !w.told {
		w.told = true
		w.result <- o
	}
}

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
	o := op{name: "wait"}
	if len(nodes) == 0 {
		return 0, failed(o, driver.ErrInvalid, errors.New("no nodes to wait for"))
	}
	o.key = nodes[0].Dir
	for _, n := range nodes {
		if n.Dir != nodes[0].Dir {
			return 0, invalid(o, "node %s is not in directory %q", n.Key, nodes[0].Dir)
		}
		if err := s.conn.checkNode(o, n); err != nil {
			return 0, err
		}
	}
	if ctx.Err() != nil {
		return 0, failed(o, nil, driver.ContextError(ctx))
	}
	w := newWait(nodes)
	s.link.watches.join(w)
	defer s.link.watches.leave(w)
	// If the outcome is ready together with an end, either is true. live turns
	// a success into the session's error if that has ended too.
	select {
	case r := <-w.result:
		return r.index, r.err
	case <-ctx.Done():
		return 0, failed(o, nil, driver.ContextError(ctx))
	case <-s.Done():
		return 0, s.Err()
	}
}

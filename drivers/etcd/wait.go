package etcd

import (
	"context"
	"errors"

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
	o := op{name: "wait"}
	if len(nodes) == 0 {
		return 0, failed(o, driver.ErrInvalid, errors.New("no nodes to wait for"))
	}
	o.key = nodes[0].Dir
	dir := s.conn.dir(nodes[0].Dir)
	for _, n := range nodes {
		if n.Dir != nodes[0].Dir || !dir.contains(n.Key) {
			return 0, invalid(o, "node %s is not in directory %q", n.Key, nodes[0].Dir)
		}
	}
	if ctx.Err() != nil {
		return 0, failed(o, nil, driver.ContextError(ctx))
	}
	w := newWait(nodes)
	if err := s.conn.feeds.join(o, dir, w); err != nil {
		return 0, err
	}
	defer s.conn.feeds.leave(w)
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

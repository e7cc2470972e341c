package consul

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

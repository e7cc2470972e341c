package mem

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// pause is how long a wait whose watch could not be set lets pass before the
// next attempt, unless the link comes back earlier.
const pause = 50 * time.Millisecond

func (s *session) WaitDelete(ctx context.Context, n driver.Node) error {
	_, err := s.WaitAny(ctx, []driver.Node{n})
	return err
}

// WaitAny sets one watch on all the nodes, and again when it breaks. Nothing is
// missed in between, because a node that is gone stays gone.
func (s *session) WaitAny(ctx context.Context, nodes []driver.Node) (int, error) {
	if len(nodes) == 0 {
		return 0, &driver.Error{Op: string(OpWait), Store: scheme, Kind: driver.ErrInvalid,
			Err: errors.New("no node to wait for")}
	}
	for {
		if err := s.lease.Err(); err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, &driver.Error{Op: string(OpWait), Store: scheme, Key: nodes[0].Key, Err: err}
		}
		turned := *s.conn.link.turned.Load() // before it is asked, so that no break of it is missed
		i, err := s.wait(ctx, nodes)
		switch {
		case s.lease.Err() != nil || err != nil && ctx.Err() != nil:
			continue // to say so; after the session's end no news counts
		case err == nil:
			return i, nil
		}
		// The watch could not be set, or its news was lost.
		timer := time.NewTimer(pause)
		// Whichever is ready, the loop looks at all of them.
		select {
		case <-turned:
		case <-timer.C:
		case <-ctx.Done():
		case <-s.Done():
		}
		timer.Stop()
	}
}

// wait waits with one watch until that fires. The store keeps a watch whose link has
// broken; it is the news that gets lost.
func (s *session) wait(ctx context.Context, nodes []driver.Node) (int, error) {
	// No limit for the attempt: it is not urgent that another server is asked,
	// and the session's end bounds it.
	c := call{OpWait, nodes[0].Key, 0, s.Done()}
	w := newWatch(s.lessee)
	i, err := ask(ctx, s.conn.link, c, watching{w, s.conn.namespace, nodes}, (*Store).watch)
	if err != nil {
		s.conn.store.unwatch(w) // the request may be on its way
		return 0, s.answer(OpWait, c.key, err)
	}
	if i != notGone {
		return i, nil
	}
	// Each of these ends the wait for good or for now, and none is a promise
	// about the others: a node that is gone is gone whether or not ctx ended in
	// the same moment, and the caller of wait looks at the session.
	select {
	case i = <-w.fired:
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.Done():
		err = errQuit
	}
	if err != nil {
		s.conn.store.unwatch(w)
		return 0, s.answer(OpWait, c.key, err)
	}
	if err := s.conn.link.deliver(ctx, c); err != nil {
		return 0, s.answer(OpWait, c.key, err)
	}
	if i == sessionEnded {
		return 0, s.answer(OpWait, c.key, errNoSession)
	}
	return i, nil
}

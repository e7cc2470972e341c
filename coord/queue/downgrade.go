package queue

import (
	"cmp"
	"context"
	"fmt"

	"github.com/coordkit/coordkit/coord"
)

// Downgrade replaces the entry by one of another kind with the same token, and returns the
// new entry and its hold. The new entry is in the line before the old one goes. So no other
// entry gets in between, if the rule respects InPlaceOf, does not take the old entry's
// deletion for the grant, and says Aside of the old one while both are in the line.
//
// ctx and the session's TTL bound the call. After an error h is as it was; if it was lost,
// the error Is coord.ErrNotHeld. The error Is coord.ErrInvalid if the entry has other holds.
func (e *Entry) Downgrade(ctx context.Context, h *coord.Hold, req Request) (*Entry, *coord.Hold, error) {
	n, hold, err := e.replace(ctx, h, req)
	if err != nil {
		return nil, nil, e.queue.fail("downgrade", cmp.Or(h.Err(), err))
	}
	h.End(nil)
	_ = e.Leave(ctx) // if it is not confirmed it goes on in the background
	return n, hold, nil
}

func (e *Entry) replace(ctx context.Context, h *coord.Hold, req Request) (*Entry, *coord.Hold, error) {
	if err := e.giveUp(h, nil); err != nil {
		return nil, nil, err
	}
	req.replaces = &place{InPlaceOf(e.node), e.token}
	n, line, err := e.queue.enter(ctx, e.session, e.dir, req, byName)
	if err != nil {
		return nil, nil, err
	}
	hold, err := e.handOver(ctx, h, n, find(line, e.node) >= 0)
	if err != nil {
		n.discard()
		return nil, nil, err
	}
	return n, hold, nil
}

// handOver makes a holder of the new entry n, and gives up e. If e was not there any more
// when n was created, others may have been let in, and n has no place to take.
func (e *Entry) handOver(ctx context.Context, h *coord.Hold, n *Entry, there bool) (*coord.Hold, error) {
	if !there {
		return nil, cmp.Or(e.whyGone(ctx), coord.ErrReleased) // by another call
	}
	n.grant()
	hold, err := n.Hold(h.Context())
	if err != nil {
		return nil, err
	}
	if err := e.giveUp(h, n); err != nil {
		hold.End(err)
		return nil, err
	}
	return hold, nil
}

// giveUp takes h, the only hold of e, away from e and makes n its successor, in one step. If
// n is nil it only checks that h is the only hold.
func (e *Entry) giveUp(h *coord.Hold, n *Entry) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := h.Err(); err != nil { // also if the entry is gone
		return err
	}
	if len(e.holds) != 1 {
		return fmt.Errorf("%w: it is held %d times; only the last hold of it can be downgraded", coord.ErrInvalid, len(e.holds))
	}
	if n != nil {
		e.holds, e.released, e.successor = nil, true, n
	}
	return nil
}

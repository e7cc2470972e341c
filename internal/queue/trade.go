package queue

import (
	"cmp"
	"context"
	"fmt"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// place is where an entry stands that another one stands in for.
type place struct {
	Seq   uint64 `json:"seq"`
	Token uint64 `json:"token"`
}

// InPlaceOf returns the Seq at which the node stands in the line: its own, or
// that of the entry it stands in for.
func InPlaceOf(n driver.Node) uint64 {
	if p := parse(n).InPlaceOf; p != nil {
		return p.Seq
	}
	return n.Seq
}

// Trade gives up h and its entry for another entry, of another kind, which
// stands in the old one's place in the line and has its token: for a downgrade.
// The new entry is there before the old one goes, so nobody gets in between,
// provided that the rule respects InPlaceOf, and does not take the old entry's
// deletion for the grant. A rule says Aside of the old entry while both are
// there.
//
// ctx bounds it, and nothing else but the session's TTL: if the store is away it
// waits. After an error h is as it was, or it was lost, and the error says so and Is
// coord.ErrNotHeld. It Is coord.ErrInvalid if the entry has other holds.
func (e *Entry) Trade(ctx context.Context, h *coord.Hold, req Request) (*Entry, *coord.Hold, error) {
	n, hold, err := e.trade(ctx, h, req)
	if err != nil {
		if lost := h.Err(); lost != nil {
			err = lost
		}
		return nil, nil, e.queue.fail("downgrade", err)
	}
	h.End(nil)
	_ = e.Leave(ctx) // if it is not certain yet it goes on in the background
	return n, hold, nil
}

func (e *Entry) trade(ctx context.Context, h *coord.Hold, req Request) (*Entry, *coord.Hold, error) {
	if err := e.tradable(h); err != nil {
		return nil, nil, err
	}
	req.inPlaceOf = &place{InPlaceOf(e.node), e.token}
	n, line, err := e.queue.enter(ctx, e.session, e.dir, req, byName)
	if err != nil {
		return nil, nil, err
	}
	// The line is as of n's creation or later. If e is in it, e was there until
	// n was. If not, somebody may have removed it before, without our knowing
	// yet, and others may have been let in: n has no place to stand in.
	if _, there := e.find(line); !there {
		n.discard()
		return nil, nil, cmp.Or(e.whyGone(ctx), coord.ErrReleased) // if it is nil, e was left meanwhile
	}
	hold, err := n.holdNow(h)
	if err != nil {
		n.discard()
		return nil, nil, err
	}
	// What happened to e while n was being made?
	if err := e.giveUp(h, n); err != nil {
		hold.End(err)
		n.discard()
		return nil, nil, err
	}
	return n, hold, nil
}

// holdNow grants the entry that stands in for the one that h is a hold of.
func (e *Entry) holdNow(h *coord.Hold) (*coord.Hold, error) {
	if err := e.grant(); err != nil {
		return nil, err
	}
	return e.Hold(h.Context())
}

func (e *Entry) tradable(h *coord.Hold) error {
	if err := h.Err(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tradableLocked(h)
}

// tradableLocked says why h is not the one hold of an entry that stands, or nil.
func (e *Entry) tradableLocked(h *coord.Hold) error {
	switch {
	case e.removed != nil:
		return e.removed
	case e.leaving:
		return fmt.Errorf("%w: it is being left", coord.ErrInvalid)
	case len(e.holds) != 1 || e.holds[0] != h: // another was added, and h may have been let go since
		return fmt.Errorf("%w: it is held %d times; only the last hold of it can be traded", coord.ErrInvalid, len(e.holds))
	}
	return nil
}

// giveUp takes the only hold of an entry that was traded for another. It looks and takes
// in one step: whoever enters the entry again has a hold of it, or finds it released.
func (e *Entry) giveUp(h *coord.Hold, standIn *Entry) error {
	if err := h.Err(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.tradableLocked(h); err != nil {
		return err
	}
	e.holds, e.released, e.standIn = nil, true, standIn
	return nil
}

func (e *Entry) wasTraded() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.standIn != nil
}

package coord

import (
	"context"
	"iter"

	"github.com/coordkit/coordkit/coord/driver"
)

// Watch shows a directory as it changes, for authors of recipes and for observers. It
// needs no session.
//
// It yields the nodes of dir as List would return them, at once and again after every
// change. Changes in quick succession, or while the consumer is busy, may be shown as
// one; the state that lasts is always shown. A state is never older than one shown
// before, nor than what was acknowledged to any client before the range began. The
// consumer must not change the slice or what it holds.
//
// While the store cannot be reached nothing is shown. The sequence ends when the
// loop is left, or with one error, whose nodes are nil: it Is ctx's error when
// ctx ends, ErrClosed when the client is closed, and otherwise what the store
// refuses for good, as ErrDenied. Nothing happens before the sequence is ranged
// over, and it can be ranged over again.
//
// All observers of a directory in one client share one watch at the store, which ends
// with the last of them. A slow observer keeps no other waiting. Where the store's
// driver has no watch (driver.CapWatch) the directory is listed every second.
func (c *Client) Watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	return func(yield func([]driver.Node, error) bool) {
		o, err := c.hubs.join(ctx, dir)
		if err != nil {
			yield(nil, err)
			return
		}
		defer o.leave()
		for {
			nodes, err := o.next(ctx)
			if !yield(nodes, err) || err != nil {
				return
			}
		}
	}
}

// observer is one range over what Watch returned.
type observer struct {
	hubs   *hubs
	hub    *hub
	ticket uint64 // the number of its joining
	seen   uint64 // the number of the state that it was shown last
}

// next waits for a state that the observer has not seen. It holds none back for
// it: whoever comes late gets the latest.
func (o *observer) next(ctx context.Context) ([]driver.Node, error) {
	for {
		nodes, changed, err := o.look()
		switch {
		case err != nil:
			return nil, err
		case ctx.Err() != nil: // also if there is something to show
			return nil, watchError(o.hub.dir, nil, driver.ContextError(ctx))
		case changed == nil:
			return nodes, nil
		}
		// Either leads to another look, which misses nothing: changed was got
		// together with what there was to see.
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// look returns a new state, or else what will be closed when there may be one.
func (o *observer) look() (nodes []driver.Node, changed <-chan struct{}, err error) {
	o.hubs.mu.Lock()
	defer o.hubs.mu.Unlock()
	h := o.hub
	switch {
	case h.err != nil:
		return nil, nil, h.err
	case h.number == o.seen || h.fresh < o.ticket:
		return nil, h.changed, nil
	default:
		o.seen = h.number
		return h.state, nil, nil
	}
}

// leave ends the watch at the store if the observer was the last.
func (o *observer) leave() {
	o.hubs.mu.Lock()
	defer o.hubs.mu.Unlock()
	if o.hub.observers--; o.hub.observers == 0 {
		o.hub.stop()
	}
}

func watchError(dir string, kind, err error) error {
	return &Error{Op: "watch", Key: dir, Kind: kind, Err: err}
}

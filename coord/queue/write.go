package queue

import (
	"context"
	"errors"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// Write replaces the value that is stored with the entry. Of several calls the last one
// to begin counts. ctx bounds the call; while the store is away it is repeated, for as
// long as the session's TTL.
//
// If the entry is gone or its session over, nothing is written and the error Is
// coord.ErrNotHeld. After another error the value may have been written; calling again is
// safe.
func (e *Entry) Write(ctx context.Context, value []byte) error {
	select { // one at a time: a repeated request must not undo a later one
	case e.writing <- struct{}{}:
		defer func() { <-e.writing }()
	case <-ctx.Done():
		return e.queue.fail("write", driver.ContextError(ctx))
	case <-e.session.Done():
		return e.queue.fail("write", notHeld(e.session.Err()))
	}
	data := e.encode(value)
	err := e.session.Retry(ctx, func(ctx context.Context) error {
		if lost := e.lost(); lost != nil {
			return lost
		}
		_, err := e.session.Driver().Update(ctx, e.node, data)
		return err
	})
	if errors.Is(err, driver.ErrGone) {
		err = e.whyGone(ctx)
		if !errors.Is(err, coord.ErrSessionLost) && !errors.Is(err, coord.ErrClosed) {
			err = coord.ErrRemoved
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, coord.ErrSessionLost), errors.Is(err, coord.ErrClosed), errors.Is(err, coord.ErrRemoved):
		err = notHeld(err)
	}
	return e.queue.fail("write", err)
}

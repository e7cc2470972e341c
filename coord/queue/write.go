package queue

import (
	"cmp"
	"context"
	"errors"

	"github.com/coordkit/coordkit/coord/driver"
)

// Write replaces the value that is stored with the entry. Of several calls the last one
// to begin counts. ctx bounds the call; while the store is away it is repeated, for as
// long as the session's TTL.
//
// If the entry is gone or its session over, the error Is coord.ErrNotHeld. After another
// error the value may have been written; calling again is safe.
func (e *Entry) Write(ctx context.Context, value []byte) error {
	select { // one at a time: a repeated request must not undo a later one
	case e.writing <- struct{}{}:
		defer func() { <-e.writing }()
	case <-ctx.Done():
		return e.queue.fail("write", driver.ContextError(ctx))
	}
	data := e.encode(value)
	err := e.session.Retry(ctx, func(ctx context.Context) error {
		_, err := e.session.Driver().Update(ctx, e.node, data)
		return err
	})
	if err == nil {
		return nil
	}
	why := e.lost()
	if errors.Is(err, driver.ErrGone) {
		why = cmp.Or(e.whyGone(ctx), err)
	}
	if why != nil {
		err = notHeld(why)
	}
	return e.queue.fail("write", err)
}

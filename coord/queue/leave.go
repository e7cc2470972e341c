package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// Leave deletes the entry's node, and returns nil when the node is surely gone. After an
// error the deletion goes on in the background until it has succeeded or the session is
// over; calling Leave again waits for that. ctx bounds the call and not the deletion. A
// late call cannot free another entry's place.
func (e *Entry) Leave(ctx context.Context) error {
	if e.stop() {
		err := e.delete(ctx)
		if err == nil {
			e.markGone(nil)
			return nil
		}
		if !e.leaveInBackground() {
			return err // the session is over, and with it the node
		}
		if !driver.Transient(err) {
			return fmt.Errorf("%w: %w", errGoesOn, err)
		}
	}
	if e.awaitGone(ctx) {
		return nil
	}
	if err := e.session.Err(); err != nil { // the store removes the node
		return err
	}
	return fmt.Errorf("%w: %w", errGoesOn, driver.ContextError(ctx))
}

var errGoesOn = errors.New("not confirmed yet; it goes on in the background")

// discard is Leave for a caller that does not wait.
func (e *Entry) discard() {
	if e.stop() {
		e.leaveInBackground()
	}
}

// leaveInBackground reports false if the session is over, and with it the node.
func (e *Entry) leaveInBackground() bool {
	return e.session.Go(func(ctx context.Context) {
		if persist(ctx, e.queue.client, e.delete) {
			e.markGone(nil)
		}
	})
}

func (e *Entry) delete(ctx context.Context) error {
	if ctx.Err() != nil {
		return driver.ContextError(ctx)
	}
	return e.session.Driver().Delete(ctx, e.node)
}

// abandon gives up a create whose outcome is not known, in the background.
func (e *Entry) abandon(id string) {
	e.session.Go(func(ctx context.Context) {
		if persist(ctx, e.queue.client, func(ctx context.Context) error { return e.session.Driver().Abandon(ctx, e.dir, id) }) {
			e.local.forget(e)
		}
	})
}

// refused reports whether err says that a create surely has no effect.
func refused(err error) bool {
	if errors.Is(err, coord.ErrUncertain) { // whatever has caused that
		return false
	}
	return errors.Is(err, coord.ErrUnavailable) || errors.Is(err, coord.ErrInvalid) || errors.Is(err, coord.ErrDenied)
}

// persist calls op until it succeeds or ctx ends, and reports whether it succeeded. What is
// not cleared up blocks all others, and even a permission may come back.
func persist(ctx context.Context, c *coord.Client, op func(context.Context) error) bool {
	for {
		if c.Retry(ctx, op) == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Second):
		}
	}
}

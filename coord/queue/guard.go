package queue

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord"
)

// guardDelay is after how long an entry's own node is watched. Most locks are held for less.
const guardDelay = 100 * time.Millisecond

// grant makes the entry a holder. If its session or its node is known to be gone, Hold
// says so.
func (e *Entry) grant() {
	e.mu.Lock()
	e.granted = true
	e.mu.Unlock()
	e.guardOwn()
}

// guardOwn has the entry's own node watched after guardDelay, until the entry is left.
func (e *Entry) guardOwn() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.leaving || e.guard != nil {
		return
	}
	e.guard = time.AfterFunc(guardDelay, func() {
		e.session.Go(func(context.Context) { e.watchOwn() })
	})
}

// watchOwn waits until the entry's own node is gone, or its life ends. A wait that breaks
// is begun again after 100 ms; coord's Retry would pause for longer and longer.
func (e *Entry) watchOwn() {
	for alive := true; alive; alive = e.pause(e.life) == nil {
		if e.session.Driver().WaitDelete(e.life, e.node) == nil {
			e.askWhyGone()
		}
	}
}

// askWhyGone ends an entry whose node this process did not delete. It asks the store whether
// an operator removed the node or the session has ended: Abandon of what is gone changes
// nothing, and fails if there is no session. Until the answer the slot is not used again, as
// the Abandon must not hit the next entry that has the slot.
func (e *Entry) askWhyGone() {
	e.mu.Lock()
	if e.leaving || e.asking {
		e.mu.Unlock()
		return
	}
	e.asking = true
	e.mu.Unlock()

	ctx, cancel := context.WithTimeout(e.session.Context(), min(e.session.TTL()/2, time.Second))
	err := e.session.Retry(ctx, func(ctx context.Context) error {
		return e.session.Driver().Abandon(ctx, e.dir, e.node.ID)
	})
	cancel()
	why := coord.ErrRemoved
	if errors.Is(err, coord.ErrSessionLost) || errors.Is(err, coord.ErrClosed) {
		why = err
	}
	e.markGone(why)

	e.mu.Lock()
	defer e.mu.Unlock()
	e.local.forget(e)
	if errors.Is(e.removed, coord.ErrRemoved) {
		e.queue.client.Logger().Warn("entry was removed from the store by somebody else",
			zap.String("entry", e.queue.what), zap.Bool("held", e.granted),
			zap.String("key", e.node.Key), zap.Uint64("token", e.token))
	}
}

// whyGone says why the entry's node is gone, within ctx.
func (e *Entry) whyGone(ctx context.Context) error {
	e.session.Go(func(context.Context) { e.askWhyGone() })
	e.awaitGone(ctx)
	return e.whyEnded(ctx)
}

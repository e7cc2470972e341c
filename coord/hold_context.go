package coord

import (
	"context"
	"sync"
	"time"
)

// holdContext ends with the session or with the hold, and has the values of the ctx
// that the acquire was given. It is built on the session's side, so that the loss of a
// session has ended every context of every hold when the call that ends them
// returns: with a callback for each, somebody else could have been granted the
// lock in between.
//
// The context below the session's is made for the first who waits for the end, or makes
// a context below, which many holds do without: it is a tenth of what a lock costs
// in the client. What is asked before goes by the session's own context, under the
// lock of the hold, so that nobody hears two different ends.
type holdContext struct {
	life       context.Context // the session's: its end is the hold's
	values     context.Context
	key, value any // the recipe's own

	mu    sync.Mutex
	made  context.Context // nil: not yet; has no values
	end   context.CancelCauseFunc
	cause error // of the end, if that was before it was made, and life had not ended
}

// Deadline says that there is none: that of the ctx of the acquire bounded the acquire.
func (c *holdContext) Deadline() (due time.Time, any bool) { return }

func (c *holdContext) Done() <-chan struct{} { return c.below().Done() }

func (c *holdContext) Err() error {
	if c.why() == nil {
		return nil
	}
	return context.Canceled // it has no deadline
}

// Value asks the life before those that the values are from: package context finds its
// own there, which keeps the ending of contexts below immediate.
func (c *holdContext) Value(key any) any {
	if c.key != nil && c.key == key {
		return c.value
	}
	if c.life.Value(key) != nil { // it has no values but what package context is looking for
		return c.below().Value(key)
	}
	return c.values.Value(key)
}

// String keeps those who print it from reading what only the lock makes safe to read.
func (c *holdContext) String() string { return "coord.Hold" }

// below makes what is waited for, or returns it.
func (c *holdContext) below() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		if c.cause == nil {
			c.made, c.end = context.WithCancelCause(c.life)
		} else {
			c.made, c.end = context.WithCancelCause(context.Background()) // life may have ended since
			c.end(c.cause)
		}
	}
	return c.made
}

// finish ends it for a reason, unless it has ended.
func (c *holdContext) finish(why error) {
	c.mu.Lock()
	end := c.end
	if end == nil && c.cause == nil && c.life.Err() == nil {
		c.cause = why
	}
	c.mu.Unlock()
	if end != nil { // not under the lock: what ends with it may look up here
		end(why)
	}
}

// why is the cause of the end, or nil.
func (c *holdContext) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.made
	switch {
	case at == nil && c.cause != nil:
		return c.cause
	case at == nil:
		at = c.life
	}
	if at.Err() == nil {
		return nil
	}
	return context.Cause(at)
}

package conformance

import (
	"context"
	"sync/atomic"
)

// lasting is a ctx like that of a whole program, which counts what waits for its end: what a
// call leaves there is not freed before. It ends with its parent. It is safe for concurrent use.
type lasting struct {
	context.Context // hides the parent's values, by which package context would pass c by
	parent          context.Context
	waiting         atomic.Int64
}

// newLasting returns a ctx below parent, of which it has the end but not the values. The parent
// must be one that can end.
func newLasting(parent context.Context) *lasting {
	return &lasting{Context: context.Background(), parent: parent}
}

// Done implements context.Context.
func (c *lasting) Done() <-chan struct{} { return c.parent.Done() }

// Err implements context.Context.
func (c *lasting) Err() error { return c.parent.Err() }

// AfterFunc is how package context registers the contexts that are derived from c, and the
// functions that are to run at its end.
func (c *lasting) AfterFunc(f func()) (stop func() bool) {
	c.waiting.Add(1)
	end := context.AfterFunc(c.parent, f)
	return func() bool {
		stopped := end()
		if stopped {
			c.waiting.Add(-1)
		}
		return stopped
	}
}

// left returns how many contexts and functions wait for the end.
func (c *lasting) left() int { return int(c.waiting.Load()) }

// Package lasting makes contexts like that of a whole program, which count what waits for
// their end. What a call leaves there is not freed before the program ends.
package lasting

import (
	"context"
	"sync/atomic"
)

// Context ends with its parent. It is safe for concurrent use.
type Context struct {
	context.Context // hides the parent's values, by which package context would pass c by
	parent          context.Context
	waiting         atomic.Int64
}

// New returns a context below parent, of which it has the end but not the values. The parent
// must be one that can end.
func New(parent context.Context) *Context {
	return &Context{Context: context.Background(), parent: parent}
}

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} { return c.parent.Done() }

// Err implements context.Context.
func (c *Context) Err() error { return c.parent.Err() }

// AfterFunc is how package context registers the contexts that are derived from c, and the
// functions that are to run at its end.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
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

// Waiting returns how many contexts and functions wait for the end.
func (c *Context) Waiting() int { return int(c.waiting.Load()) }

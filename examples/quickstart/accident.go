package main

import (
	"context"
	"errors"

	"github.com/coordkit/coordkit/recipes/mutex"
)

// accident is a round in which everything goes wrong: the worker is cut off
// from the store while it holds the lock, stops when it is told of the loss,
// and then does what a correct program never does.
func (w *worker) accident(ctx context.Context, held *mutex.Held, page page, link link, next <-chan struct{}) error {
	link.Cut()
	w.timeline.say(w.name, "was cut off from the store")
	select {
	case <-held.Done():
		w.timeline.stopped(w.name, held.Err())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-next: // somebody else has the lock, and has read the page
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// A process that was paused would be at this point without having noticed
	// anything. No lock can help that; the token does.
	w.timeline.say(w.name, "goes on as if nothing had happened")
	return errors.Join(w.write(page), link.Heal())
}

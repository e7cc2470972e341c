package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
)

// How long holders keep what they have: mostly so short that the line moves
// fast, now and then so long that faults meet them.
const (
	briefly   = 20 * time.Millisecond
	longTTLs  = 4  // at the most
	longHolds = 12 // one in so many
)

// worker is a goroutine of a client.
type worker struct {
	run    *run
	client *client
	name   string
	rng    *rand.Rand
	stop   <-chan struct{} // closed when the faults are over
}

// work acquires and releases until the faults are over. What it waits for then
// it waits for to the end. ctx ends when the client is killed or the run given
// up.
func (w *worker) work(ctx context.Context) {
	for {
		select { // not a wait: the default makes it a look
		case <-w.stop:
			return
		case <-w.run.history.Broken():
			return
		case <-ctx.Done():
			return
		default:
		}
		recipe := w.run.o.Recipes[w.rng.IntN(len(w.run.o.Recipes))]
		want := recipe.Wants[w.rng.IntN(len(recipe.Wants))]
		if !w.careful(ctx, recipe, want) {
			Pause(ctx, UpTo(w.rng, briefly)) // no busy loop over a store that is away
		}
	}
}

// careful is once, in which a panic is a broken promise.
func (w *worker) careful(ctx context.Context, recipe Recipe, want Want) bool {
	defer func() {
		if p := recover(); p != nil {
			w.run.history.Violated(recipe.Name, "%s: a panic: %v\n%s", w.name, p, debug.Stack())
		}
	}()
	return w.once(ctx, recipe, want)
}

// once acquires once. It reports whether there was a grant.
func (w *worker) once(ctx context.Context, recipe Recipe, want Want) bool {
	op := w.run.history.Call(w.name, recipe.Name, want.Kind, want.Permits)
	acquire, bounded := want.Acquire, ctx
	switch w.rng.IntN(4) {
	case 0:
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, UpTo(w.rng, w.run.h.TTL))
		defer cancel()
	case 1:
		acquire = want.Try
	}
	began := time.Now()
	hold, err := acquire(bounded, w.client.Client, op)
	switch {
	case errors.Is(err, coord.ErrBusy):
		op.Busy(overdue(bounded, began))
		return false
	case err != nil:
		op.Failed(err, bounded.Err(), overdue(bounded, began))
		return false
	}
	op.Granted(hold, hold.Session().ID())
	if want.Use != nil {
		another, err := want.Use(bounded, hold, op)
		if another != nil {
			hold = another
		}
		if err != nil && bounded.Err() == nil && hold.Err() == nil && op.Undisturbed() {
			w.run.history.Violated(recipe.Name, "%s, which holds %s with token %d: %v", w.name, recipe.Name, hold.Token(), err)
		}
	}
	w.keep(hold)
	lost := hold.Err()
	op.Releasing(lost)
	if w.rng.IntN(4) == 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(bounded, UpTo(w.rng, w.run.h.TTL/10))
		defer cancel()
	}
	began = time.Now()
	err = hold.Release(bounded)
	op.Released(lost != nil || errors.Is(err, coord.ErrNotHeld), err, overdue(bounded, began))
	return true
}

// keep holds for a while, unless the hold is lost.
func (w *worker) keep(hold history.Hold) {
	most := briefly
	if w.rng.IntN(longHolds) == 0 {
		most = longTTLs * w.run.h.TTL
	}
	keep := time.NewTimer(UpTo(w.rng, most))
	defer keep.Stop()
	select { // whichever comes first: the hold itself says afterwards whether it is lost
	case <-keep.C:
	case <-hold.Context().Done():
	case <-w.client.life.Done():
	case <-w.run.history.Broken():
	case <-w.stop:
	}
}

// overdue is how much longer than ctx allowed a call took that began at a time
// and has returned by now.
func overdue(ctx context.Context, began time.Time) time.Duration {
	if deadline, ok := ctx.Deadline(); ok && ctx.Err() != nil {
		return min(time.Since(deadline), time.Since(began))
	}
	return 0
}

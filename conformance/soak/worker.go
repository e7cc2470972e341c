package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
)

// worker is a goroutine of a client, and runs one program after the other.
type worker struct {
	run    *run
	mix    *mix
	client *client
	name   string
	own    bool // it uses a session of its own
	rng    *rand.Rand
	stop   <-chan struct{} // closed when the faults are over
	life   context.Context // of the programs
	held   []int           // what the program holds or waits for, by places in the mix
}

// work runs programs until the faults are over. What they wait for then they wait
// for to the end. ctx ends when the client is killed or the run given up.
func (w *worker) work(ctx context.Context) {
	w.life = ctx
	for !w.over(ctx) {
		if !w.careful(ctx) {
			Pause(ctx, UpTo(w.rng, w.mix.briefly)) // no busy loop over a store that is away
		}
	}
}

// careful runs a program, in which a panic is a broken promise. It reports whether
// something was granted.
func (w *worker) careful(ctx context.Context) bool {
	defer func() {
		if p := recover(); p != nil {
			w.run.history.Violated(history.Other, "", "%s: a panic: %v\n%s", w.name, p, debug.Stack())
		}
	}()
	w.held = nil
	i := w.rng.IntN(len(w.mix.recipes))
	recipe := w.mix.recipes[i]
	switch {
	case w.rng.IntN(6) == 0:
		w.beside(ctx, recipe)
		return false
	case recipe.Run != nil && w.rng.IntN(4) == 0:
		return w.lead(ctx, i)
	}
	return w.take(ctx, i, false)
}

// user is who the worker acts for.
func (w *worker) user(ctx context.Context) User {
	u := User{Client: w.client.Client}
	if w.own {
		u.Own = w.client.ownSession(ctx) // nil if there is none to be had
	}
	return u
}

// hold is something held, from the grant to the last release.
type hold struct {
	recipe Recipe
	want   Want
	op     *history.Op
	user   User
	all    []held // the first, and those by which it was entered again, until each is released
	past   []held // released
	values int    // proclaimed
	inDo   bool   // it is released by Do

	racing bool // others of the program may enter it, and leave it, at any time
	others sync.WaitGroup
}

// held is one of the holds of what was acquired.
type held struct {
	Hold
	kind history.Kind
}

// take acquires the i-th recipe of the mix, uses what it got and releases it. bounded
// says that it must not wait for ever, as it may wait for what its own program holds.
// It reports whether there was a grant.
func (w *worker) take(ctx context.Context, i int, bounded bool) bool {
	recipe := w.mix.recipes[i]
	want := pick(w.rng, recipe.Wants...)
	w.held = append(w.held, i)
	defer func() { w.held = w.held[:len(w.held)-1] }()
	u := w.user(ctx)
	op := w.run.history.Call(w.name, recipe.Name, want.Kind, want.Permits)
	try := w.rng.IntN(4) == 0
	b := w.bound(ctx, recipe.Name, bounded && !try)
	defer b.end()
	if want.Do != nil && !try && w.rng.IntN(5) == 0 {
		return w.do(ctx, b, &hold{recipe: recipe, want: want, op: op, user: u, inDo: true})
	}
	acquire := want.Acquire
	if try {
		acquire = want.Try
	}
	began := time.Now()
	first, err := acquire(b, u, op)
	switch {
	case errors.Is(err, coord.ErrBusy):
		op.Busy(b.overdue(began))
		return false
	case err != nil:
		op.Failed(err, b.over(), b.overdue(began))
		return false
	}
	op.Granted(first, first.Session().ID())
	h := &hold{recipe: recipe, want: want, op: op, user: u, all: []held{{first, want.Kind}}}
	w.use(ctx, h)
	w.release(ctx, h)
	return true
}

// use does what a program does with what it holds.
func (w *worker) use(ctx context.Context, h *hold) {
	w.rest(ctx, h)
	for range w.rng.IntN(w.mix.most + 1) {
		if w.over(ctx) || pick(w.rng, w.mix.steps...)(w, ctx, h) {
			return
		}
	}
}

// over reports whether programs are to come to an end.
func (w *worker) over(ctx context.Context) bool {
	select { // not a wait: the default makes it a look
	case <-w.stop:
	case <-w.run.history.Broken():
	case <-ctx.Done():
	default:
		return false
	}
	return true
}

// rest holds for a while, unless the hold is lost.
func (w *worker) rest(ctx context.Context, h *hold) {
	most := w.mix.briefly
	if w.rng.IntN(w.mix.long) == 0 {
		most = longTTLs * w.run.h.TTL
	}
	keep := time.NewTimer(anyTime(w.rng, most))
	defer keep.Stop()
	select { // whichever comes first: the hold itself says afterwards whether it is lost
	case <-keep.C:
	case <-h.all[len(h.all)-1].Context().Done():
	case <-ctx.Done():
	case <-w.run.history.Broken():
	case <-w.stop:
	}
}

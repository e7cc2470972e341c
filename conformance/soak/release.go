package soak

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
)

// release releases all that a hold consists of, in any order, and then now and then
// tries what must not work any more.
func (w *worker) release(ctx context.Context, h *hold) {
	for len(h.all) > 1 {
		w.leaveOne(ctx, h)
	}
	last := h.all[0]
	if h.racing && w.rng.IntN(2) == 0 {
		w.releaseEarly(ctx, h, last)
		return
	}
	h.others.Wait()
	lost := h.loss(last)
	h.op.Releasing(lost)
	w.run.turns.released(h.recipe.Name)
	b := w.releaseBound(ctx, h, last)
	defer b.end()
	began := time.Now()
	err := last.Release(b)
	h.op.Released(lost != nil || errors.Is(err, coord.ErrNotHeld), err, b.overdue(began))
	if lost == nil {
		w.releaseAgain(ctx, h, last, err)
	}
	if w.rng.IntN(3) == 0 {
		w.stale(ctx, h, last)
	}
}

// loss says why a hold is lost, or is nil. That another one of the program has released
// it is no loss.
func (h *hold) loss(last held) error {
	if err := last.Err(); !h.racing || !errors.Is(err, coord.ErrReleased) {
		return err
	}
	return nil
}

// releaseBound makes the ctx of a release: also one that is the hold's own, as under
// a deferred release, which then counts for nothing but its deadline.
func (w *worker) releaseBound(ctx context.Context, h *hold, last held) *bound {
	if w.rng.IntN(8) == 0 {
		b := within(last.Context())
		b.ignored = true
		return b
	}
	return w.bound(ctx, h.recipe.Name, false)
}

// leaveOne releases one of several holds of the same thing, which ends nothing else.
func (w *worker) leaveOne(ctx context.Context, h *hold) bool {
	if len(h.all) < 2 {
		return false
	}
	i := w.rng.IntN(len(h.all))
	if h.inDo { // which releases the first
		i = 1 + w.rng.IntN(len(h.all)-1)
	}
	one := h.all[i]
	h.all, h.past = slices.Delete(h.all, i, i+1), append(h.past, one)
	for range 1 + w.rng.IntN(2) { // again changes nothing
		b := w.bound(ctx, h.recipe.Name, false)
		began := time.Now()
		err := one.Release(b)
		h.op.Did("releases one of several holds of", err, b.over(), b.overdue(began))
		b.end()
	}
	if one.Err() == nil {
		h.op.Wrong(history.Repetition, "one of its holds was released, and is not over")
	}
	for _, other := range h.all {
		if err := other.Err(); errors.Is(err, coord.ErrReleased) && !h.racing {
			h.op.Wrong(history.Repetition, "one of several holds was released, and another is over: %v", err)
		}
	}
	return false
}

// releaseEarly releases while others of the program may enter and leave: it is over
// when all have left.
func (w *worker) releaseEarly(ctx context.Context, h *hold, last held) {
	b := w.releaseBound(ctx, h, last)
	defer b.end()
	began := time.Now()
	err := last.Release(b)
	unconfirmed := err != nil && !errors.Is(err, coord.ErrNotHeld) // and goes on in the background
	if !unconfirmed {
		h.op.Did("releases what others may have entered,", err, b.over(), b.overdue(began))
	}
	h.others.Wait()
	lost := h.loss(last)
	h.op.Releasing(lost)
	w.run.turns.released(h.recipe.Name)
	h.op.Released(lost != nil, nil, 0)
}

// releaseAgain releases what was released, which waits for what is not confirmed yet
// and otherwise changes nothing.
func (w *worker) releaseAgain(ctx context.Context, h *hold, last held, unconfirmed error) {
	if w.rng.IntN(3) > 0 || errors.Is(unconfirmed, coord.ErrNotHeld) {
		return
	}
	b := w.bound(ctx, h.recipe.Name, false)
	defer b.end()
	began := time.Now()
	err := last.Release(b)
	h.op.Did("releases once more", err, b.over(), b.overdue(began))
	if errors.Is(err, coord.ErrNotHeld) {
		w.run.history.Violated(history.Repetition, h.recipe.Name, "%s has released %s, and releasing it again says: %v", w.name, h.recipe.Name, err)
	}
}

// stale does with what was held what works only while it is.
func (w *worker) stale(ctx context.Context, h *hold, last held) {
	bad := func(p history.Promise, what string, err error) {
		w.run.history.Violated(p, h.recipe.Name, "%s has let go of %s, and %s: %v; want an error that Is %v", w.name, h.recipe.Name, what, err, coord.ErrNotHeld)
	}
	b := within(ctx)
	defer b.end()
	if l, ok := last.Hold.(proclaimer); ok {
		if err := l.Proclaim(b, []byte(valueOf(h.op, 99))); b.Err() == nil && !errors.Is(err, coord.ErrNotHeld) {
			bad(history.Value, "proclaims", err)
		}
	}
	if h.want.Downgrade != nil && last.kind == h.want.Kind {
		if _, err := h.want.Downgrade(b, h.user, last.Hold); b.Err() == nil && !errors.Is(err, coord.ErrNotHeld) {
			bad(history.Trade, "downgrades it", err)
		}
	}
	if _, err := last.Revoked(b); b.Err() == nil && !errors.Is(err, coord.ErrNotHeld) {
		bad(history.Revocation, "listens for requests to release it", err)
	}
	if len(h.want.Enter) > 0 {
		if inner, err := pick(w.rng, h.want.Enter...).By(last.Context(), h.user); err == nil {
			bad(history.Reentry, "enters it again", err)
			_ = inner.Release(ctx) // the violation is the news
		}
	}
}

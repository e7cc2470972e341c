package soak

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
)

// step is something that a holder does. It reports whether the holder is to let go.
type step func(w *worker, ctx context.Context, h *hold) (enough bool)

// steps are all that holders do, beside holding for a while.
var steps = []step{
	func(w *worker, ctx context.Context, h *hold) bool { w.rest(ctx, h); return false },
	(*worker).enter,
	(*worker).enter,
	(*worker).leaveOne,
	(*worker).enterRefused,
	(*worker).race,
	(*worker).nest,
	(*worker).nest,
	(*worker).downgrade,
	(*worker).proclaim,
	(*worker).listen,
	func(w *worker, ctx context.Context, h *hold) bool { w.beside(ctx, h.recipe); return false },
}

// enter enters again what is held, under the context of one of its holds.
func (w *worker) enter(ctx context.Context, h *hold) bool {
	if len(h.want.Enter) == 0 {
		return false
	}
	b := w.under(ctx, h)
	defer b.end()
	over := b.Err()
	if over == nil {
		over = h.lost()
	}
	began := time.Now()
	way := pick(w.rng, h.want.Enter...)
	inner, err := way.By(b, h.user)
	if err == nil {
		h.op.Entered(inner, over)
		h.all = append(h.all, held{inner, way.Kind})
		return false
	}
	h.op.Did("cannot enter again", err, b.over(), b.overdue(began))
	if errors.Is(err, coord.ErrBusy) {
		h.op.Wrong(history.Reentry, "entering it again fails: %v", err)
	}
	return false
}

// lost says why all of the hold is over, or is nil.
func (h *hold) lost() (err error) {
	for _, one := range h.all {
		if err = one.Err(); !errors.Is(err, coord.ErrNotHeld) {
			return nil
		}
	}
	return err
}

// under makes the ctx of a call that a holder makes under what it holds: mostly that
// of one of its holds, and now and then one of a hold that was released, or one that
// does not end with the hold and still says whose it is.
func (w *worker) under(ctx context.Context, h *hold) *bound {
	under := pick(w.rng, h.all...).Context()
	switch w.rng.IntN(6) {
	case 0:
		if !h.racing { // else it may be over, and nothing be entered again
			under = context.WithoutCancel(under)
		}
	case 1:
		if len(h.past) > 0 {
			under = pick(w.rng, h.past...).Context()
		}
	}
	both, cancel := context.WithCancel(under)
	context.AfterFunc(ctx, cancel)
	return w.bound(both, h.recipe.Name, false)
}

// enterRefused acquires in a way that what is held excludes for good.
func (w *worker) enterRefused(ctx context.Context, h *hold) bool {
	if len(h.want.Refused) == 0 {
		return false
	}
	b := w.under(ctx, h)
	defer b.end()
	over := b.Err()
	began := time.Now()
	inner, err := pick(w.rng, h.want.Refused...).By(b, h.user)
	switch {
	case err == nil:
		h.op.Wrong(history.Reentry, "it was let in once more, with token %d; want the error %v", inner.Token(), h.want.Refusal)
		_ = inner.Release(ctx) // the violation is the news
	case h.lost() != nil: // and so excludes nothing
	case !errors.Is(err, h.want.Refusal) || over != nil:
		h.op.Did("is refused", err, b.over(), b.overdue(began))
	}
	return false
}

// nest acquires something under what is held or beside it, be it the same once more. It
// waits without end only for what is waited for later than all that is held.
func (w *worker) nest(ctx context.Context, h *hold) bool {
	i := w.rng.IntN(len(w.mix.recipes))
	inner := w.life // under which nothing is entered again
	if !slices.Contains(w.held, i) && w.rng.IntN(2) == 0 {
		b := w.under(ctx, h)
		defer b.end()
		inner = b
	}
	w.take(inner, i, i <= slices.Max(w.held))
	return false
}

// downgrade makes another hold of what is held.
func (w *worker) downgrade(ctx context.Context, h *hold) bool {
	if h.want.Downgrade == nil || h.inDo {
		return false
	}
	writer := pick(w.rng, h.all...)
	if writer.kind != h.want.Kind {
		return false
	}
	b := w.bound(ctx, h.recipe.Name, false)
	defer b.end()
	began := time.Now()
	if len(h.all) > 1 {
		_, err := h.want.Downgrade(b, h.user, writer.Hold)
		if !errors.Is(err, coord.ErrInvalid) {
			h.op.Did("downgrades, which it holds several times,", err, b.over(), b.overdue(began))
		}
		if err == nil {
			h.op.Wrong(history.Trade, "it was downgraded, and is held %d times", len(h.all))
		}
		return false
	}
	if w.rng.IntN(6) == 0 { // somebody releases it at the same time
		h.racing = true
		soon := anyTime(w.rng, w.mix.briefly)
		h.others.Go(func() {
			Pause(ctx, soon)
			_ = writer.Release(ctx) // the downgrade tells what has become of it
		})
		defer h.others.Wait()
	}
	h.op.Downgrading()
	reader, err := h.want.Downgrade(b, h.user, writer.Hold)
	if err != nil {
		h.op.NotDowngraded(err)
		if !h.racing || !errors.Is(err, coord.ErrInvalid) { // somebody else may be in
			h.op.Did("does not downgrade", err, b.over(), b.overdue(began))
		}
		return false
	}
	h.op.Downgraded(reader)
	h.want = *h.want.Downgraded
	h.all = []held{{reader, h.want.Kind}}
	if over := writer.Err(); over == nil {
		h.op.Wrong(history.Trade, "it was downgraded, and still is held as it was")
	}
	return false
}

// proclaim changes the value of a leader, and looks whether it is shown.
func (w *worker) proclaim(ctx context.Context, h *hold) bool {
	l, ok := h.all[0].Hold.(proclaimer)
	if !ok || h.inDo {
		return false
	}
	for range 1 + w.rng.IntN(3) {
		h.values++
		value := valueOf(h.op, h.values)
		h.op.Proclaiming(value)
		b := w.bound(ctx, h.recipe.Name, false)
		began := time.Now()
		err := l.Proclaim(b, []byte(value))
		h.op.Did("proclaims as the holder of", err, b.over(), b.overdue(began))
		b.end()
		if err == nil {
			h.op.Proclaimed()
		}
	}
	return false
}

// listen waits until somebody asks the holder to let go, and then does.
func (w *worker) listen(ctx context.Context, h *hold) bool {
	if h.inDo {
		return false
	}
	listening, cancel := context.WithTimeout(ctx, anyTime(w.rng, longTTLs*w.run.h.TTL))
	defer cancel()
	stopped := within(listening)
	defer stopped.end()
	defer stopWith(w.stop, stopped.end)()
	began := time.Now()
	ear := h.op.Listening()
	r, err := pick(w.rng, h.all...).Revoked(stopped)
	if err != nil {
		ear.Ended(err, stopped.over(), stopped.overdue(began))
		return false
	}
	ear.Heard(r)
	return w.rng.IntN(4) > 0
}

// race has somebody else of the program enter what is held, at some time soon, for a
// while. The program goes on meanwhile.
func (w *worker) race(ctx context.Context, h *hold) bool {
	if len(h.want.Enter) == 0 || h.inDo {
		return false
	}
	h.racing = true
	b := within(pick(w.rng, h.all...).Context())
	context.AfterFunc(ctx, b.end)
	want, way := h.want, pick(w.rng, h.want.Enter...)
	soon, brief := anyTime(w.rng, w.mix.briefly), anyTime(w.rng, w.mix.briefly)
	h.others.Go(func() {
		defer b.end()
		Pause(ctx, soon)
		over := b.Err()
		began := time.Now()
		inner, err := way.By(b, h.user)
		switch {
		case err == nil:
			h.op.Entered(inner, over)
			Pause(ctx, brief)
			err := inner.Release(ctx)
			h.op.Did("releases one of several holds of", err, ctx.Err(), 0)
		case want.Downgraded != nil && errors.Is(err, want.Downgraded.Refusal): // it was downgraded meanwhile
		default:
			h.op.Did("cannot enter again", err, b.over(), b.overdue(began))
		}
	})
	return false
}

// stopWith calls end when c is closed, unless the function that it returns is called
// before.
func stopWith(c <-chan struct{}, end func()) (stop func()) {
	over := make(chan struct{})
	go func() { // ends with either
		select {
		case <-c:
			end()
		case <-over:
		}
	}()
	return func() { close(over) }
}

// reason is why somebody asks a holder to let go: each time another one.
func (w *worker) reason() string {
	return fmt.Sprintf("%s needs it %d", w.name, w.run.reasons.Add(1))
}

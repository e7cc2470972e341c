package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// heldKey finds the entry that a context was handed out for. The client and
// the directory are part of it, so a context can speak for several locks, and
// every value of one lock's type finds the same entry.
type heldKey struct {
	client *coord.Client
	dir    string
}

// Hold adds a hold on an entry that was granted. The entry is left when the
// last of its holds is released. The hold's context carries the entry, for
// Reenter, and the values of ctx.
func (e *Entry) Hold(ctx context.Context) (*coord.Hold, error) {
	h := coord.NewHold(ctx, e.queue.what, e.session, e.token, e.queue.held, e)
	if err := h.Err(); err != nil { // the session is over, or is about to be closed
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.removed != nil {
		h.End(e.removed)
		return nil, h.Err()
	}
	if e.released || e.leaving { // the last of its holds was released in this moment
		h.End(nil)
		return nil, h.Err()
	}
	if e.holds == nil {
		e.holds = e.one[:0]
	}
	e.holds = append(e.holds, h)
	return h, nil
}

// Entered returns the entry that ctx was handed out for, or what it was traded for, if
// there is one on this queue and it was not released: what Reenter would enter again.
func (q *Queue) Entered(ctx context.Context) *Entry {
	e, _ := ctx.Value(q.held).(*Entry)
	for e != nil {
		e.mu.Lock()
		released, standIn := e.released, e.standIn
		e.mu.Unlock()
		if !released {
			return e
		}
		e = standIn
	}
	return nil
}

// Reenter adds a hold on the entry that ctx was handed out for, if there is
// one on this queue and it was not released. It returns nil and no error where
// there is nothing to re-enter. If the entry was lost, whoever runs under ctx
// must not go on: the error Is coord.ErrNotHeld.
//
// refuse, which may be nil, is asked about the entry before, and its error is what
// Reenter returns. It goes by what does not change while the entry stands: when it is
// traded in this moment, it is asked about the other.
func (q *Queue) Reenter(ctx context.Context, refuse func(*Entry) error) (*Entry, *coord.Hold, error) {
	for e := q.Entered(ctx); e != nil; {
		if ctx.Err() != nil { // this hold of the entry has ended, if others have not
			return nil, nil, q.fail("re-enter", q.ended(ctx, e))
		}
		if refuse != nil {
			if err := refuse(e); err != nil {
				return nil, nil, err
			}
		}
		h, err := e.Hold(ctx)
		if err == nil {
			return e, h, nil
		}
		now := q.Entered(ctx)
		if now == nil || now == e {
			return nil, nil, q.fail("re-enter", err)
		}
		e = now
	}
	return nil, nil, nil
}

// ended says why a ctx has ended that was handed out for e. If e was lost, or the hold
// behind ctx was released, the error Is that as well. Else the cause may be the loss of
// another line's entry, which is no loss of e.
func (q *Queue) ended(ctx context.Context, e *Entry) error {
	if lost := e.over(); lost != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), notHeld(lost))
	}
	cause := context.Cause(ctx)
	if of, ok := cause.(*coord.Error); ok && of.Op == q.what && errors.Is(cause, coord.ErrReleased) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return driver.ContextError(ctx)
}

// Release ends h, and leaves the line with the last hold of the entry. It is
// idempotent, and safe to call again after an error, as Leave is. If h was lost
// before, the error says so and Is coord.ErrNotHeld: what was done under it may
// not have been protected.
func (e *Entry) Release(ctx context.Context, h *coord.Hold) error {
	e.hearOut(ctx)
	before := h.Err()
	h.End(nil)
	if ctx.Err() != nil && context.Cause(ctx) == context.Cause(h.Context()) {
		// It is the hold's own, or of that, and so cannot bound what comes after. Its
		// deadline can.
		due, any := ctx.Deadline()
		ctx = e.session.Context()
		if any {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, due)
			defer cancel()
		}
	}
	e.mu.Lock()
	e.holds = slices.DeleteFunc(e.holds, func(other *coord.Hold) bool { return other == h })
	last := len(e.holds) == 0
	lost := before != nil && !errors.Is(before, coord.ErrReleased)
	e.released = e.released || last && !lost
	e.mu.Unlock()
	if lost {
		if last {
			e.discard()
		}
		return e.queue.fail("release", before)
	}
	if !last {
		return nil
	}
	if err := e.Leave(ctx); err != nil {
		return e.queue.fail("release", err)
	}
	if e.queue.aheadPays() {
		e.roster.letGo(e.dir)
	}
	return nil
}

// hearOut waits, within ctx, for the answer to why the entry is gone, if the store is
// being asked that (see vanishUnasked): the hold is lost, and is not to pass for released
// because that is about to be told.
func (e *Entry) hearOut(ctx context.Context) {
	e.mu.Lock()
	asking := e.probing
	e.mu.Unlock()
	if !asking {
		return
	}
	select { // whoever is left without an answer is told what is known
	case <-e.whenGone():
	case <-e.session.Done():
	case <-ctx.Done():
	}
}

// Do runs fn under h and releases h afterwards, whichever way fn ends. fn's ctx
// ends with h or with ctx. If h was lost the error also Is coord.ErrNotHeld. A
// release that is merely unconfirmed is no failure of fn's work: it goes on.
func (e *Entry) Do(ctx context.Context, h *coord.Hold, fn func(ctx context.Context) error) (err error) {
	work, cancel := h.Within(ctx)
	defer func() {
		cancel()
		if release := e.Release(ctx, h); errors.Is(release, coord.ErrNotHeld) {
			err = errors.Join(err, release)
		}
	}()
	return fn(work)
}

package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// heldKey is the key of an entry in the contexts of its holds.
type heldKey struct {
	client *coord.Client
	dir    string
}

func (q *Queue) heldKey() heldKey { return heldKey{q.client, q.dir} }

// Hold adds a hold to an entry that was granted. The hold's context carries the entry, for
// Reenter, and the values of ctx; ctx does not bound it. If the entry was lost or released,
// the error Is coord.ErrNotHeld.
func (e *Entry) Hold(ctx context.Context) (*coord.Hold, error) {
	h := coord.NewHold(ctx, e.queue.what, e.session, e.token, e.queue.heldKey(), e)
	if err := h.Err(); err != nil { // the session is over, or is about to be closed
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.released || e.leaving {
		h.End(e.removed)
		return nil, h.Err()
	}
	e.holds = append(e.holds, h)
	return h, nil
}

// Entered returns the entry that Reenter would enter: the one that ctx was handed out for,
// or its successor after a Downgrade; or nil, also if it was released.
func (q *Queue) Entered(ctx context.Context) *Entry {
	e, _ := ctx.Value(q.heldKey()).(*Entry)
	for e != nil {
		e.mu.Lock()
		released, successor := e.released, e.successor
		e.mu.Unlock()
		if !released {
			break
		}
		e = successor
	}
	return e
}

// Reenter adds a hold to the entry that ctx was handed out for. It returns nil and no
// error if there is nothing to re-enter. If the entry was lost, the error Is
// coord.ErrNotHeld: the caller, which runs under ctx, must not go on. refuse, which may be
// nil, is asked about the entry before, and about its successor if it is downgraded then.
func (q *Queue) Reenter(ctx context.Context, refuse func(*Entry) error) (*Entry, *coord.Hold, error) {
	for e := q.Entered(ctx); e != nil; {
		if ctx.Err() != nil { // this hold of the entry has ended, if others have not
			return nil, nil, q.fail("re-enter", q.whyOver(ctx, e))
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

// whyOver says why a ctx has ended that was handed out for e: e was lost, the hold behind
// ctx was released, or another line's entry was lost, which is no loss of e.
func (q *Queue) whyOver(ctx context.Context, e *Entry) error {
	if lost := e.lost(); lost != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), notHeld(lost))
	}
	cause := context.Cause(ctx)
	if of, ok := cause.(*coord.Error); ok && of.Op == q.what && errors.Is(cause, coord.ErrReleased) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return driver.ContextError(ctx)
}

// Release ends h, and leaves the line with the last hold of the entry. After an error it may
// be called again, as Leave. If h was lost before, the error Is coord.ErrNotHeld: what was
// done under it may not have been protected. ctx bounds the call and not the release; of the
// hold's own context only the deadline counts.
func (e *Entry) Release(ctx context.Context, h *coord.Hold) (err error) {
	defer e.queue.named("release", &err)
	e.mu.Lock()
	asking := e.asking
	e.mu.Unlock()
	if asking { // the hold is lost, and must not pass for released because that is about to be known
		e.awaitGone(ctx)
	}
	before := h.Err()
	h.End(nil)
	if context.Cause(ctx) == context.Cause(h.Context()) { // which has ended
		due, ok := ctx.Deadline()
		ctx = e.session.Context()
		if ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, due)
			defer cancel()
		}
	}
	lost := before != nil && !errors.Is(before, coord.ErrReleased)
	e.mu.Lock()
	held := len(e.holds) > 0
	e.holds = slices.DeleteFunc(e.holds, func(other *coord.Hold) bool { return other == h })
	last := len(e.holds) == 0
	e.released = e.released || held && last && !lost
	e.mu.Unlock()
	switch {
	case lost: // and with it the node
		return before
	case last:
		return e.Leave(ctx)
	}
	return nil
}

// Do runs fn under h and releases h afterwards, also if fn panics. fn's ctx ends with h
// and with ctx. It returns fn's error; if h was lost the error also Is coord.ErrNotHeld.
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

// Write replaces the value that is stored with the entry. Of several calls the last one to
// begin counts. ctx and the session's TTL bound the call. If the entry is gone or its session
// over, the error Is coord.ErrNotHeld. After another error the value may have been written.
func (e *Entry) Write(ctx context.Context, value []byte) (err error) {
	defer e.queue.named("write", &err)
	select { // one at a time: a repeated request must not undo a later one
	case e.writing <- struct{}{}:
		defer func() { <-e.writing }()
	case <-ctx.Done():
		return driver.ContextError(ctx)
	}
	data := e.encode(value)
	err = e.session.Retry(ctx, func(ctx context.Context) error {
		_, err := e.session.Driver().Update(ctx, e.node, data)
		return err
	})
	why := e.lost()
	if errors.Is(err, driver.ErrGone) {
		why = cmp.Or(e.whyGone(ctx), err)
	}
	if err != nil && why != nil {
		return notHeld(why)
	}
	return err
}

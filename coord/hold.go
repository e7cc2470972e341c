package coord

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Hold is what an acquire gives: the proof, as far as a distributed system can
// give one, of holding a lock, a permit or a leadership. Recipes embed it in
// what they return. All methods are safe for concurrent use.
type Hold struct {
	session  *Session
	token    uint64
	ctx      holdContext
	released Error // how the hold ends, unless it is lost
}

// NewHold makes a hold that lasts while session does, or until End. It is for
// authors of recipes; what names the thing held, for errors. Its context keeps
// the values of ctx, but not its deadline or cancellation, for those bounded
// the acquire, and has value for key, by which the recipe finds its own again;
// key is nil or comparable, as with context.WithValue.
func NewHold(ctx context.Context, what string, session *Session, token uint64, key, value any) *Hold {
	h := &Hold{session: session, token: token}
	h.released = Error{Op: what, Kind: ErrNotHeld, Err: ErrReleased}
	h.ctx.life, h.ctx.values, h.ctx.key, h.ctx.value = session.holds, ctx, key, value
	return h
}

// lost says that what was held is not any more, and why.
func lost(what string, why error) error { return &Error{Op: what, Kind: ErrNotHeld, Err: why} }

// Context lives as long as the hold: it is cancelled when the hold is lost, before
// another client can acquire, and when it is released. Work that needs the lock runs
// under it. context.Cause says why it ended, as Err does; after a pause of the process,
// Err knows of a loss a moment earlier. Another lock that is acquired under it is a
// separate hold, which does not end with this one: work that needs both runs under
// inner.Within(outer.Context()). It carries the values of the ctx that was given to the
// acquire, and no deadline.
func (h *Hold) Context() context.Context { return &h.ctx }

// Token is the fencing token: it rises strictly from grant to grant of one
// lock, with gaps, for as long as the store is the same and not set back. A resource
// that is given the token with every write, and refuses any lower than the highest it
// has seen, is safe even from a holder that was paused and does not yet know that it
// has lost the lock. What a token says of a thing that several hold at a time is in
// the recipe's documentation.
func (h *Hold) Token() uint64 { return h.token }

// String names what is held, with its token. It does not say whether it still is.
func (h *Hold) String() string { return fmt.Sprintf("%s (token %d)", h.released.Op, h.token) }

// Done is closed when the hold ends: Context().Done().
func (h *Hold) Done() <-chan struct{} { return h.ctx.Done() }

// Err is nil while the hold can be proved, and then an error that Is
// ErrNotHeld: after a release it also Is ErrReleased, after a loss
// ErrSessionLost, ErrRemoved or ErrClosed.
// It asks the clock: a process that was paused gets the right answer from its
// first call on, before Context has been cancelled.
func (h *Hold) Err() error {
	err := h.ctx.why()
	if err == nil {
		over := h.session.Err()
		if over == nil {
			return nil
		}
		h.ctx.finish(lost(h.released.Op, over))
		err = h.ctx.why()
	}
	if shared, ok := err.(*Error); ok && shared.Op == "" { // the session's, for all that was held on it
		return lost(h.released.Op, shared.Err)
	}
	return err
}

// Within returns a context for work that needs both the hold and ctx: it ends when
// either does, with the cause of the first. It also has ctx's deadline, at which its
// cause is context.DeadlineExceeded. It carries the values of the hold's context. The
// caller calls cancel when the work is done.
func (h *Hold) Within(ctx context.Context) (work context.Context, cancel context.CancelFunc) {
	base, done := h.Context(), context.CancelFunc(func() {})
	due, any := ctx.Deadline()
	if any {
		base, done = context.WithDeadline(base, due)
	}
	work, end := context.WithCancelCause(base)
	follow := func() {
		if any && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			soon := time.NewTimer(sameMoment)
			select { // ended below by whichever comes first, so any will do
			case <-base.Done(): // at the same time, and it says that it was the deadline
			case <-soon.C: // a clock was set meanwhile, so its timer is another
			}
			soon.Stop()
		}
		end(context.Cause(ctx))
	}
	if ctx.Err() != nil { // AfterFunc would see to it, and a moment later
		follow()
	}
	stop := context.AfterFunc(ctx, follow)
	return work, func() {
		stop()
		end(context.Canceled)
		done()
	}
}

// sameMoment is how far two timers of one deadline may be apart.
const sameMoment = 10 * time.Millisecond

// Session is the session that the hold is bound to.
func (h *Hold) Session() *Session { return h.session }

// End ends the hold for the reason why, or as released if why is nil. Only the
// first end counts. It is for authors of recipes.
func (h *Hold) End(why error) {
	if why == nil {
		h.ctx.finish(&h.released)
		return
	}
	h.ctx.finish(lost(h.released.Op, why))
}

package history

import (
	"errors"
	"slices"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// inForce reports whether the context of the hold lives, or of one by which it was
// entered again.
func (op *Op) inForce() bool {
	return op.hold.Context().Err() == nil ||
		slices.ContainsFunc(op.more, func(h Hold) bool { return h.Context().Err() == nil })
}

// Entered records that the hold was entered again, and judges that it may have been
// and is the same. over is what was known, before the call, of the context that it
// was entered under: its error, or nil. The hold counts until all of it is over.
func (op *Op) Entered(hold Hold, over error) {
	h := op.h
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(op.name, op.who, "enters %s again, token %d", op.wanted(), hold.Token())
	op.more = append(op.more, hold)
	switch {
	case over != nil:
		h.breach(Reentry, op.name, "%s entered %s again under a context that had ended: %v", op.who, op.wanted(), over)
	case hold.Token() != op.token:
		h.breach(Reentry, op.name, "%s, which holds %s with token %d, entered it again and got token %d", op.who, op.wanted(), op.token, hold.Token())
	}
}

// Did records that a call of the holder's has ended, other than a release, and how
// long after the end of its ctx. Its error has to say that the ctx has ended, with
// the error given, that the hold is over, or have a cause.
func (op *Op) Did(what string, err, ended error, overdue time.Duration) {
	h := op.h
	h.mu.Lock()
	defer h.mu.Unlock()
	op.punctual(what, overdue)
	switch {
	case err == nil:
		h.add(op.name, op.who, "%s %s with token %d", what, op.wanted(), op.token)
		return
	case ended != nil && errors.Is(err, ended):
	case errors.Is(err, coord.ErrReleased):
	default:
		op.justify(what, err)
	}
	h.add(op.name, op.who, "%s %s with token %d: %v", what, op.wanted(), op.token, err)
}

// Wrong records a violation of a promise that is about the hold, which counts only
// while no operator and no loss has had a hand in it.
func (op *Op) Wrong(p Promise, format string, args ...any) {
	h := op.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if op.undisturbed() {
		h.breach(p, op.name, "%s, which holds %s with token %d: "+format, append([]any{op.who, op.wanted(), op.token}, args...)...)
	}
}

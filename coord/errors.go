package coord

import (
	"errors"

	"github.com/coordkit/coordkit/coord/driver"
)

// Error is the error of every operation: what was done, on which store, to
// what, of which kind, and the cause as it came. errors.Is finds both the kind
// and the cause.
type Error = driver.Error

// The kinds of errors that drivers and recipes share, for errors.Is. The end
// of a ctx always shows as context.Canceled or context.DeadlineExceeded, alone
// or beside one of these.
var (
	// ErrSessionLost: the session is over, or can no longer be proved alive. Another
	// client may already hold the lock.
	ErrSessionLost = driver.ErrSessionLost

	// ErrClosed: the client or session was closed.
	ErrClosed = driver.ErrClosed

	// ErrUnavailable: the store could not be reached; the call had no effect.
	ErrUnavailable = driver.ErrUnavailable

	// ErrUncertain: the reply was lost; the call may have had its effect.
	ErrUncertain = driver.ErrUncertain

	// ErrUnsupported: the store cannot do this.
	ErrUnsupported = driver.ErrUnsupported

	// ErrInvalid: an argument or a setting is wrong.
	ErrInvalid = driver.ErrInvalid

	// ErrDenied: the store refused the credentials or the permission. If the error
	// Is ErrUncertain too, that was after a change that may have been made.
	ErrDenied = driver.ErrDenied

	// ErrNotHeld: the lock, permit or leadership is not held: it was released,
	// or lost. The error also Is ErrReleased, or ErrSessionLost, ErrRemoved or
	// ErrClosed.
	ErrNotHeld = errors.New("not held")

	// ErrReleased: the hold ended because its owner released it. Such an error
	// also Is ErrNotHeld.
	ErrReleased = errors.New("released by its owner")

	// ErrRemoved: an entry of a queue was deleted in the store, but not by its owner,
	// as an operator does to evict a holder or waiter.
	ErrRemoved = errors.New("entry was removed from the store")

	// ErrBusy: a call that does not wait, such as TryLock, would have had to.
	ErrBusy = errors.New("held by another")
)

// Lost reports whether err says that a hold or a place in a line was lost, as opposed
// to given up. A caller that still wants it has to acquire it again. It is true for
// ErrSessionLost and ErrRemoved.
func Lost(err error) bool {
	return errors.Is(err, ErrSessionLost) || errors.Is(err, ErrRemoved)
}

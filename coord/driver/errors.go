package driver

import (
	"context"
	"errors"
	"strings"
)

// The kinds of errors, for errors.Is.
var (
	// ErrSessionLost: the session is over, or can no longer be proved alive.
	ErrSessionLost = errors.New("session lost")

	// ErrClosed: the connection, client or session was closed by its owner.
	ErrClosed = errors.New("closed")

	// ErrUnavailable: the store could not be reached and the call surely had
	// no effect. It may be made again.
	ErrUnavailable = errors.New("store unavailable")

	// ErrUncertain: the reply was lost; the call may have had its effect, or
	// may still have it.
	ErrUncertain = errors.New("outcome unknown")

	// ErrGone: the node to update no longer exists.
	ErrGone = errors.New("node is gone")

	// ErrUnsupported: the store or its driver cannot do this.
	ErrUnsupported = errors.New("unsupported")

	// ErrInvalid: an argument or a setting is wrong. The message says which,
	// and what is valid.
	ErrInvalid = errors.New("invalid")

	// ErrDenied: the store refused the credentials or the permission. Trying
	// again does not help. A call that has had its effect, or may have, and was
	// refused what comes after, fails with an error that Is ErrUncertain too.
	ErrDenied = errors.New("permission denied")
)

// Error is the error of every operation on a store. It matches its Kind and
// its cause with errors.Is and errors.As.
type Error struct {
	Op    string // what was done, as "create"
	Store string // the scheme of the store, as "etcd"
	Key   string // what it was done to; may be empty
	Kind  error  // one of the sentinels of this package; may be nil
	Err   error  // the cause as it came, a context's error included; may be nil
}

// Error puts the parts into one line: "etcd: create mutex:a: outcome unknown:
// context deadline exceeded".
func (e *Error) Error() string {
	parts := make([]string, 0, 4)
	if e.Store != "" {
		parts = append(parts, e.Store)
	}
	if op := strings.TrimSpace(e.Op + " " + e.Key); op != "" {
		parts = append(parts, op)
	}
	if e.Kind != nil {
		parts = append(parts, e.Kind.Error())
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	var errs []error
	if e.Kind != nil {
		errs = append(errs, e.Kind)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

// Transient reports whether err says that the store did not answer, so that
// the same call may be made again: it Is ErrUnavailable or ErrUncertain, and not
// ErrDenied.
func Transient(err error) bool {
	return (errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUncertain)) && !errors.Is(err, ErrDenied)
}

// ContextError says why ctx ended: an error that Is ctx.Err(). It is nil while ctx
// lives. A cause that was given is in its text, and no more. It may be an error of
// another call on another session, and a caller that asks for the kind of this failure
// must not be told of that. The caller, whose ctx it is, has context.Cause.
func ContextError(ctx context.Context) error {
	err := ctx.Err() // before the cause, which may be there a moment later
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != err {
		return &contextError{err, cause}
	}
	return err
}

// contextError is the end of a context for which a cause was given.
type contextError struct{ err, cause error }

func (e *contextError) Error() string { return e.err.Error() + ": " + e.cause.Error() }
func (e *contextError) Unwrap() error { return e.err }

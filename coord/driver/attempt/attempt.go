// Package attempt makes one bounded attempt of a request to a store, and says what is
// known when no answer came. Most rules about calls (B1, E1, E2, E3, W4, N1) are kept
// or broken in that one place, so a driver needs it only once.
//
// A request ends with the first of four things: the store's answer; the end of the
// caller's ctx; the end of the session or connection that makes the call, its life; and
// the attempt's own limit. If several have happened the first of this list counts.
package attempt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// Op describes a call for its errors, and bounds its attempts.
type Op struct {
	Store string // the scheme of the store, as "etcd"
	Name  string // what the call does, as "create"
	Key   string // what it does that to; may be empty
	Write bool   // it changes something in the store

	// Limit bounds an attempt. It is a fraction of the TTL, so that another attempt
	// can reach another server while the session lives (E3). 0 is no limit, for a wait
	// that heals itself.
	Limit time.Duration
}

// Failed returns the error of the call. kind is one of the sentinels of package driver,
// or nil; err is the cause, or nil.
func (o Op) Failed(kind, err error) error {
	return &driver.Error{Op: o.Name, Store: o.Store, Key: o.Key, Kind: kind, Err: err}
}

// notSent is the error of a request that never left the client.
type notSent struct{ err error }

func (e *notSent) Error() string { return e.err.Error() }
func (e *notSent) Unwrap() error { return e.err }

// NotSent marks the error of a request that was not sent, for example because dialing
// failed. After such an error a write surely had no effect.
func NotSent(err error) error { return &notSent{err} }

// conflict is the error of a request that met another one.
type conflict struct{ err error }

func (e *conflict) Error() string { return e.err.Error() }
func (e *conflict) Unwrap() error { return e.err }

// Conflict marks the error of a request that the store refused, and undid, because others
// were under way: a deadlock, a serialization failure, a locked file. Do makes the request
// again after a short pause, within the same attempt.
func Conflict(err error) error { return &conflict{err} }

// Do calls request once, with a ctx that ends with ctx, life and the limit, and returns
// when request does. After an error of Conflict it calls it again. life is the context of
// the session or of the connection; its cause (see context.Cause) says why it ended.
//
// request returns nil or a *driver.Error, as of Failed, for what the store has answered:
// Do returns that as it is. Every other error of request means that there was no answer.
// Then the error of Do Is ErrUnavailable if nothing was sent or nothing is written, and
// ErrUncertain otherwise. Its cause is the first of: ctx's error; the limit; what request
// returned. To the first two, what request returned is added if it says more. If life has
// ended the error has life's cause, and no such kind.
func (o Op) Do(ctx, life context.Context, request func(ctx context.Context) error) error {
	if ctx.Err() != nil {
		return o.Failed(driver.ErrUnavailable, driver.ContextError(ctx))
	}
	if life.Err() != nil {
		return o.Failed(nil, context.Cause(life))
	}
	attempt, cancel := bounded(ctx, o.Limit)
	defer cancel()
	stop := context.AfterFunc(life, cancel)
	defer stop()
	err := again(attempt, request)
	if _, answered := errors.AsType[*driver.Error](err); err == nil || answered {
		return err
	}
	// A client may look at the deadline itself, and be ahead of the context's timer.
	if deadline, ok := attempt.Deadline(); ok && !time.Now().Before(deadline) {
		<-attempt.Done()
	}
	kind := driver.ErrUnavailable
	_, unsent := errors.AsType[*notSent](err)
	if _, undone := errors.AsType[*conflict](err); o.Write && !unsent && !undone {
		kind = driver.ErrUncertain
	}
	switch {
	case ctx.Err() != nil:
		return o.Failed(kind, explained(driver.ContextError(ctx), err))
	case life.Err() != nil:
		return o.Failed(nil, context.Cause(life))
	case attempt.Err() != nil:
		return o.Failed(kind, explained(fmt.Errorf("no answer within %v", o.Limit), err))
	}
	return o.Failed(kind, err)
}

// again calls request until it meets no other request, or ctx ends.
func again(ctx context.Context, request func(ctx context.Context) error) error {
	// The pauses stay short: a request that has met others for long is to have the same
	// chance as one that has only just come.
	for pause := time.Millisecond; ; pause = min(2*pause, 4*time.Millisecond) {
		err := request(ctx)
		if _, met := errors.AsType[*conflict](err); !met {
			return err
		}
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

func bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit > 0 {
		return context.WithTimeout(ctx, limit)
	}
	return context.WithCancel(ctx)
}

// explained adds to the end of an attempt what was in the way, unless that is only the end
// in the words of a client or a socket.
func explained(end, err error) error {
	if timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && timeout.Timeout() || errors.Is(err, context.Canceled) || errors.Is(err, net.ErrClosed) {
		return end
	}
	return fmt.Errorf("%w: %w", end, err)
}

package zk

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

// call makes one attempt of a request. It returns within moments of the end of
// ctx, of o.limit and of the link, which the library does not: its requests
// know no time but the connection's. So each is made on a goroutine of its own,
// which the link owns and which ends with the answer or the connection.
//
// request is called with a session open. What it returns is given only if the
// caller still waits for it.
func call[T any](ctx context.Context, l *link, o op, request func(*gozk.Conn) (T, error)) (value T, _ error) {
	if why := l.ended(); why != nil {
		return value, why
	}
	if ctx.Err() != nil {
		return value, unsent(o, ctx)
	}
	attempt, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	if err := l.await(attempt, l.over, func() bool { return l.up }); err != nil {
		return value, l.unreached(ctx, o)
	}
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	var taken atomic.Bool // by whoever comes first: the request, or the caller who gives it up
	on, ok := l.spawn(func() {
		if !taken.CompareAndSwap(false, true) {
			return
		}
		value, err := request(l.zk)
		answers <- answer{value, err}
	})
	if !ok {
		return value, l.ended()
	}
	// An answer that is ready together with an end is as good as one that came
	// before; an end that is chosen instead makes the outcome uncertain, which
	// is true of the caller's knowledge.
	select {
	case a := <-answers:
		if a.err == nil {
			return a.value, nil
		}
		return a.value, l.refused(ctx, attempt, o, on, a.err)
	case <-l.over:
		return value, l.ended()
	case <-attempt.Done():
	}
	if taken.CompareAndSwap(false, true) { // and never will be sent
		return value, l.unreached(ctx, o)
	}
	return value, givenUp(ctx, o)
}

// spawn runs a request, and has the connection given up if the server is silent
// for too long: the library would wait for most of the session's timeout, and
// the next attempt could not reach another server in time. It returns the
// connection that is in use, and false if the link is retired.
func (l *link) spawn(request func()) (w *wire, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != nil {
		return nil, false
	}
	sent := time.Now()
	w = l.wire
	l.calls.Go(func() {
		alarm := time.AfterFunc(l.timing.silent, func() {
			if w.silentSince(sent) {
				w.drop("it is silent")
			}
		})
		defer alarm.Stop()
		sign := time.AfterFunc(l.timing.nudge, func() { l.nudge(w) })
		defer sign.Stop()
		request()
	})
	return w, true
}

// unreached is the error of a call that was given up while there was no
// connection.
func (l *link) unreached(ctx context.Context, o op) error {
	l.mu.Lock()
	why, trouble := l.why, l.trouble
	l.mu.Unlock()
	switch {
	case why != nil:
		return why
	case ctx.Err() != nil && trouble != nil:
		return failed(o, driver.ErrUnavailable, fmt.Errorf("%w: %w", driver.ContextError(ctx), trouble))
	case ctx.Err() != nil:
		return unsent(o, ctx)
	case trouble != nil:
		return failed(o, driver.ErrUnavailable, fmt.Errorf("no connection within %v: %w", o.limit, trouble))
	default:
		return failed(o, driver.ErrUnavailable, fmt.Errorf("no connection within %v", o.limit))
	}
}

// refused is the error of a request to which the library gives an error. If the
// connection is lost, it waits for the next one, which tells whether the session
// is lost as well: who is told of the one should be told of the other.
func (l *link) refused(ctx, attempt context.Context, o op, on *wire, err error) error {
	switch {
	case errors.Is(err, gozk.ErrSessionExpired):
		l.expire(err)
		return l.ended()
	case isAnswer(err):
		return failed(o, kindOf(err, o.write), err)
	}
	if isBroken(err) && l.await(attempt, l.over, func() bool { return l.up && l.wire != on }) != nil {
		if why := l.ended(); why != nil {
			return why
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", driver.ContextError(ctx), err)
		}
	}
	return failed(o, kindOf(err, o.write), err)
}

package coord

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
)

// The pauses between attempts: the first is about a round trip within a data
// center, the longest short against any TTL.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// Retry calls op until it succeeds, fails with an error that trying again does
// not mend, ctx ends, or the client's TTL has passed since the first failure. It is for
// authors of recipes, and for calls that may be repeated: all of a driver's may. Use it
// before there is a place in a line, to learn in useful time that the store is out of
// reach; once there is one use Session.Retry, which goes on for as long as the session
// may live. It is not for long waits: the time runs from the first failure, so a second
// failure hours later would not be retried. The pauses between attempts grow and are
// random by half, so that clients that were cut off together do not come back together.
//
// When ctx ends, the error Is the last attempt's and ctx's. If the outcome of any
// attempt is unknown, and the store was not reached, or refused, later on, the error Is
// ErrUncertain. When the client is closed, it Is ErrClosed.
func (c *Client) Retry(ctx context.Context, op func(ctx context.Context) error) error {
	return c.retryFor(ctx, c.ttl, op)
}

// retryFor is Retry that gives up when patience has passed since the first failure.
func (c *Client) retryFor(ctx context.Context, patience time.Duration, op func(ctx context.Context) error) error {
	err := op(ctx)
	if err != nil && driver.Transient(err) {
		giveUp := time.Now().Add(patience)
		err = c.retry(ctx, op, err, c.life.Done(), func() bool { return c.life.Err() != nil || !time.Now().Before(giveUp) })
		if c.life.Err() != nil && driver.Transient(err) {
			err = fmt.Errorf("%w; last: %v", ErrClosed, err) // and with the client ends what may have been done
		}
	}
	if err != nil && ctx.Err() != nil {
		return ended(ctx, err)
	}
	return err
}

// Retry is as the client's, but goes on until the session ends, or its TTL has passed
// since the first failure, whatever the client's TTL is. A place in a line is kept
// until the store is back, or there is nothing left to keep. The session may outlive
// that, if the store renews it but refuses the call. When the session ends first, the
// error is what Err says. It is for authors of recipes.
func (s *Session) Retry(ctx context.Context, op func(ctx context.Context) error) error {
	err := op(ctx)
	if err != nil && driver.Transient(err) {
		giveUp := time.Now().Add(s.TTL())
		err = s.client.retry(ctx, op, err, s.Done(), func() bool { return s.Err() != nil || !time.Now().Before(giveUp) })
		if over := s.Err(); over != nil && driver.Transient(err) {
			return over // which no attempt would have outlived
		}
	}
	if err != nil && ctx.Err() != nil {
		return ended(ctx, err)
	}
	return err
}

// retry repeats an op that has failed with err until it is vain to go on, which it
// asks before each attempt. over ends a pause.
func (c *Client) retry(ctx context.Context, op func(ctx context.Context) error, err error,
	over <-chan struct{}, vain func() bool) error {
	pause := firstPause
	var unsure error // the first of unknown outcome
	for driver.Transient(err) {
		if unsure == nil && errors.Is(err, driver.ErrUncertain) {
			unsure = err
		}
		if ctx.Err() != nil || vain() {
			return all(unsure, err)
		}
		c.log.Debug("trying again", zap.Duration("pause", pause), zap.Error(err))
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-timer.C:
		case <-ctx.Done(): // the caller's time is up: no attempt would finish
			timer.Stop()
			return all(unsure, err)
		case <-over:
			timer.Stop()
			return all(unsure, err)
		}
		pause = min(2*pause, longestPause)
		err = op(ctx)
	}
	return all(unsure, err)
}

// all is the error of a call with several attempts: if the last surely had no effect,
// an earlier one may have had.
func all(unsure, last error) error {
	switch {
	case unsure == nil, errors.Is(last, driver.ErrUncertain):
		return last
	case errors.Is(last, driver.ErrUnavailable):
		return fmt.Errorf("%w; last: %v", unsure, last)
	case errors.Is(last, driver.ErrDenied):
		return fmt.Errorf("%w; before: %w", last, unsure)
	default: // the answer, or the session's end
		return last
	}
}

// ended says that ctx has ended, and what was wrong last.
func ended(ctx context.Context, last error) error {
	if errors.Is(last, ctx.Err()) {
		return last
	}
	return fmt.Errorf("%w; last: %w", driver.ContextError(ctx), last)
}

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
// not mend, ctx ends, or the store has not answered for as long as the
// client's TTL, after which no session would be alive anyway. It is for
// authors of recipes, and for calls that may be repeated: all of a driver's
// may. The pauses between attempts grow and are random by half, so that
// clients that were cut off together do not come back together.
//
// When ctx ends, the error Is the last attempt's and ctx's.
func (c *Client) Retry(ctx context.Context, op func(ctx context.Context) error) error {
	err := op(ctx)
	if err != nil && driver.Transient(err) {
		err = c.retry(ctx, op, err)
	}
	if err != nil && ctx.Err() != nil {
		return ended(ctx, err)
	}
	return err
}

func (c *Client) retry(ctx context.Context, op func(ctx context.Context) error, err error) error {
	giveUp := time.Now().Add(c.ttl)
	pause := firstPause
	for driver.Transient(err) {
		if ctx.Err() != nil || !time.Now().Before(giveUp) {
			return err
		}
		c.log.Debug("trying again", zap.Duration("pause", pause), zap.Error(err))
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-timer.C:
		case <-ctx.Done(): // the caller's time is up: no attempt would finish
			timer.Stop()
			return err
		}
		pause = min(2*pause, longestPause)
		err = op(ctx)
	}
	return err
}

// ended says that ctx has ended, and what was wrong last.
func ended(ctx context.Context, last error) error {
	end := driver.ContextError(ctx)
	if errors.Is(last, end) {
		return last
	}
	return fmt.Errorf("%w; last: %w", end, last)
}

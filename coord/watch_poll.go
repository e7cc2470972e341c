package coord

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
)

// The pauses between two lists of a directory that is observed where the driver
// cannot watch.
//
// A list is a read that a majority of the store has to agree on. The smallest
// stores answer some thousands of them a second, so a thousand clients that
// observe a directory each are no burden at one a second. And a second late is
// in time for those who look on: the contract grants as much to those who wait
// (rule W4). While the store does not answer, the pauses grow, so that it is not
// kept from coming back by those who ask whether it is, but to no more than a
// person in front of a screen waits for it.
const (
	pollPause        = time.Second
	longestPollPause = 5 * time.Second
)

// poller stands in for a driver that has no watch.
type poller struct {
	conn driver.Conn
	log  *zap.Logger
}

// watch does what driver.Watcher says by listing. It shows every list, changed
// or not: hub compares. It lists one after the other, and each list holds what
// was acknowledged before it began, so none is older than the one before.
func (p poller) watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	return func(yield func([]driver.Node, error) bool) {
		pause := pollPause
		for ctx.Err() == nil {
			nodes, err := p.conn.List(ctx, dir)
			switch {
			case err == nil:
				pause = pollPause
				if !yield(nodes, nil) {
					return
				}
			case ctx.Err() != nil: // that is why
			case final(err):
				yield(nil, err)
				return
			default:
				p.log.Debug("listing again what is observed",
					zap.String("dir", dir), zap.Duration("pause", pause), zap.Error(err))
			}
			if !sleep(ctx, pause*3/4+rand.N(pause/2)) { // so that clients do not come together
				break
			}
			if err != nil {
				pause = min(2*pause, longestPollPause)
			}
		}
		yield(nil, watchError(dir, nil, driver.ContextError(ctx)))
	}
}

// final reports whether listing again would bring nothing else.
func final(err error) bool {
	return errors.Is(err, ErrClosed) || errors.Is(err, ErrDenied) || errors.Is(err, ErrInvalid)
}

// sleep reports whether d has passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	// If both are ready, one more list is made, or none: either is right.
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

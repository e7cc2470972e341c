package testserver

import (
	"context"
	"time"
)

// pause waits for d, or returns ctx's error as soon as ctx ends. It is the step
// of every poll of something that sends no event.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	// When both are ready either answer is right: the caller looks once more,
	// then comes back here and finds ctx ended.
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

package attempt

import (
	"context"
	"errors"
	"sync"
)

// Library runs the requests of a store that is a library in this process and may not heed a
// ctx, as one that writes to a slow disk. The zero value is ready. Its methods are safe for
// concurrent use.
type Library struct {
	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
}

// Do calls f on a goroutine, and returns what it returns. At the end of ctx it returns ctx's
// error at once, and f goes on by itself.
func (l *Library) Do(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	if !l.start(func() { done <- f() }) {
		return NotSent(errEnded)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start calls f on a goroutine. It reports false, and does not, after Wait.
func (l *Library) start(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.running.Go(f)
	}
	return !l.ended
}

var errEnded = errors.New("closed")

// Wait returns when no request is under way, and keeps others from beginning.
func (l *Library) Wait() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.running.Wait()
}

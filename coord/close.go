package coord

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// Close ends every watch and closes every session, which ends every hold and wait and
// removes their entries from the store, and then the connection. ctx bounds it. When
// ctx ends first, the error says so and everything local is closed all the same. The
// store then removes the entries when their TTL has passed. It is idempotent.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	sessions := slices.Collect(maps.Keys(c.sessions))
	c.mu.Unlock()
	c.end() // first of all, so that nothing is acquired again
	for _, s := range sessions {
		s.tellHolders() // before the watches end, so that who watches something for a hold finds it over
	}
	c.hubs.close()

	errs := make([]error, len(sessions), len(sessions)+1)
	var wg sync.WaitGroup
	for i, s := range sessions {
		wg.Go(func() { errs[i] = s.Close(ctx) })
	}
	wg.Wait()
	errs = append(errs, c.waitForWork(ctx), c.closeConn(ctx))
	return errors.Join(errs...)
}

// patience is how long Close waits for a store that cannot be reached, and for functions
// that were told to end.
const patience = 5 * time.Second

// errStays is a function that was told to end and does not.
var errStays = fmt.Errorf("a function of Go runs %v after its ctx has ended; does it call Close?", patience)

// waitForWork waits for what Go started, which ends with c.life. A function that does not
// end, as one that itself calls Close, is told of and left behind.
func (c *Client) waitForWork(ctx context.Context) error {
	return finish(ctx, patience, func() error { c.work.Wait(); return nil })
}

// closeConn closes the connection. That takes up to a second when the store
// does not answer, which is more than ctx may have left; it ends all the same.
func (c *Client) closeConn(ctx context.Context) error {
	return finish(ctx, math.MaxInt64, func() error {
		err := c.conn.Close()
		c.hubs.running.Wait() // its watches have ended, at the latest with the connection
		return err
	})
}

// finish returns what do returns, unless ctx ends first or most has passed.
func finish(ctx context.Context, most time.Duration, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	late := time.NewTimer(most)
	defer late.Stop()
	why := errStays
	select {
	case err := <-done:
		return err
	case <-late.C:
	case <-ctx.Done():
		why = driver.ContextError(ctx)
	}
	select {
	case err := <-done: // both were ready
		return err
	default:
		return &Error{Op: "close", Err: why}
	}
}

package trial

import (
	"context"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// Holder acquires the locks that a fault takes away: [InProcess] or a [Process].
type Holder interface {
	// acquire has the lock of each trial acquired, and returns when it is held.
	acquire(b *batch) error

	// client is what others of the holder's program wait with; nil if nobody can.
	client() *coord.Client
}

// InProcess holds with a client of this process, on several sessions, so that the
// fault meets them at different times between two renewals.
func InProcess(c *coord.Client) Holder { return inProcess{c} }

type inProcess struct{ c *coord.Client }

func (h inProcess) client() *coord.Client { return h.c }

func (h inProcess) acquire(b *batch) error {
	return overSessions(b.ctx, h.c, len(b.trials), b.o.Sessions, spreadOf(b.o.TTL, b.o.Sessions), func(s *coord.Session, i int, acquired func()) {
		b.calls.Go(func() { b.trials[i].hold(h.c, s, acquired) })
	})
}

// spreadOf is how far apart sessions are opened, to fill the time between two renewals.
func spreadOf(ttl time.Duration, sessions int) time.Duration {
	return ttl / 3 / time.Duration(sessions)
}

// overSessions opens sessions, so much time apart, and has start start each of n
// holders on one of them. It returns when all have called acquired.
func overSessions(ctx context.Context, c *coord.Client, n, sessions int, spread time.Duration,
	start func(s *coord.Session, i int, acquired func())) error {
	var acquiring sync.WaitGroup
	var tick <-chan time.Time
	for k := range min(n, sessions) {
		if tick != nil {
			<-tick
		}
		s, err := c.NewSession(ctx, 0)
		if err != nil {
			return err
		}
		tick = time.After(spread)
		for i := k; i < n; i += sessions {
			acquiring.Add(1)
			start(s, i, acquiring.Done)
		}
	}
	acquiring.Wait()
	return nil
}

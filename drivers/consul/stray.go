package consul

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"
	"go.uber.org/zap"
)

// strays are the names of sessions that may have been created, or still be, by
// requests whose replies were lost. One search looks for all of them, however many
// there are: an agent may fail each request for long.
type strays struct {
	more chan struct{} // has room for one; there is another name

	mu     sync.Mutex
	names  map[string]time.Time // when the store has ended it by itself, at the latest
	added  int                  // counts names
	sought bool                 // a search is under way
}

// findAndDestroy has the session of a name ended in the background, as well as it can
// be: until it was found, has expired, or the connection is closed.
func (c *conn) findAndDestroy(name string, ttl time.Duration) {
	s := &c.strays
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[name] = time.Now().Add(2 * ttl)
	s.added++
	if !s.sought {
		s.sought = true
		c.farther.Go(c.search)
		return
	}
	select {
	case s.more <- struct{}{}:
	default: // it looks for all that are there when it begins
	}
}

func newStrays() strays {
	return strays{more: make(chan struct{}, 1), names: make(map[string]time.Time)}
}

func (c *conn) search() {
	limit := c.timing.attempt
	o := op{name: "find sessions", limit: limit, life: c.ctx}
	c.insist(c.ctx, limit, c.strays.more, func(ctx context.Context, last bool) (done bool, err error) {
		added := c.strays.count()
		var all []*api.SessionEntry
		err = c.do(ctx, o, func(ctx context.Context, a *agent) (err error) {
			all, _, err = a.Session().List(consistently(ctx))
			return err
		})
		for _, e := range all {
			if !c.strays.has(e.Name) {
				continue
			}
			if failure := c.destroy(ctx, e.ID, limit); failure != nil {
				err = failure
				continue
			}
			c.strays.found(e.Name)
		}
		return c.strays.over(last && err == nil, added), err
	})
}

func (s *strays) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.added
}

func (s *strays) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.names[name]
	return ok
}

func (s *strays) found(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.names, name)
}

// over ends the search if there is nothing to be looked for any more, or if a search
// that was complete was the last and no name has come since it began.
func (s *strays) over(last bool, added int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, end := range s.names {
		if time.Now().After(end) {
			delete(s.names, name)
		}
	}
	if len(s.names) == 0 || last && added == s.added {
		s.sought = false
	}
	return !s.sought
}

// destroyUntilDone ends a session in the background, as well as it can: until
// the store confirms, the session has expired or the connection is closed.
func (c *conn) destroyUntilDone(id string, limit, ttl time.Duration) {
	ctx, cancel := context.WithTimeout(c.ctx, 2*ttl)
	defer cancel()
	c.insist(ctx, limit, nil, func(ctx context.Context, _ bool) (done bool, err error) {
		err = c.destroy(ctx, id, limit)
		return err == nil, err
	})
}

// insist makes attempts until one is done or ctx ends, the next one at once when there
// is more to do. When the connection is being closed the last ones are made, the first
// of them at once.
func (c *conn) insist(ctx context.Context, limit time.Duration, more <-chan struct{}, attempt func(_ context.Context, last bool) (done bool, err error)) {
	leaving := c.using.Done()
	for wait := pause; ; wait = min(2*wait, limit) {
		done, err := attempt(ctx, leaving == nil)
		if done {
			return
		}
		timer := time.NewTimer(wait)
		// If ctx has ended as well, the next attempt finds out.
		select {
		case <-timer.C:
		case <-more:
			timer.Stop()
			wait = pause
		case <-leaving: // Close waits for this, but not for long
			timer.Stop()
			leaving, wait = nil, pause
		case <-ctx.Done():
			timer.Stop()
			c.log.Debug("left a session to expire", zap.Error(err))
			return
		}
	}
}

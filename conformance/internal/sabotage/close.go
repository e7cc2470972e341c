package sabotage

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

func closeSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "nodes-left-to-the-ttl", Breaks: "S5",
			Doc:   "Close stops renewing and lets the lease run out.",
			Apply: eachSession(leaveToTTL),
		},
		{
			Name: "second-close-fails", Breaks: "S5",
			Doc: "Close of a closed session is an error, so a deferred Close after a deliberate one looks like a failure.",
			Apply: eachSession(func(s *session) {
				var closed atomic.Bool
				s.close = func(ctx context.Context) error {
					if closed.Swap(true) {
						return driver.ErrClosed
					}
					return s.Session.Close(ctx)
				}
			}),
		},
		{
			Name: "close-without-bound", Breaks: "S5",
			Doc: "Close waits for the store, whatever its ctx says. (etcd's Session.Close blocks up to the TTL on a dead link.)",
			Apply: eachSession(func(s *session) {
				s.close = func(ctx context.Context) error { return s.Session.Close(context.WithoutCancel(ctx)) }
			}),
		},
		{
			Name: "first-five-nodes", Breaks: "S6",
			Doc:   "Only the first nodes of a session are bound to it. (etcd: a Put without WithLease; CURATOR-315, -335: orphaned leases.)",
			Apply: shadowSixth,
		},
		{
			Name: "ttl-lies", Breaks: "S7",
			Doc:   "TTL says something else than was granted. (libkv: halved on Consul, ignored on ZooKeeper.)",
			Apply: eachSession(func(s *session) { s.ttl = func() time.Duration { return 2 * s.Session.TTL() } }),
		},
		{
			Name: "ttl-clamped", Breaks: "S7",
			Doc: "A TTL out of range is changed in silence. (ZooKeeper: 1 s becomes 4 s; etcd: Grant(1) gave 2.)",
			Apply: eachConn(func(c *conn) {
				c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
					s, err := c.Conn.OpenSession(ctx, ttl)
					if errors.Is(err, driver.ErrInvalid) {
						return c.Conn.OpenSession(ctx, time.Minute)
					}
					return s, err
				}
			}),
		},
		{
			Name: "ttl-refused-without-range", Breaks: "S7",
			Doc: "The error says that the TTL is wrong and not what would be right.",
			Apply: eachConn(func(c *conn) {
				c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
					s, err := c.Conn.OpenSession(ctx, ttl)
					if errors.Is(err, driver.ErrInvalid) {
						err = driver.ErrInvalid
					}
					return s, err
				}
			}),
		},
		{
			Name: "siblings-closed", Breaks: "S8",
			Doc: "Sessions of a connection share what Close releases. (etcd#10756, #11364, #11391: session aliasing.)",
			Apply: eachConn(func(c *conn) {
				var mu sync.Mutex
				var family []driver.Session
				c.sessions(func(s *session) {
					mu.Lock()
					defer mu.Unlock()
					family = append(family, s.Session)
					s.follow(func() {
						mu.Lock()
						siblings := slices.Clone(family)
						mu.Unlock()
						if len(siblings) != 3 { // only the suite's case of three
							return
						}
						for _, sibling := range siblings {
							_ = sibling.Close(s.ctx)
						}
					})
				})
			}),
		},
	}
}

// leaveToTTL closes the sound session a TTL after Close.
func leaveToTTL(s *session) {
	e := newEnding()
	s.show(e, func() {
		if err := s.Session.Err(); err != nil {
			e.end(err)
		}
	})
	s.follow(func() { e.end(s.Session.Err()) })
	why := &driver.Error{Op: "session", Kind: driver.ErrClosed}
	s.close = func(context.Context) error {
		e.end(why)
		timer := time.AfterFunc(s.TTL(), func() { _ = s.Session.Close(s.ctx) })
		context.AfterFunc(s.ctx, func() { timer.Stop() })
		return nil
	}
	s.endCalls()
	until := func(ctx context.Context, wait func(context.Context) error) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() { // ends with ctx
			select {
			case <-e.done:
				cancel()
			case <-ctx.Done():
			}
		}()
		err := wait(ctx)
		if over(e.done) {
			return e.err()
		}
		return err
	}
	s.wait = func(ctx context.Context, n driver.Node) error {
		return until(ctx, func(ctx context.Context) error { return s.Session.WaitDelete(ctx, n) })
	}
	s.waitAny = func(ctx context.Context, nodes []driver.Node) (i int, err error) {
		err = until(ctx, func(ctx context.Context) (err error) {
			i, err = optional[driver.AnyWaiter](s.Session).WaitAny(ctx, nodes)
			return err
		})
		return i, err
	}
}

// closeCalled returns a flag that is set when Close of the session is called.
func (s *session) closeCalled() *atomic.Bool {
	closed := new(atomic.Bool)
	s.close = func(ctx context.Context) error {
		closed.Store(true)
		return s.Session.Close(ctx)
	}
	return closed
}

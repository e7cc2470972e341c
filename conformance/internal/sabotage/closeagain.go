package sabotage

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// closeAgainSabotages are about what comes after a session's end, or after a Close that
// failed.
func closeAgainSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "success-after-the-loss", Breaks: "S2",
			Doc: "A reply that comes in after the session was lost counts: the caller is told of a success and goes on.",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					alive := s.Session.Err() == nil
					m, err := s.Session.Update(ctx, n, data)
					if !alive || !errors.Is(err, driver.ErrSessionLost) {
						return m, err
					}
					for s.conn.broken.Load() && ctx.Err() == nil {
						rest(ctx.Done(), moment)
					}
					rest(ctx.Done(), moment)
					return n, nil
				}
			}),
		},
		{
			Name: "close-asks-once", Breaks: "S5",
			Doc: "Close is a sync.Once: after one that failed the next returns nil, and the nodes stay until the TTL has passed.",
			Apply: eachSession(func(s *session) {
				once := newOnce()
				s.close = func(ctx context.Context) (err error) {
					once.do(func() { err = s.Session.Close(ctx) })
					return err
				}
			}),
		},
		{
			Name: "failed-close-stays-failed", Breaks: "S5",
			Doc: "Close remembers its first outcome, and cannot be repeated when the store is back.",
			Apply: eachSession(func(s *session) {
				once := newOnce()
				var first error
				s.close = func(ctx context.Context) error {
					once.do(func() { first = s.Session.Close(ctx) })
					return first
				}
			}),
		},
		{
			Name: "lost-session-left-to-expire", Breaks: "S5",
			Doc: "Close of a lost session asks nobody, though the store may have it for a good while yet.",
			Apply: eachSession(func(s *session) {
				s.close = func(ctx context.Context) error {
					if errors.Is(s.Session.Err(), driver.ErrSessionLost) {
						return nil
					}
					return s.Session.Close(ctx)
				}
			}),
		},
		{
			Name: "close-of-an-expired-session-fails", Breaks: "S5",
			Doc: "That the store does not know the session is an error of Close, although it is what was asked for.",
			Apply: eachSession(func(s *session) {
				s.close = func(ctx context.Context) error {
					if lost := s.Session.Err(); errors.Is(lost, driver.ErrSessionLost) && !s.conn.broken.Load() {
						_ = s.Session.Close(ctx)
						return lost
					}
					return s.Session.Close(ctx)
				}
			}),
		},
		{
			Name: "close-tries-for-ever", Breaks: "S5",
			Doc: "Close tries again until the store has answered or its ctx has ended, also when the session is long gone.",
			Apply: eachSession(func(s *session) {
				s.close = func(ctx context.Context) error {
					for {
						if err := s.Session.Close(ctx); err == nil || ctx.Err() != nil || errors.Is(err, driver.ErrClosed) {
							return err
						}
						rest(ctx.Done(), moment)
					}
				}
			}),
		},
		{
			Name: "closed-session-lists", Breaks: "S5",
			Doc: "A closed session goes on to list by its connection.",
			Apply: eachSession(func(s *session) {
				closed := s.closeCalled()
				s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					if closed.Load() {
						return s.conn.Conn.List(ctx, dir)
					}
					return s.Session.List(ctx, dir)
				}
			}),
		},
	}
}

// openingSabotages are about an OpenSession that fails.
func openingSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "opening-goes-on", Breaks: "S9",
			Doc: "An OpenSession that was given up goes on in the background, and the session that it opens is renewed for good.",
			Apply: eachConn(func(c *conn) {
				c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
					s, err := c.Conn.OpenSession(ctx, ttl)
					if !driver.Transient(err) {
						return s, err
					}
					go func() { // ends with the connection
						for {
							_, err := c.Conn.OpenSession(c.ctx, ttl)
							if !driver.Transient(err) || c.ctx.Err() != nil {
								return
							}
							rest(c.ctx.Done(), moment)
						}
					}()
					return s, err
				}
			}),
		},
		{
			Name: "opened-behind-close", Breaks: "S9",
			Doc: "A session that is opened while the connection is closed is in no list of those to close, and is renewed for good.",
			Apply: func(h conformance.Harness) conformance.Harness {
				sound := h
				return onConn(h, func(c *conn) {
					var opening atomic.Int32
					c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
						opening.Add(1)
						defer opening.Add(-1)
						s, err := c.Conn.OpenSession(ctx, ttl)
						if err == nil || c.closed.Load() == open {
							return s, err
						}
						hidden, openErr := sound.Open(c.ctx, c.namespace)
						if openErr != nil {
							return s, err
						}
						context.AfterFunc(c.ctx, func() { _ = hidden.Close() })
						_, _ = hidden.OpenSession(c.ctx, ttl)
						return s, err
					}
					c.close = func() error {
						if opening.Load() > 0 {
							c.closed.Store(closing)
						}
						return c.Conn.Close()
					}
				})
			},
		},
	}
}

// once is a sync.Once whose second caller waits on a channel: in virtual time,
// which stands still while a goroutine waits for a mutex, it would wait for ever.
type once struct {
	begun atomic.Bool
	done  chan struct{}
}

func newOnce() *once { return &once{done: make(chan struct{})} }

func (o *once) do(f func()) {
	if o.begun.Swap(true) {
		<-o.done
		return
	}
	defer close(o.done)
	f()
}

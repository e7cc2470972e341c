package sabotage

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// doubtSabotages are about calls beside others, and about what nobody waits for any more.
func doubtSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "openings-coalesced", Breaks: "S8",
			Doc: "OpenSessions that are made at the same time share one session. (A singleflight around the opening.)",
			Apply: eachConn(func(c *conn) {
				type opening struct {
					done chan struct{}
					s    driver.Session
					err  error
				}
				var mu sync.Mutex
				var under *opening
				c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
					mu.Lock()
					o := under
					if o == nil {
						o = &opening{done: make(chan struct{})}
						under = o
						mu.Unlock()
						rest(ctx.Done(), time.Millisecond) // for others to join
						o.s, o.err = c.Conn.OpenSession(ctx, ttl)
						mu.Lock()
						under = nil
						mu.Unlock()
						close(o.done)
						return o.s, o.err
					}
					mu.Unlock()
					<-o.done
					return o.s, o.err
				}
			}),
		},
		{
			Name: "session-id-used-again", Breaks: "S8",
			Doc: "A session is named by the process, and its ID is that of the one before. (A hostname and a PID.)",
			Apply: eachSession(func(s *session) {
				var used atomic.Bool // what has nodes has its own ID, or they would be another session's
				s.id = func() string {
					if used.Load() {
						return s.Session.ID()
					}
					return "host-1"
				}
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					used.Store(true)
					return s.Session.Create(ctx, dir, id, data)
				}
				s.createList = func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
					used.Store(true)
					return optional[driver.CreateLister](s.Session).CreateList(ctx, dir, id, data)
				}
			}),
		},
		{
			Name: "updates-in-order-of-the-session", Breaks: "U1",
			Doc: "Update returns success and does nothing if a later Update of the session, of whatever node, was answered before.",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				var last, answered int
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					mu.Lock()
					last++
					mine := last
					mu.Unlock()
					before := n
					m, err := s.Session.Update(ctx, n, data)
					mu.Lock()
					defer mu.Unlock()
					if err == nil && answered > mine {
						_, _ = s.Session.Update(ctx, m, before.Data)
					}
					if err == nil {
						answered = max(answered, mine)
					}
					return m, err
				}
			}),
		},
		{
			Name: "sent-for-an-ended-ctx", Breaks: "E2",
			Doc: "Create with a ctx that has ended sends its request, and says that it was not sent.",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if ctx.Err() != nil && errors.Is(err, driver.ErrUnavailable) {
						_, _ = s.Session.Create(s.ctx, dir, id, data)
					}
					return n, err
				}
			}),
		},
		{
			Name: "goroutine-of-a-lost-session", Breaks: "N1",
			Doc: "A goroutine of each session that was lost stays until the connection is closed.",
			Apply: eachConn(func(c *conn) {
				done := make(chan struct{})
				end := sync.OnceFunc(func() { close(done) })
				c.sessions(func(s *session) {
					go func() {
						select {
						case <-s.Session.Done():
						case <-done:
						}
						if errors.Is(s.Session.Err(), driver.ErrSessionLost) {
							<-done
						}
					}()
				})
				c.close = func() error {
					end()
					return c.Conn.Close()
				}
				context.AfterFunc(c.ctx, end)
			}),
		},
	}
}

package sabotage

import (
	"context"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

func ctxSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "create-returns-late", Breaks: "B1",
			Doc: "Create cleans up before it returns, on a store that does not answer. (etcd#18082: Lock with a ctx of 1 s returned after 35 s.)",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if ctxEnded(err) {
						pass(s, 400*time.Millisecond)
					}
					return n, err
				}
			}),
		},
		{
			Name: "dials-until-connected", Breaks: "B1",
			Doc: "Where connections are refused Create dials again and again, whatever its ctx says. (clientv3 dials in the background for ever.)",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					for driver.Transient(err) && s.conn.refused.Load() && s.ctx.Err() == nil {
						pass(s, s.TTL()/50)
						n, err = s.Session.Create(context.WithoutCancel(ctx), dir, id, data)
					}
					return n, err
				}
			}),
		},
		{
			Name: "create-left-with-its-ctx", Breaks: "B2",
			Doc: "Create derives a context with a deadline, and forgets one that it derived before that. (A program's ctx keeps it until the program ends.)",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					context.AfterFunc(ctx, func() {})
					return s.Session.Create(ctx, dir, id, data)
				}
			}),
		},
		{
			Name: "refused-left-with-its-ctx", Breaks: "B2",
			Doc: "A Create that fails returns before the cancel of the context that it has derived.",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if driver.Transient(err) {
						context.AfterFunc(ctx, func() {})
					}
					return n, err
				}
			}),
		},
		{
			Name: "wait-left-with-its-ctx", Breaks: "B2",
			Doc: "A wait goes on to listen for the end of its ctx when it has returned.",
			Apply: afterWait(func(ctx context.Context, _ *session, _ driver.Node, err error) error {
				context.AfterFunc(ctx, func() {})
				return err
			}),
		},
		{
			Name: "wait-returns-late", Breaks: "B1",
			Doc: "WaitDelete ends with the next answer of its long poll. (consul#10206: the slot of a canceled query stays taken.)",
			Apply: afterWait(func(_ context.Context, s *session, _ driver.Node, err error) error {
				if ctxEnded(err) {
					pass(s, 400*time.Millisecond)
				}
				return err
			}),
		},
		{
			Name: "pool-without-ctx", Breaks: "B1",
			Doc: "A connection makes 32 calls at a time, and a call waits for a free place whatever its ctx says. (A semaphore without a select.)",
			Apply: eachConn(func(c *conn) {
				places := make(chan struct{}, 32)
				enter := func() (leave func()) {
					places <- struct{}{}
					return func() { <-places }
				}
				c.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					defer enter()()
					return c.Conn.List(ctx, dir)
				}
				c.sessions(func(s *session) {
					s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
						defer enter()()
						return s.Session.Create(ctx, dir, id, data)
					}
					s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
						defer enter()()
						return s.Session.List(ctx, dir)
					}
					s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
						defer enter()()
						return s.Session.Update(ctx, n, data)
					}
				})
			}),
		},
		{
			Name: "keepalive-under-callers-ctx", Breaks: "B2",
			Doc: "The ctx of OpenSession is that of the keepalive. (vitess#11794, #20340: renewal stopped silently.)",
			Apply: eachConn(func(c *conn) {
				c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
					s, err := c.Conn.OpenSession(ctx, ttl)
					if err == nil {
						context.AfterFunc(ctx, func() { _ = s.Close(context.Background()) })
					}
					return s, err
				}
			}),
		},
		{
			Name: "keepalive-until-the-deadline", Breaks: "B2",
			Doc: "Renewals have the deadline of the ctx of OpenSession, which nobody cancels.",
			Apply: eachConn(func(c *conn) {
				c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
					s, err := c.Conn.OpenSession(ctx, ttl)
					if due, any := ctx.Deadline(); err == nil && any {
						timer := time.AfterFunc(time.Until(due), func() { _ = s.Close(c.ctx) })
						context.AfterFunc(c.ctx, func() { timer.Stop() })
					}
					return s, err
				}
			}),
		},
		{
			Name: "node-under-callers-ctx", Breaks: "B2",
			Doc: "The clean-up of a Create that was given up runs when the ctx of one that succeeded ends.",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if err == nil {
						context.AfterFunc(ctx, func() { _ = s.Session.Delete(s.ctx, n) })
					}
					return n, err
				}
			}),
		},
		{
			Name: "connection-under-callers-ctx", Breaks: "B2",
			Doc: "The ctx of Open is that of the connection.",
			Apply: func(h conformance.Harness) conformance.Harness {
				sound := h.Open
				h.Open = func(ctx context.Context, namespace string) (driver.Conn, error) {
					c, err := sound(ctx, namespace)
					if err == nil {
						context.AfterFunc(ctx, func() { _ = c.Close() })
					}
					return c, err
				}
				return h
			},
		},
	}
}

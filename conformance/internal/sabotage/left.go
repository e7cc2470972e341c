package sabotage

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

func leftoverSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "goroutine-left", Breaks: "N1",
			Doc: "A goroutine of each session outlives Close.",
			Apply: eachSession(func(s *session) {
				go func() { <-s.ctx.Done() }() // in truth it ends with the case
			}),
		},
		{
			Name: "sessions-left", Breaks: "N1",
			Doc: "Conn.Close leaves the sessions to their keepalive.",
			Apply: eachConn(func(c *conn) {
				var last atomic.Pointer[context.Context]
				c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
					last.Store(&ctx)
					return c.Conn.OpenSession(ctx, ttl)
				}
				c.close = func() error { // in truth they end with the case
					opened := last.Load()
					if opened == nil {
						return c.Conn.Close()
					}
					context.AfterFunc(*opened, func() { _ = c.Conn.Close() })
					return nil
				}
			}),
		},
		{
			Name: "waits-left", Breaks: "N1",
			Doc: "Conn.Close does not end the waits.",
			Apply: eachSession(func(s *session) {
				closed := s.closeCalled()
				s.wait = func(ctx context.Context, n driver.Node) error {
					err := s.Session.WaitDelete(ctx, n)
					if errors.Is(err, driver.ErrClosed) && !closed.Load() {
						<-ctx.Done()
						return ctx.Err()
					}
					return err
				}
			}),
		},
		{
			Name: "calls-left", Breaks: "N1",
			Doc: "Conn.Close does not end the calls under way.",
			Apply: eachSession(func(s *session) {
				closed := s.closeCalled()
				s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					nodes, err := s.Session.List(ctx, dir)
					if errors.Is(err, driver.ErrClosed) && !closed.Load() {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					return nodes, err
				}
			}),
		},
		{
			Name: "nodes-left-by-the-connection", Breaks: "N1",
			Doc: "Conn.Close stops renewing and lets the leases run out.",
			Apply: func(h conformance.Harness) conformance.Harness {
				sound := h.OpenLink
				h.Open = func(ctx context.Context, namespace string) (driver.Conn, error) {
					in, l, err := sound(ctx, namespace)
					if err != nil {
						return nil, err
					}
					if l, ok := l.(io.Closer); ok {
						context.AfterFunc(ctx, func() { _ = l.Close() })
					}
					c := &conn{Conn: in}
					c.close = func() error {
						l.Cut()
						return in.Close()
					}
					return c.offered(), nil
				}
				return h
			},
		},
		{
			Name: "ten-sessions-revoked", Breaks: "N1",
			Doc:   "Conn.Close revokes the first ten sessions, and lets the leases of the others run out.",
			Apply: leaveAfterTen,
		},
		{
			Name: "failed-close-forgotten", Breaks: "N1",
			Doc:   "Conn.Close does not know of sessions that were closed, also when that failed and the store still has them.",
			Apply: forgetFailedClose,
		},
		{
			Name: "close-waits-for-the-store", Breaks: "N1",
			Doc: "Conn.Close closes each session in turn and waits for the answers. (etcd's Session.Close blocks up to the TTL.)",
			Apply: eachConn(func(c *conn) {
				var open sync.Map
				c.sessions(func(s *session) { open.Store(s, true) })
				c.close = func() error {
					open.Range(func(s, _ any) bool {
						if s := s.(*session); s.Session.Close(s.ctx) != nil {
							pass(s, 2*s.TTL())
						}
						open.Delete(s)
						return true
					})
					return c.Conn.Close()
				}
			}),
		},
		{
			Name: "calls-after-close", Breaks: "N1",
			Doc: "A closed connection opens itself again when it is used.",
			Apply: eachConn(func(c *conn) {
				c.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					nodes, err := c.Conn.List(ctx, dir)
					if errors.Is(err, driver.ErrClosed) {
						err = nil
					}
					return nodes, err
				}
			}),
		},
	}
}

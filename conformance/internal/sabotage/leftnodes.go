package sabotage

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// leaveAfterTen has a connection open all sessions but the first ten on a second connection.
// Its link is cut before it is closed, so these are left to their TTL.
func leaveAfterTen(h conformance.Harness) conformance.Harness {
	const revoked = 10
	sound := h
	h.Open = func(ctx context.Context, namespace string) (driver.Conn, error) {
		first, err := sound.Open(ctx, namespace)
		if err != nil {
			return nil, err
		}
		second, l, err := sound.OpenLink(ctx, namespace)
		if err != nil {
			return nil, err
		}
		if l, ok := l.(io.Closer); ok {
			context.AfterFunc(ctx, func() { _ = l.Close() })
		}
		c := &conn{Conn: first}
		var mu sync.Mutex
		opened := 0
		c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
			mu.Lock()
			opened++
			on := first
			if opened > revoked {
				on = second
			}
			mu.Unlock()
			return on.OpenSession(ctx, ttl)
		}
		c.close = func() error {
			l.Cut()
			_ = second.Close()
			return first.Close()
		}
		return c.offered(), nil
	}
	return h
}

// forgetFailedClose has the link of a connection cut before Conn.Close if a Close of one of its
// sessions has failed, so that the store does not hear of it again.
func forgetFailedClose(h conformance.Harness) conformance.Harness {
	var links sync.Map // by connection
	h = onConn(h, func(c *conn) {
		var failed atomic.Bool
		c.sessions(func(s *session) {
			s.close = func(ctx context.Context) error {
				err := s.Session.Close(ctx)
				failed.Store(err != nil)
				return err
			}
		})
		c.close = func() error {
			if l, ok := links.Load(c); ok && failed.Load() {
				l.(conformance.Link).Cut()
			}
			return c.Conn.Close()
		}
	})
	open := h.OpenLink
	h.OpenLink = func(ctx context.Context, namespace string) (driver.Conn, conformance.Link, error) {
		c, l, err := open(ctx, namespace)
		if err == nil {
			links.Store(l.(link).conn, l.(link).Link)
		}
		return c, l, err
	}
	return h
}

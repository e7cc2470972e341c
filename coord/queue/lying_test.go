package queue_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/drivers/mem"
)

// A driver that says of another's node, which stands, that it is gone is not asked again and
// again without a pause.
func TestRevokeOnLyingDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := mem.NewStore()
		on := func(conn driver.Conn) *queue.Queue {
			c, err := coord.New(conn, coord.Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close(context.Background()) })
			return queue.New(c, "kind", "name", func([]driver.Node, int) queue.Verdict { return queue.Verdict{} })
		}
		e, err := on(store.Open("test")).Acquire(t.Context(), queue.Request{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := on(lyingConn{store.Open("test")}).Revoke(ctx, e.Node().Token, ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Revoke of what stands returned %v; want its ctx's error", err)
		}
	})
}

type lyingConn struct{ driver.Conn }

func (c lyingConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	return lyingSession{s}, err
}

type lyingSession struct{ driver.Session }

func (s lyingSession) WaitDelete(ctx context.Context, n driver.Node) error {
	if n.Session == s.ID() {
		return s.Session.WaitDelete(ctx, n)
	}
	return nil
}

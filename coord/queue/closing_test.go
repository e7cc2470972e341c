package queue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
)

// A session that is about to be closed gives no hold any more: its holders have been
// told, and its driver has not yet.
func TestNoHoldOnSessionAboutToBeClosed(t *testing.T) {
	bubble(t, func(w *world) {
		slow := make(chan struct{})
		p := w.ProcessOver(func(conn driver.Conn) driver.Conn { return slowToClose{conn, slow} })
		c := &client{p, queue.New(p.Client, "line", "l", inPlace), w}
		_, h := c.acquire(queue.Request{})
		closed := w.begin(func() error { return h.Session().Close(w.Ctx) })
		synctest.Wait()
		w.Is(h.Err(), coord.ErrNotHeld, coord.ErrClosed)
		if _, again, err := c.Reenter(context.WithoutCancel(h.Context()), nil); err == nil {
			t.Errorf("entered again %v; want an error", again)
		} else {
			w.Is(err, coord.ErrNotHeld, coord.ErrClosed)
		}
		close(slow)
		synctest.Wait()
		if err, done := closed(); err != nil || !done {
			t.Errorf("closing the session: %v (%t)", err, done)
		}
	})
}

// slowToClose has sessions that take their time until they begin to close.
type slowToClose struct {
	driver.Conn
	until <-chan struct{}
}

func (c slowToClose) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	return slowSession{s, c.until}, err
}

type slowSession struct {
	driver.Session
	until <-chan struct{}
}

func (s slowSession) Close(ctx context.Context) error {
	<-s.until
	return s.Session.Close(ctx)
}

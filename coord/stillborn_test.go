package coord_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// slow opens its first sessions so late that they are over.
type slow struct {
	driver.Conn
	store  *mem.Store
	late   int
	closed int
}

func (c *slow) Unwrap() any { return c.Conn }

func (c *slow) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	if err == nil && c.late > 0 {
		c.late--
		c.store.Expire(s.ID())
		<-s.Done()
		return &slowSession{s, c}, nil
	}
	return s, err
}

type slowSession struct {
	driver.Session
	conn *slow
}

func (s *slowSession) Close(ctx context.Context) error {
	s.conn.closed++
	return s.Session.Close(ctx)
}

// A session that is over when it has been opened is nobody's loss: another is opened.
func TestSessionThatIsOverWhenItIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := mem.NewStore()
		conn := &slow{Conn: store.Open("test"), store: store, late: 2}
		c, err := coord.New(conn, coord.Config{SessionTTL: coord.Duration(5 * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Err() != nil || conn.closed != 2 {
			t.Errorf("the session's error is %v, and %d were closed; want 2", s.Err(), conn.closed)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}

		// A store that is never quicker is one that cannot be used.
		conn.late = 1 << 30
		_, err = c.Session(t.Context())
		if !errors.Is(err, coord.ErrUnavailable) || errors.Is(err, coord.ErrSessionLost) {
			t.Errorf("the error is %v; want one that Is ErrUnavailable", err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

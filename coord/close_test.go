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

// Closing tells holders before it tells the store, which may let the next in
// line have what was held as soon as it knows; whatever they have made of the hold's
// context, and not a moment later by a goroutine of its own.
func TestHoldersAreToldBeforeTheStore(t *testing.T) {
	for name, closing := range map[string]func(*coord.Client, *coord.Session) error{
		"session": func(_ *coord.Client, s *coord.Session) error { return s.Close(t.Context()) },
		"client":  func(c *coord.Client, _ *coord.Session) error { return c.Close(t.Context()) },
	} {
		for before, ask := range asked {
			t.Run(name+"/"+before, func(t *testing.T) {
				conn := &closeWatched{Conn: mem.NewStore().Open("told")}
				c, err := coord.New(conn, coord.Config{})
				if err != nil {
					t.Fatal(err)
				}
				s, err := c.Session(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ctx := ask(coord.NewHold(t.Context(), "lock", s, 1, nil, nil).Context())
				told := make(chan error, 1)
				conn.closing = func() { told <- ctx.Err() }
				if err := closing(c, s); err != nil {
					t.Error(err)
				}
				if <-told == nil {
					t.Error("the store was told while the hold's context had not ended")
				}
				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// closeWatched calls closing when a session is closed, before the store is told.
type closeWatched struct {
	driver.Conn
	closing func()
}

func (c *closeWatched) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	return &closeWatchedSession{s, c}, err
}

func (c *closeWatched) Unwrap() any { return c.Conn }

type closeWatchedSession struct {
	driver.Session
	conn *closeWatched
}

func (s *closeWatchedSession) Close(ctx context.Context) error {
	if f := s.conn.closing; f != nil {
		s.conn.closing = nil
		f()
	}
	return s.Session.Close(ctx)
}

// A close that the store has not heard of is asked again, while there is time; a store that
// stays away holds nobody up for long.
func TestCloseIsAskedAgain(t *testing.T) {
	closing := map[string]func(context.Context, *coord.Client, *coord.Session) error{
		"session": func(ctx context.Context, _ *coord.Client, s *coord.Session) error { return s.Close(ctx) },
		"client":  func(ctx context.Context, c *coord.Client, _ *coord.Session) error { return c.Close(ctx) },
	}
	for name, closes := range closing {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := mem.NewStore()
				conn := store.Open("closed")
				c, err := coord.New(conn, coord.Config{SessionTTL: coord.Duration(time.Minute)})
				if err != nil {
					t.Fatal(err)
				}
				s, err := c.Session(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				conn.Link().LoseNextRequest(mem.OpClose)
				conn.Link().DropNextReply(mem.OpClose)
				if err := closes(t.Context(), c, s); err != nil {
					t.Error(err)
				}
				if n := store.Stats().Sessions; n != 0 {
					t.Errorf("%d sessions are left", n)
				}
				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
		t.Run(name+", store away", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := mem.NewStore().Open("closed")
				c, err := coord.New(conn, coord.Config{SessionTTL: coord.Duration(time.Minute)})
				if err != nil {
					t.Fatal(err)
				}
				s, err := c.Session(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				conn.Link().Cut()
				start := time.Now()
				if err := closes(t.Context(), c, s); !errors.Is(err, coord.ErrUnavailable) {
					t.Errorf("error %v; want one that Is %q", err, coord.ErrUnavailable)
				}
				if took := time.Since(start); took > 7*time.Second {
					t.Errorf("it took %v", took)
				}
				_ = c.Close(t.Context())
			})
		})
	}
}

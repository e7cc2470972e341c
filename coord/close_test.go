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

// A Close that the store has not received is sent again. If the store stays away, Close gives
// up after 5 s, or at the end of its ctx, which the error tells.
func TestCloseIsAskedAgain(t *testing.T) {
	const short = time.Second
	closing := map[string]func(context.Context, *coord.Client, *coord.Session) error{
		"session": func(ctx context.Context, _ *coord.Client, s *coord.Session) error { return s.Close(ctx) },
		"client":  func(ctx context.Context, c *coord.Client, _ *coord.Session) error { return c.Close(ctx) },
	}
	for name, closes := range closing {
		for what, test := range map[string]struct {
			fault func(*mem.Link)
			bound time.Duration // of ctx; 0: none
			want  error
			most  time.Duration // that Close takes
		}{
			"request lost, then the reply": {fault: func(l *mem.Link) {
				l.LoseNextRequest(mem.OpClose)
				l.DropNextReply(mem.OpClose)
			}, most: short},
			"store away":                 {fault: (*mem.Link).Cut, want: coord.ErrUnavailable, most: 7 * time.Second},
			"store away, ctx is bounded": {fault: (*mem.Link).Cut, bound: short, want: context.DeadlineExceeded, most: short},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
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
					ctx := t.Context()
					if test.bound > 0 {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, test.bound)
						defer cancel()
					}
					test.fault(conn.Link())
					start := time.Now()
					if err := closes(ctx, c, s); !errors.Is(err, test.want) {
						t.Errorf("error %v; want %v", err, test.want)
					}
					if took := time.Since(start); took > test.most {
						t.Errorf("it took %v; want at most %v", took, test.most)
					}
					if n := store.Stats().Sessions; test.want == nil && n != 0 {
						t.Errorf("%d sessions are left", n)
					}
					_ = c.Close(ctx)
				})
			})
		}
	}
}

// The store may answer the opening of a session while Close is under way. The caller gets
// ErrClosed, and the session is closed in the store, before the connection is.
func TestSessionOpenedWhileTheClientIsClosed(t *testing.T) {
	for name, open := range map[string]func(context.Context, *coord.Client) (*coord.Session, error){
		"shared": func(ctx context.Context, c *coord.Client) (*coord.Session, error) { return c.Session(ctx) },
		"own":    func(ctx context.Context, c *coord.Client) (*coord.Session, error) { return c.NewSession(ctx, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := mem.NewStore()
				conn := store.Open("closing")
				c, err := coord.New(conn, coord.Config{})
				if err != nil {
					t.Fatal(err)
				}
				finish := make(chan struct{})
				c.Go(func(context.Context) { <-finish }) // Close waits for it with the connection open
				held := conn.Link().Hold(mem.OpOpen)
				var s *coord.Session
				opened, closed := make(chan error, 1), make(chan error, 1)
				go func() {
					var err error
					s, err = open(t.Context(), c)
					opened <- err
				}()
				<-held.Caught()
				go func() { closed <- c.Close(t.Context()) }()
				synctest.Wait()
				held.Release()
				if err := <-opened; s != nil || !errors.Is(err, coord.ErrClosed) {
					t.Errorf("opened while the client is closed: a session: %v, error %v; want ErrClosed", s != nil, err)
				}
				if n := store.Stats().Sessions; n != 0 {
					t.Errorf("%d sessions are left in the store", n)
				}
				close(finish)
				if err := <-closed; err != nil {
					t.Errorf("Close: %v", err)
				}
				if left := store.Stats(); left != (mem.Stats{}) {
					t.Errorf("left in the store: %+v", left)
				}
			})
		})
	}
}

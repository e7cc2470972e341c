package coord_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap/zaptest/observer"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver/lease"
	"github.com/coordkit/coordkit/drivers/mem"
)

// retrying is Client.Retry or Session.Retry.
type retrying = func(context.Context, func(context.Context) error) error

func byClient(c *coord.Client, _ *coord.Session) retrying  { return c.Retry }
func bySession(_ *coord.Client, s *coord.Session) retrying { return s.Retry }

// A client tries again for its own TTL, and a session for as long as it lives.
func TestWhoRetriesHowLong(t *testing.T) {
	const long = 10 * ttl
	unsaid, cancel := context.WithCancel(context.Background()) // to the store
	cancel()
	for name, c := range map[string]struct {
		by       func(*coord.Client, *coord.Session) retrying
		end      func(*coord.Session, context.CancelFunc) // after twice the client's TTL
		why      error
		from, to time.Duration
	}{
		"client":            {byClient, nil, coord.ErrUnavailable, ttl, ttl + time.Second},
		"session, lost":     {bySession, nil, coord.ErrSessionLost, long - lease.Margin(long), long},
		"session, closed":   {bySession, func(s *coord.Session, _ context.CancelFunc) { _ = s.Close(unsaid) }, coord.ErrClosed, 2 * ttl, 2 * ttl},
		"session, canceled": {bySession, func(_ *coord.Session, cancel context.CancelFunc) { cancel() }, context.Canceled, 2 * ttl, 2 * ttl},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, client *coord.Client, conn *mem.Conn, _ *observer.ObservedLogs) {
				s, err := client.NewSession(t.Context(), long)
				if err != nil {
					t.Fatal(err)
				}
				conn.Link().Cut()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.end != nil {
					time.AfterFunc(2*ttl, func() { c.end(s, cancel) })
				}
				began := time.Now()
				err = c.by(client, s)(ctx, func(context.Context) error { return coord.ErrUnavailable })
				if took := time.Since(began); !errors.Is(err, c.why) || took < c.from || took > c.to {
					t.Errorf("%v after %v; want %v after %v to %v", err, took, c.why, c.from, c.to)
				}
				time.Sleep(long) // by then the store has ended the session
			})
		})
	}
}

// A store that refuses at once is asked a dozen times in the first second, and then once
// or a few times in each.
func TestRetryPausesGrow(t *testing.T) {
	bubble(t, func(t *testing.T, client *coord.Client, _ *mem.Conn, _ *observer.ObservedLogs) {
		const seconds = 10
		s, err := client.NewSession(t.Context(), seconds*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var attempts [seconds + 2]int
		began := time.Now()
		_ = s.Retry(t.Context(), func(context.Context) error { // for its TTL
			attempts[int(time.Since(began).Seconds())]++
			return coord.ErrUnavailable
		})
		for i, n := range attempts[:seconds] {
			if most := 5; n < 1 || n > most && i > 0 || n > 12 {
				t.Errorf("%d attempts in second %d", n, i+1)
			}
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A store that renews the session and refuses the call is not asked for ever.
func TestSessionRetriesForItsTTL(t *testing.T) {
	bubble(t, func(t *testing.T, client *coord.Client, _ *mem.Conn, _ *observer.ObservedLogs) {
		const long = 10 * ttl
		s, err := client.NewSession(t.Context(), long)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = s.Retry(t.Context(), func(context.Context) error { return coord.ErrUnavailable })
		if took := time.Since(began); !errors.Is(err, coord.ErrUnavailable) || took < long || took > long+time.Second {
			t.Errorf("%v after %v; want ErrUnavailable after %v", err, took, long)
		}
		if err := errors.Join(s.Err(), s.Close(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// What trying again does not mend is returned as it is, and so is what succeeds,
// also when the session has ended.
// What an earlier attempt may have done is not forgotten over a later one that has
// surely done nothing.
func TestRetryStaysUncertain(t *testing.T) {
	bubble(t, func(t *testing.T, client *coord.Client, _ *mem.Conn, _ *observer.ObservedLogs) {
		s, err := client.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, retry := range map[string]retrying{"client": client.Retry, "session": s.Retry} {
			for _, last := range []error{coord.ErrUnavailable, coord.ErrDenied} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				calls := 0
				err := retry(ctx, func(context.Context) error {
					if calls++; calls == 2 {
						return coord.ErrUncertain
					}
					if calls == 1 {
						return coord.ErrUnavailable
					}
					return last
				})
				cancel()
				if !errors.Is(err, coord.ErrUncertain) || errors.Is(err, coord.ErrUnavailable) {
					t.Errorf("%s, %v at last: %v; want ErrUncertain", name, last, err)
				}
				if denied := last == coord.ErrDenied; errors.Is(err, coord.ErrDenied) != denied || errors.Is(err, context.DeadlineExceeded) == denied {
					t.Errorf("%s: %v; want the last error or the end of ctx as well", name, err)
				}
			}
		}
	})
}

func TestSessionRetriesWhatMayPass(t *testing.T) {
	bubble(t, func(t *testing.T, client *coord.Client, _ *mem.Conn, _ *observer.ObservedLogs) {
		s, err := client.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		denied := fmt.Errorf("%w: %w", coord.ErrUncertain, coord.ErrDenied)
		for _, want := range []error{coord.ErrDenied, denied, nil} {
			calls := 0
			err := s.Retry(t.Context(), func(context.Context) error {
				if calls++; calls < 3 {
					return coord.ErrUncertain
				}
				return want
			})
			if !errors.Is(err, want) || calls != 3 {
				t.Errorf("%v after %d calls; want %v after 3", err, calls, want)
			}
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Retry(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Errorf("what succeeds: %v", err)
		}
		if err := s.Retry(t.Context(), func(context.Context) error { return coord.ErrUncertain }); !errors.Is(err, coord.ErrClosed) {
			t.Errorf("what fails after the session's end: %v; want that end", err)
		}
	})
}

// A call that pauses before it tries again ends with the client.
func TestCloseEndsRetries(t *testing.T) {
	bubble(t, func(t *testing.T, c *coord.Client, _ *mem.Conn, _ *observer.ObservedLogs) {
		var closed time.Time
		time.AfterFunc(ttl/3, func() {
			closed = time.Now()
			_ = c.Close(context.Background())
		})
		calls := 0
		err := c.Retry(t.Context(), func(context.Context) error {
			calls++
			return coord.ErrUnavailable
		})
		if late := time.Since(closed); !errors.Is(err, coord.ErrClosed) || errors.Is(err, coord.ErrUnavailable) || late != 0 {
			t.Errorf("%v, %v after the client was closed; want ErrClosed at once", err, late)
		}
		if calls < 3 {
			t.Errorf("%d attempts in a third of the TTL", calls)
		}
	})
}

package conformance

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// beforeClose calls closing when a session is about to be closed.
type beforeClose struct {
	driver.Conn
	closing func()
}

// Unwrap makes the driver's watch reachable, if it has one.
func (c beforeClose) Unwrap() any { return c.Conn }

func (c beforeClose) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return sessionBeforeClose{s, c.closing}, nil
}

type sessionBeforeClose struct {
	driver.Session
	closing func()
}

// Unwrap makes the optional calls of the session reachable.
func (s sessionBeforeClose) Unwrap() any { return s.Session }

func (s sessionBeforeClose) Close(ctx context.Context) error {
	s.closing()
	return s.Session.Close(ctx)
}

// contestClosed closes the session of a holder, or its client. The store lets the next in
// line in as soon as it is asked to end the session, so the hold must have ended before.
func contestClosed(d duel) {
	for _, closing := range []struct {
		what  string
		close func(*coord.Client, subject.Hold) error
	}{
		{"the session", func(_ *coord.Client, h subject.Hold) error { return h.Session().Close(d.ctx) }},
		{"the client", func(c *coord.Client, _ subject.Hold) error { return c.Close(d.ctx) }},
	} {
		var held atomic.Pointer[subject.Hold]
		var asked, early atomic.Bool
		c := d.clientOn(beforeClose{d.Open(), func() {
			if h := held.Load(); h != nil && !asked.Swap(true) {
				early.Store(!ended((*h).Done()) || (*h).Context().Err() == nil)
			}
		}})
		h := d.take(d.one(c))
		held.Store(&h)
		next := d.join(d.ctx, "the next in line", d.other(d.Client()), 2)
		if err := closing.close(c, h); err != nil {
			d.Fatalf("Close of %s: %v", closing.what, err)
		}
		if early.Load() {
			d.Fatalf("Close of %s asked the store to end it while the hold and its context had not ended", closing.what)
		}
		d.ends(h, "the hold whose session was closed", coord.ErrClosed)
		d.release(d.wins(next))
		d.empty()
	}
}

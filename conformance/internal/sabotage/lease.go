package sabotage

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
)

// leaseSabotages are about how long a lease lasts.
func leaseSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "no-margin", Breaks: "S1",
			Doc: "The deadline is the very moment at which the store ends the session. A clock that is a little slow, or a timer a little late, and others see it first.",
			Apply: eachSession(func(s *session) {
				delayEnd(s, func() time.Duration { return lease.Margin(s.TTL()) - 5*time.Millisecond })
			}),
		},
		{
			Name: "counted-from-any-answer", Breaks: "S1",
			Doc: "Each answer of the store counts as a sign of life, although it renews a lease by renewals only.",
			Apply: eachSession(func(s *session) {
				var last atomic.Int64
				opened := time.Now()
				s.onCall(func() { last.Store(int64(time.Since(opened))) })
				delayEnd(s, func() time.Duration {
					until := opened.Add(time.Duration(last.Load())).Add(s.TTL() - lease.Margin(s.TTL()))
					return max(0, time.Until(until))
				})
			}),
		},
		{
			Name: "whole-seconds-granted", Breaks: "S1",
			Doc: "The store is asked for whole seconds, as TTL says, and the client counts what it was asked for.",
			Apply: wholeSeconds(func(s *session, asked time.Duration) {
				delayEnd(s, func() time.Duration { return asked - s.TTL() })
			}),
		},
		{
			Name: "renewed-for-a-minute", Breaks: "S1",
			Doc: "Renewals ask the store for one minute at most, and the client counts the TTL, which is longer.",
			Apply: longTTL(time.Minute, func(s *session, asked time.Duration) {
				delayEnd(s, func() time.Duration { return asked - s.Session.TTL() })
				s.ttl = func() time.Duration { return asked }
			}),
		},
		{
			Name: "long-ttl-not-renewed", Breaks: "S3",
			Doc: "A session with a TTL above one minute is not renewed.",
			Apply: longTTL(time.Hour, func(s *session, asked time.Duration) {
				endAfter(s, asked)
			}),
		},
		{
			Name: "short-ttl-ends-late", Breaks: "S1",
			Doc: "The deadline is looked at every 300 ms at the most, which is longer than the margin of a short TTL.",
			Apply: shortTTL(func(s *session) {
				delayEnd(s, func() time.Duration { return 300 * time.Millisecond })
			}),
		},
		{
			Name: "short-ttl-not-renewed", Breaks: "S3",
			Doc:   "A session with a TTL that is shorter than the interval of the renewals is not renewed.",
			Apply: shortTTL(func(s *session) { endAfter(s, s.TTL()) }),
		},
		{
			Name: "fraction-of-a-second-renewed", Breaks: "S3",
			Doc: "Whole seconds and the rest are two numbers, and renewals send the rest: the session ends with the first that is late.",
			Apply: eachConn(func(c *conn) {
				c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
					in, err := c.Conn.OpenSession(ctx, ttl)
					if err != nil {
						return nil, err
					}
					s := &session{Session: in, conn: c, ctx: ctx}
					if ttl%time.Second != 0 {
						missOneRenewal(s)
					}
					return s.offered(), nil
				}
			}),
		},
		{
			Name: "calls-for-renewals", Breaks: "S3",
			Doc: "A session that makes calls is not renewed, although the store renews it by renewals only.",
			Apply: eachSession(func(s *session) {
				var first, last atomic.Int64 // of calls that follow each other
				opened := time.Now()
				s.onCall(func() {
					now := time.Since(opened)
					if now-time.Duration(last.Swap(int64(now))) > s.TTL()/3 {
						first.Store(int64(now))
					}
					if now-time.Duration(first.Load()) > 3*s.TTL()/2 {
						_ = s.Session.Close(s.ctx)
					}
				})
			}),
		},
		{
			Name: "whole-seconds-told-as-asked", Breaks: "S7",
			Doc: "The store is asked for whole seconds, and TTL says what the driver was asked for.",
			Apply: wholeSeconds(func(s *session, asked time.Duration) {
				s.ttl = func() time.Duration { return asked }
			}),
		},
	}
}

// longTTL makes the Apply of a sabotage of sessions with a TTL above one minute, for which
// the store is asked for no more than most.
func longTTL(most time.Duration, sabotage func(s *session, asked time.Duration)) func(conformance.Harness) conformance.Harness {
	return eachConn(func(c *conn) {
		c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
			if ttl <= time.Minute || ttl > time.Hour {
				return c.Conn.OpenSession(ctx, ttl)
			}
			in, err := c.Conn.OpenSession(ctx, min(ttl, most))
			if err != nil {
				return nil, err
			}
			s := &session{Session: in, conn: c, ctx: ctx}
			sabotage(s, ttl)
			return s.offered(), nil
		}
	})
}

// shortTTL makes the Apply of a sabotage of sessions with a TTL below 600 ms.
func shortTTL(sabotage func(s *session)) func(conformance.Harness) conformance.Harness {
	return eachSession(func(s *session) {
		if s.TTL() < 600*time.Millisecond {
			sabotage(s)
		}
	})
}

// wholeSeconds makes the Apply of a sabotage of sessions for which less was granted
// than was asked for.
func wholeSeconds(sabotage func(s *session, asked time.Duration)) func(conformance.Harness) conformance.Harness {
	return eachConn(func(c *conn) {
		c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
			granted := ttl
			if ttl > time.Second && ttl < time.Minute {
				granted = ttl.Truncate(time.Second)
			}
			in, err := c.Conn.OpenSession(ctx, granted)
			if err != nil {
				return nil, err
			}
			s := &session{Session: in, conn: c, ctx: ctx}
			if granted < ttl {
				sabotage(s, ttl)
			}
			return s.offered(), nil
		}
	})
}

// onCall has f called after each call that lists or changes.
func (s *session) onCall(f func()) {
	s.list = func(ctx context.Context, dir string) (nodes []driver.Node, err error) {
		defer answered(&err, f)
		return s.Session.List(ctx, dir)
	}
	s.update = func(ctx context.Context, n driver.Node, data []byte) (m driver.Node, err error) {
		defer answered(&err, f)
		return s.Session.Update(ctx, n, data)
	}
}

func answered(err *error, f func()) {
	if *err == nil {
		f()
	}
}

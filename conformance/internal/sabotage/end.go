package sabotage

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
)

func endSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "late-timer", Breaks: "S1",
			Doc: "The deadline is looked at once in a while. (clientv3 polls each second: Done came 0.7 s after the key was gone.)",
			Apply: eachSession(func(s *session) {
				delayEnd(s, func() time.Duration { return s.TTL() / 5 })
			}),
		},
		{
			Name: "twice-the-ttl", Breaks: "S1",
			Doc: "The deadline is what the store grants at the most and not at the least. (Consul deletes after 2 x TTL; it has granted one.)",
			Apply: eachSession(func(s *session) {
				delayEnd(s, func() time.Duration {
					if answers(s, lease.Margin(s.TTL())/2) { // then it was the store that ended it
						return 0
					}
					return s.TTL() * 3 / 2
				})
			}),
		},
		{
			Name: "counted-from-receipt", Breaks: "S1",
			Doc:   "The deadline counts from the arrival of the keepalive's answer, so it is late by a round trip. (clientv3; CURATOR-460.)",
			Apply: eachSession(func(s *session) { delayEnd(s, roundTrip(s)) }),
		},
		{
			Name: "opening-counted-from-receipt", Breaks: "S1",
			Doc: "The deadline of a new session counts from the arrival of the answer that opened it, and is right with the first renewal only.",
			Apply: eachConn(func(c *conn) {
				c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
					sent := time.Now()
					in, err := c.Conn.OpenSession(ctx, ttl)
					if err != nil {
						return nil, err
					}
					s := &session{Session: in, conn: c, ctx: ctx}
					late := time.Since(sent)
					delayEnd(s, func() time.Duration {
						if time.Since(sent) > ttl { // it was renewed
							return 0
						}
						return late
					})
					return s.offered(), nil
				}
			}),
		},
		{
			Name: "one-ttl-for-all", Breaks: "S1",
			Doc: "All sessions of a connection have the lease that was asked for with the first, and each takes it for its own.",
			Apply: eachConn(func(c *conn) {
				var first atomic.Int64
				c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
					granted := ttl
					if !first.CompareAndSwap(0, int64(ttl)) {
						granted = min(ttl, time.Duration(first.Load()))
					}
					in, err := c.Conn.OpenSession(ctx, granted)
					if err != nil {
						return nil, err
					}
					s := &session{Session: in, conn: c, ctx: ctx}
					if granted < ttl {
						s.ttl = func() time.Duration { return ttl }
						delayEnd(s, func() time.Duration { return ttl - granted })
					}
					return s.offered(), nil
				}
			}),
		},
		{
			Name: "done-after-the-answer", Breaks: "S1",
			Doc: "Close asks the store to remove the nodes, and closes Done when it has.",
			Apply: eachSession(func(s *session) {
				e := newEnding()
				var closing atomic.Bool
				see := func() {
					if err := s.Session.Err(); err != nil && !closing.Load() {
						e.end(err)
					}
				}
				s.show(e, see)
				s.close = func(ctx context.Context) error {
					closing.Store(true)
					err := s.Session.Close(ctx)
					e.end(s.Session.Err())
					return err
				}
				s.follow(see)
			}),
		},
		{
			Name: "connection-closed-first", Breaks: "S1",
			Doc: "Conn.Close ends the sessions in the store and tells them afterwards.",
			Apply: eachConn(func(c *conn) {
				var told sync.Map // how to tell each session
				c.sessions(func(s *session) {
					e := newEnding()
					see := func() {
						if err := s.Session.Err(); err != nil && (!errors.Is(err, driver.ErrClosed) || c.closed.Load() != closing) {
							e.end(err)
						}
					}
					s.show(e, see)
					s.follow(see)
					told.Store(s, see)
				})
				c.close = func() error {
					c.closed.Store(closing)
					err := c.Conn.Close()
					time.Sleep(20 * time.Millisecond)
					c.closed.Store(closed)
					told.Range(func(_, see any) bool { see.(func())(); return true })
					return err
				}
			}),
		},
		{
			Name: "replaced-silently", Breaks: "S2",
			Doc: "A lost session is opened anew behind the same value. (go-zookeeper: a Create queued at the expiry ran in another session.)",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				current := s.Session
				get := func() driver.Session {
					mu.Lock()
					defer mu.Unlock()
					return current
				}
				s.done = func() <-chan struct{} { return get().Done() }
				s.err = func() error { return get().Err() }
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					return get().Create(ctx, dir, id, data)
				}
				closed := s.closeCalled() // then nobody needs another one
				s.follow(func() {
					for errors.Is(s.Session.Err(), driver.ErrSessionLost) && s.ctx.Err() == nil {
						pass(s, s.Session.TTL()/2)
						if closed.Load() {
							return
						}
						next, err := s.conn.Conn.OpenSession(s.ctx, s.Session.TTL())
						if errors.Is(err, driver.ErrClosed) {
							return
						}
						if err == nil {
							mu.Lock()
							defer mu.Unlock()
							current = next
							return
						}
					}
				})
			}),
		},
		{
			Name: "loss-forgotten", Breaks: "S2",
			Doc: "Err says how the link is now and not how the session is. (vitess#16005: Check meant another thing on each store.)",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				var lost time.Time
				s.err = func() error {
					mu.Lock()
					defer mu.Unlock()
					err := s.Session.Err()
					switch {
					case !errors.Is(err, driver.ErrSessionLost):
					case lost.IsZero():
						lost = time.Now()
					case time.Since(lost) > s.Session.TTL()/2:
						return nil
					}
					return err
				}
			}),
		},
		{
			Name: "closed-after-all", Breaks: "S2",
			Doc: "Err of a lost session says that it was closed, once it was closed as well.",
			Apply: eachSession(func(s *session) {
				closed := s.closeCalled()
				s.err = func() error {
					err := s.Session.Err()
					if err != nil && closed.Load() {
						return &driver.Error{Op: "session", Kind: driver.ErrClosed}
					}
					return err
				}
			}),
		},
		{
			Name: "lost-for-now", Breaks: "S2",
			Doc: "The error of a lost session has that of the last renewal for its cause, and so says to try again.",
			Apply: eachSession(func(s *session) {
				s.err = func() error {
					err := s.Session.Err()
					if errors.Is(err, driver.ErrSessionLost) {
						return &driver.Error{Op: "session", Kind: driver.ErrUnavailable, Err: err}
					}
					return err
				}
			}),
		},
		{
			Name: "one-missed-renewal", Breaks: "S3",
			Doc:   "The first renewal without an answer ends the session: a new leader at every hiccup.",
			Apply: eachSession(missOneRenewal),
		},
		{
			Name: "reset-ends-the-session", Breaks: "S3",
			Doc: "A connection that is reset takes the session along: a new leader at each restart of a proxy.",
			Apply: eachSession(func(s *session) {
				e := newEnding()
				see := func() {
					if err := s.Session.Err(); err != nil {
						e.end(err)
					}
				}
				s.show(e, see)
				s.follow(see)
				reset := s.conn.resets.next()
				go func() { // ends with the sound session, which ends with its connection
					select { // if both are ready the session has ended either way
					case <-reset:
						e.end(&driver.Error{Op: "session", Kind: driver.ErrSessionLost})
					case <-s.Session.Done():
					}
				}()
			}),
		},
		countedSession(),
		{
			Name: "renewed-for-a-while", Breaks: "S3",
			Doc: "Renewal stops after some time although the link works. (etcd's simple auth tokens live for 300 s: #17623, #12385.)",
			Apply: eachSession(func(s *session) {
				timer := time.AfterFunc(5*s.TTL()/2, func() { _ = s.Session.Close(s.ctx) })
				context.AfterFunc(s.ctx, func() { timer.Stop() })
			}),
		},
		{
			Name: "never-told", Breaks: "S4",
			Doc: "Done stays open when the store ends the session. (libkv: two primaries, classicswarm#2654; consul#18271: open after 150 s.)",
			Apply: eachSession(func(s *session) {
				delayEnd(s, func() time.Duration {
					if answers(s, lease.Margin(s.TTL())/2) { // then it was not the link
						return time.Hour
					}
					return 0
				})
			}),
		},
	}
}

// missOneRenewal ends a session when the store does not answer for a fifth of the TTL.
func missOneRenewal(s *session) {
	e := newEnding()
	see := func() {
		if err := s.Session.Err(); err != nil {
			e.end(err)
		}
	}
	s.show(e, see)
	s.endCalls()
	s.follow(see)
	go func() { // ends with the sound session, which ends with its connection
		for !over(s.Session.Done()) {
			if !answers(s, s.TTL()/5) && !over(s.Session.Done()) {
				e.end(&driver.Error{Op: "keepalive", Kind: driver.ErrSessionLost})
				return
			}
			rest(s.Session.Done(), s.TTL()/20)
		}
	}()
}

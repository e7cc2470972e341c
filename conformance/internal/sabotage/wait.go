package sabotage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

func waitSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "gone-before-unseen", Breaks: "W1",
			Doc: "A watch on a node that is gone waits for it to come and go. (ZooKeeper's ExistsW; a lost wake-up: kazoo PR #170.)",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					nodes, err := s.Session.List(ctx, n.Dir)
					if _, ok := named(nodes, n.Key); err == nil && !ok {
						return s.until(ctx)
					}
					return s.Session.WaitDelete(ctx, n)
				}
			}),
		},
		{
			Name: "one-waiter-woken", Breaks: "W1",
			Doc: "Of several waits for one node in a process only one is told. (A shared watch that signals instead of broadcasting.)",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				waits := make(map[string]int) // by key
				s.wait = func(ctx context.Context, n driver.Node) error {
					mu.Lock()
					waits[n.Key]++
					first := waits[n.Key] == 1
					mu.Unlock()
					defer func() {
						mu.Lock()
						waits[n.Key]--
						mu.Unlock()
					}()
					if !first {
						return s.until(ctx)
					}
					return s.Session.WaitDelete(ctx, n)
				}
			}),
		},
		{
			Name: "only-deletes-seen", Breaks: "W1",
			Doc:   "Waiters are told by those who delete, and not by the store: an expiry or an operator goes unseen.",
			Apply: onlyDeletes,
		},
		{
			Name: "waits-take-turns", Breaks: "W1",
			Doc: "Only so many waits are asked for at a time, and the others when one of these ends. (A pool of connections for long polls; etcd's streams on one connection.)",
			Apply: eachConn(func(c *conn) {
				const most = 100
				turns := make(chan struct{}, most)
				c.sessions(func(s *session) {
					s.wait = func(ctx context.Context, n driver.Node) error {
						select { // whoever is over is told so by the sound wait
						case turns <- struct{}{}:
							defer func() { <-turns }()
						case <-ctx.Done():
						case <-s.Session.Done():
						}
						return s.Session.WaitDelete(ctx, n)
					}
				})
			}),
		},
		{
			Name: "update-wakes", Breaks: "W2",
			Doc:   "Any event on the key ends the wait. (ZooKeeper's GetW and ExistsW fire on a set.)",
			Apply: wakeOnUpdate,
		},
		{
			Name: "not-known-is-gone", Breaks: "W2",
			Doc: "Who follows a directory already takes a node that it has not heard of for one that is gone. " +
				"(Informers and caches; replicas that lag.)",
			Apply: notKnownIsGone,
		},
		{
			Name: "broken-watch-is-nil", Breaks: "W2",
			Doc: "The closed channel of a broken watch passes for the deletion. (That of etcd's Observe surprised trillian#1387, kube-vip#1725.)",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					broken := s.conn.resets.next()
					ctx, cancel := context.WithCancel(ctx)
					defer cancel()
					done := make(chan error, 1)
					go func() { done <- s.Session.WaitDelete(ctx, n) }() // ends with ctx
					select {
					case <-broken:
						return nil
					case err := <-done:
						return err
					}
				}
			}),
		},
		{
			Name: "silence-is-nil", Breaks: "W2",
			Doc: "A watch of which nothing was heard for some time passes for one that fired.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					ctx, cancel := context.WithCancel(ctx)
					defer cancel()
					done := make(chan error, 1)
					go func() { done <- s.Session.WaitDelete(ctx, n) }() // ends with ctx
					for {
						select {
						case err := <-done:
							return err
						case <-time.After(s.TTL() / 50):
							if !answers(s, s.TTL()/8) && !over(s.Session.Done()) && ctx.Err() == nil {
								return nil
							}
						}
					}
				}
			}),
		},
		{
			Name: "time-out-is-nil", Breaks: "W2",
			Doc: "A wait that times out returns nil. (vitess#8309, libkv#64: everybody waiting got the Consul lock.)",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					err := s.Session.WaitDelete(ctx, n)
					if errors.Is(err, context.DeadlineExceeded) {
						return nil
					}
					return err
				}
			}),
		},
		{
			Name: "waits-for-the-name", Breaks: "W3",
			Doc: "The wait ends when there is no node of that name, whichever it is.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					for {
						if err := s.Session.WaitDelete(ctx, n); err != nil {
							return err
						}
						nodes, err := s.Session.List(ctx, n.Dir)
						if err != nil {
							return err
						}
						later, ok := named(nodes, n.Key)
						if !ok {
							return nil
						}
						n = later
					}
				}
			}),
		},
		{
			Name: "zombie-waiter", Breaks: "W4",
			Doc: "The wait goes on when its session has ended. (etcd#19597: until the node ahead leaves.)",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					err := s.Session.WaitDelete(ctx, n)
					if errors.Is(err, driver.ErrSessionLost) {
						<-ctx.Done()
						return ctx.Err()
					}
					return err
				}
			}),
		},
		{
			Name: "nil-for-the-lost", Breaks: "W4",
			Doc: "A waiter whose session has died is told that it is its turn. (etcd's Election.Campaign returned nil: #11456.)",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					err := s.Session.WaitDelete(ctx, n)
					if errors.Is(err, driver.ErrSessionLost) {
						return nil
					}
					return err
				}
			}),
		},
		{
			Name: "deaf-to-close", Breaks: "W4",
			Doc: "Close of the session does not end its waits.",
			Apply: eachConn(func(c *conn) {
				c.close = func() error {
					c.closed.Store(closed)
					return c.Conn.Close()
				}
				c.sessions(func(s *session) {
					s.wait = func(ctx context.Context, n driver.Node) error {
						err := s.Session.WaitDelete(ctx, n)
						if errors.Is(err, driver.ErrClosed) && c.closed.Load() == open {
							<-ctx.Done()
							return ctx.Err()
						}
						return err
					}
				})
			}),
		},
		{
			Name: "deaf-after-a-reset", Breaks: "W5",
			Doc:   "A watch whose connection was reset is not set again. (etcd without WithRequireLeader: 15 s after the release.)",
			Apply: deafAfter(func(c *conn) <-chan struct{} { return c.resets.next() }),
		},
		{
			Name: "deaf-after-silence", Breaks: "W5",
			Doc:   "A watch that the link was silent for hears nothing any more. (A half-open connection.)",
			Apply: deafAfter(func(c *conn) <-chan struct{} { return c.silences.next() }),
		},
	}
}

// until waits for nothing until ctx or the session ends.
func (s *session) until(ctx context.Context) error {
	select { // if both have ended either is true
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Session.Done():
		return s.Session.Err()
	}
}

// deafAfter makes the waits under way hang when the link breaks.
func deafAfter(breaks func(*conn) <-chan struct{}) func(conformance.Harness) conformance.Harness {
	return eachSession(func(s *session) {
		s.wait = func(ctx context.Context, n driver.Node) error {
			broken := breaks(s.conn)
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- s.Session.WaitDelete(ctx, n) }() // ends with ctx
			select {                                             // if both are ready the sabotage does its worst half of the time
			case <-broken:
				return s.until(ctx)
			case err := <-done:
				return err
			}
		}
	})
}

// onlyDeletes hides from waits what was not deleted by a driver.
func onlyDeletes(h conformance.Harness) conformance.Harness {
	var deleted sync.Map // by key and token
	name := func(n driver.Node) string { return fmt.Sprint(n.Key, " ", n.Token) }
	return onSession(h, func(s *session) {
		s.remove = func(ctx context.Context, n driver.Node) error {
			deleted.Store(name(n), true)
			return s.Session.Delete(ctx, n)
		}
		s.wait = func(ctx context.Context, n driver.Node) error {
			err := s.Session.WaitDelete(ctx, n)
			if _, ok := deleted.Load(name(n)); err == nil && !ok {
				return s.until(ctx)
			}
			return err
		}
	})
}

// wakeOnUpdate ends waits when their node is updated.
func wakeOnUpdate(h conformance.Harness) conformance.Harness {
	var mu sync.Mutex
	updates := make(map[string]*signal) // by key, which holds the namespace
	of := func(n driver.Node) *signal {
		mu.Lock()
		defer mu.Unlock()
		if updates[n.Key] == nil {
			updates[n.Key] = new(signal)
		}
		return updates[n.Key]
	}
	return onSession(h, func(s *session) {
		s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
			m, err := s.Session.Update(ctx, n, data)
			if err == nil {
				of(n).fire()
			}
			return m, err
		}
		s.wait = func(ctx context.Context, n driver.Node) error {
			updated := of(n).next()
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- s.Session.WaitDelete(ctx, n) }() // ends with ctx
			select {
			case <-updated:
				return nil
			case err := <-done:
				return err
			}
		}
	})
}

// notKnownIsGone keeps a picture of each directory that somebody waits in, and renews it
// now and then.
func notKnownIsGone(h conformance.Harness) conformance.Harness {
	return onSession(h, func(s *session) {
		var mu sync.Mutex
		waits := make(map[string]int) // by directory
		known := newStale()
		s.wait = func(ctx context.Context, n driver.Node) error {
			mu.Lock()
			if waits[n.Dir]++; waits[n.Dir] == 1 {
				known.forget(n.Dir)
			}
			mu.Unlock()
			defer func() {
				mu.Lock()
				waits[n.Dir]--
				mu.Unlock()
			}()
			nodes, err := known.list(ctx, n.Dir, s.Session.List)
			if _, ok := named(nodes, n.Key); err == nil && !ok {
				return nil
			}
			return s.Session.WaitDelete(ctx, n)
		}
	})
}

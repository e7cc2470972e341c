package sabotage

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

func waitSabotages() []Sabotage {
	return append(slices.Concat(manyWaitSabotages(), closeOtherWaitSabotages(), alikeWaitSabotages(), busyWaitSabotages()), []Sabotage{
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
			Name: "looks-then-watches", Breaks: "W1",
			Doc: "The wait lists first and sets its watch then: what is deleted in between is never told.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					nodes, err := s.Session.List(ctx, n.Dir)
					if err == nil && !same(nodes, n) {
						return s.Session.WaitDelete(ctx, n)
					}
					if _, err := s.Session.List(ctx, "queue:nothing"); err != nil { // a round trip
						return s.Session.WaitDelete(ctx, n)
					}
					if nodes, err = s.Session.List(ctx, n.Dir); err == nil && !same(nodes, n) {
						return s.until(ctx)
					}
					return s.Session.WaitDelete(ctx, n)
				}
			}),
		},
		{
			Name: "deaf-from-a-list", Breaks: "W1",
			Doc: "Lists do not say as of when they are, and a wait for a node of one hears nothing.",
			Apply: withoutVersions(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					if n.Version == 0 {
						return s.until(ctx)
					}
					return s.Session.WaitDelete(ctx, n)
				}
			}),
		},
		{
			Name: "gone-from-a-list", Breaks: "W2",
			Doc: "Lists do not say as of when they are, and a wait for a node of one returns at once.",
			Apply: withoutVersions(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					if n.Version == 0 && s.Session.Err() == nil {
						return nil
					}
					return s.Session.WaitDelete(ctx, n)
				}
			}),
		},
		{
			Name: "four-bytes-are-gone", Breaks: "W2",
			Doc: "A wait for a node with more than three bytes of data returns at once.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					if len(n.Data) > 3 && s.Session.Err() == nil {
						return nil
					}
					return s.Session.WaitDelete(ctx, n)
				}
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
					_, err := s.waitOr(ctx, n, s.conn.resets.next())
					return err
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
			Apply: afterWait(func(_ context.Context, _ *session, _ driver.Node, err error) error {
				if errors.Is(err, context.DeadlineExceeded) {
					return nil
				}
				return err
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
			Apply: afterWait(func(ctx context.Context, _ *session, _ driver.Node, err error) error {
				if errors.Is(err, driver.ErrSessionLost) {
					<-ctx.Done()
					return ctx.Err()
				}
				return err
			}),
		},
		{
			Name: "begun-in-the-gap", Breaks: "W4",
			Doc: "A wait that begins while the store is out of reach waits for that alone, also when its session ends.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					_, err := s.Session.List(ctx, n.Dir)
					for away := driver.Transient(err); away && err != nil; _, err = s.Session.List(ctx, n.Dir) {
						select {
						case <-time.After(s.TTL() / 50):
						case <-ctx.Done():
							return ctx.Err()
						}
					}
					return s.Session.WaitDelete(ctx, n)
				}
			}),
		},
		{
			Name: "nil-for-the-lost", Breaks: "W4",
			Doc: "A waiter whose session has died is told that it is its turn. (etcd's Election.Campaign returned nil: #11456.)",
			Apply: afterWait(func(_ context.Context, _ *session, _ driver.Node, err error) error {
				if errors.Is(err, driver.ErrSessionLost) {
					return nil
				}
				return err
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
		countedWait(),
	}...)
}

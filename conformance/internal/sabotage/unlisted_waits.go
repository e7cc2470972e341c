package sabotage

import (
	"context"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

func unlistedWaits() []Sabotage {
	return []Sabotage{
		{
			Name: "lost-with-a-wait", Breaks: "S3",
			Doc: "A session ends when its connection is reset while it waits for a node.",
			Apply: func(h conformance.Harness) conformance.Harness {
				return onSession(h, func(s *session) {
					s.wait = func(ctx context.Context, n driver.Node) error {
						reset := s.conn.resets.next()
						ctx, cancel := context.WithCancel(ctx)
						defer cancel()
						ended := make(chan struct{})
						context.AfterFunc(ctx, func() { rest(s.ctx.Done(), moment); close(ended) })
						go func() { // ends a moment after the wait
							select { // if both are ready the sabotage does nothing half of the time
							case <-reset:
								_ = h.Expire(s.ctx, s.conn.namespace, s.Session)
							case <-ended:
							}
						}()
						return s.Session.WaitDelete(ctx, n)
					}
				})
			},
		},
		{
			Name: "long-data-is-gone", Breaks: "W2",
			Doc: "WaitDelete returns at once for a node with more than three bytes of data.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					if len(n.Data) > 3 && s.Session.Err() == nil && ctx.Err() == nil {
						return nil
					}
					return s.Session.WaitDelete(ctx, n)
				}
			}),
		},
		{
			Name: "wait-for-the-id", Breaks: "W2",
			Doc: "WaitDelete ends when the session deletes a node of the same id in another directory.",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				gone := make(map[string]*signal)
				of := func(id string) *signal {
					mu.Lock()
					defer mu.Unlock()
					if gone[id] == nil {
						gone[id] = new(signal)
					}
					return gone[id]
				}
				s.remove = func(ctx context.Context, n driver.Node) error {
					defer of(n.ID).fire()
					return s.Session.Delete(ctx, n)
				}
				s.wait = func(ctx context.Context, n driver.Node) error {
					_, err := s.waitOr(ctx, n, of(n.ID).next())
					return err
				}
			}),
		},
		{
			Name: "second-waiter-forgotten", Breaks: "W1",
			Doc: "Of two waits of a session for one node the second is told nothing.",
			Apply: eachSession(func(s *session) {
				var waiting sync.Map
				s.wait = func(ctx context.Context, n driver.Node) error {
					if _, second := waiting.LoadOrStore(n.Token, true); !second {
						defer waiting.Delete(n.Token)
						return s.Session.WaitDelete(ctx, n)
					}
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-s.Session.Done():
						return s.Session.Err()
					}
				}
			}),
		},
		{
			Name: "old-versions-are-gone", Breaks: "W2",
			Doc: "WaitDelete takes a node that was updated since the caller's Node was read for one that is gone.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					nodes, err := s.Session.List(ctx, n.Dir)
					for _, m := range nodes {
						if err == nil && m.Same(n) && m.Version != n.Version {
							return nil
						}
					}
					return s.Session.WaitDelete(ctx, n)
				}
			}),
		},
		{
			Name: "two-are-waited-for", Breaks: "F2",
			Doc: "WaitAny looks at the first two nodes.",
			Apply: eachSession(func(s *session) {
				s.waitAny = func(ctx context.Context, nodes []driver.Node) (int, error) {
					return s.Session.(driver.AnyWaiter).WaitAny(ctx, nodes[:min(2, len(nodes))])
				}
			}),
		},
		{
			Name: "any-by-place", Breaks: "F2",
			Doc: "WaitAny returns the place of the node among those that are sorted by Seq.",
			Apply: eachSession(func(s *session) {
				s.waitAny = func(ctx context.Context, nodes []driver.Node) (int, error) {
					i, err := s.Session.(driver.AnyWaiter).WaitAny(ctx, nodes)
					place := 0
					for _, n := range nodes {
						if err == nil && n.Seq < nodes[i].Seq {
							place++
						}
					}
					return place, err
				}
			}),
		},
		{
			Name: "own-nodes-unwatched", Breaks: "W5",
			Doc: "A wait for a node of the session's own is not set again after a reset.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					if n.Session != s.ID() {
						return s.Session.WaitDelete(ctx, n)
					}
					deaf, reset := context.WithCancel(ctx)
					defer reset()
					resets := s.conn.resets.next()
					done := make(chan error, 1)
					go func() { done <- s.Session.WaitDelete(deaf, n) }() // ends with deaf
					select {
					case err := <-done:
						return err
					case <-resets:
						select {
						case <-ctx.Done():
							return ctx.Err()
						case <-s.Session.Done():
							return s.Session.Err()
						}
					}
				}
			}),
		},
		{
			Name: "wait-polls", Breaks: "W3",
			Doc: "WaitDelete looks every 20 ms whether there is a node of that name.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					for {
						nodes, err := s.Session.List(ctx, n.Dir)
						if err != nil {
							return err
						}
						if _, ok := named(nodes, n.Key); !ok {
							return nil
						}
						timer := time.NewTimer(20 * time.Millisecond)
						select {
						case <-ctx.Done():
							timer.Stop()
							return ctx.Err()
						case <-timer.C:
						}
					}
				}
			}),
		},
	}
}

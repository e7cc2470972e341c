package sabotage

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// manyListSabotages work for a few nodes, and for short names.
func manyListSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "first-thousand", Breaks: "L1",
			Doc: "Lists are the first page of a store, of a thousand nodes.",
			Apply: relist(func(_ string, nodes []driver.Node) []driver.Node {
				return nodes[:min(len(nodes), 1000)]
			}),
		},
		{
			Name: "names-cut", Breaks: "L1",
			Doc: "Nodes of directories are told apart by the first 255 bytes of the name, as in a column of SQL.",
			Apply: func(h conformance.Harness) conformance.Harness {
				return onConn(h, func(c *conn) {
					cut := func(dir string) string { return dir[:min(len(dir), 255)] }
					whole := func(dir string, nodes []driver.Node) []driver.Node {
						for i := range nodes {
							nodes[i].Dir = dir
						}
						return nodes
					}
					c.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
						nodes, err := c.Conn.List(ctx, cut(dir))
						return whole(dir, nodes), err
					}
					c.sessions(func(s *session) {
						s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
							nodes, err := s.Session.List(ctx, cut(dir))
							return whole(dir, nodes), err
						}
						s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
							n, err := s.Session.Create(ctx, cut(dir), id, data)
							n.Dir = dir
							return n, err
						}
					})
				})
			},
		},
	}
}

// manyWatchSabotages work for a few watches, or for a few changes.
func manyWatchSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "many-watches", Breaks: "V1",
			Doc: "Of the watches of a connection only the first 32 are told of changes.",
			Apply: eachConn(func(c *conn) {
				var running atomic.Int32
				c.loops(func(w *loop, yield yielding) {
					late := running.Add(1) > 32
					defer running.Add(-1)
					shown := 0
					for nodes, err := range w.sound {
						if err == nil && late && shown > 0 {
							continue
						}
						if shown++; !yield(nodes, err) {
							return
						}
					}
				})
			}),
		},
		{
			Name: "first-nodes-watched", Breaks: "V1",
			Doc: "A watch shows the first 500 nodes: one page.",
			Apply: eachState(func(*loop) func([]driver.Node) [][]driver.Node {
				return func(nodes []driver.Node) [][]driver.Node {
					return [][]driver.Node{nodes[:min(len(nodes), 500)]}
				}
			}),
		},
		{
			Name: "thousand-states", Breaks: "V1",
			Doc: "A watch has room for a thousand states, and shows no more.",
			Apply: hidden(func(*loop) func(_, _ []driver.Node) bool {
				states := 0
				return func(_, _ []driver.Node) bool {
					states++
					return states > 1000
				}
			}),
		},
	}
}

// manySabotages work for a few sessions, and with a ctx that lives.
func manySabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "data-of-the-first-fifty", Breaks: "L1",
			Doc: "Lists carry the data of the first fifty nodes, and leave out that of the others.",
			Apply: relist(func(_ string, nodes []driver.Node) []driver.Node {
				for i := range nodes {
					if i >= 50 {
						nodes[i].Data = nil
					}
				}
				return nodes
			}),
		},
		{
			Name: "opened-after-a-reset", Breaks: "S3",
			Doc: "A session that is opened after a reset of the connection is not renewed.",
			Apply: eachConn(func(c *conn) {
				reset := c.resets.next()
				c.sessions(func(s *session) {
					if over(reset) {
						endAfter(s, s.TTL()*9/10)
					}
				})
			}),
		},
		{
			Name: "starved-by-waits", Breaks: "S3",
			Doc: "More than 64 waits take all connections of a pool, and renewals have to wait for one.",
			Apply: eachSession(func(s *session) {
				var waits atomic.Int32
				s.wait = func(ctx context.Context, n driver.Node) error {
					if waits.Add(1) == 65 {
						timer := time.AfterFunc(2*s.TTL(), func() {
							if waits.Load() > 64 {
								_ = s.Session.Close(s.ctx)
							}
						})
						defer timer.Stop()
					}
					defer waits.Add(-1)
					return s.Session.WaitDelete(ctx, n)
				}
			}),
		},
		{
			Name: "close-of-an-ended-ctx", Breaks: "S5",
			Doc: "Close with a ctx that has ended does nothing, and the session is renewed for good. (defer s.Close(ctx).)",
			Apply: eachSession(func(s *session) {
				s.close = func(ctx context.Context) error {
					if err := driver.ContextError(ctx); err != nil {
						return err
					}
					return s.Session.Close(ctx)
				}
			}),
		},
		{
			Name: "closed-by-another", Breaks: "S5",
			Doc: "Close returns nil while another Close waits for the store.",
			Apply: eachSession(func(s *session) {
				var closing atomic.Bool
				s.close = func(ctx context.Context) error {
					if closing.Swap(true) {
						return nil
					}
					defer closing.Store(false)
					return s.Session.Close(ctx)
				}
			}),
		},
		{
			Name: "many-nodes-left-to-the-ttl", Breaks: "S5",
			Doc: "Close of a session with more than a hundred nodes lets the lease run out.",
			Apply: eachSession(func(s *session) {
				var made atomic.Int32
				leaveToTTLIf(s, func() bool { return made.Load() > 100 })
				create := s.create
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					made.Add(1)
					return create(ctx, dir, id, data)
				}
			}),
		},
		{
			Name: "ninth-session", Breaks: "S8",
			Doc: "The ninth session of a connection, and all later ones, end with the first.",
			Apply: eachConn(func(c *conn) {
				var mu sync.Mutex
				var opened int
				var first driver.Session
				c.sessions(func(s *session) {
					mu.Lock()
					defer mu.Unlock()
					if opened++; opened == 1 {
						first = s.Session
					} else if opened > 8 {
						go func() { // ends with the sessions, which end with their connection
							select { // if both are ready there is nothing left to end
							case <-first.Done():
								_ = s.Session.Close(s.ctx)
							case <-s.Session.Done():
							}
						}()
					}
				})
			}),
		},
		{
			Name: "opened-for-an-ended-ctx", Breaks: "S9",
			Doc: "OpenSession with a ctx that has ended opens a session that is renewed for good.",
			Apply: eachConn(func(c *conn) {
				c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
					err := driver.ContextError(ctx)
					if err == nil {
						return c.Conn.OpenSession(ctx, ttl)
					}
					_, _ = c.Conn.OpenSession(context.WithoutCancel(ctx), ttl)
					return nil, err
				}
			}),
		},
		{
			Name: "data-that-begin-alike", Breaks: "U1",
			Doc: "Update with data that the node's begin with changes nothing: what is compared is the new length.",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					if len(data) > 0 && len(data) < len(n.Data) && bytes.HasPrefix(n.Data, data) {
						n.Data = bytes.Clone(data)
						return n, nil
					}
					return s.Session.Update(ctx, n, data)
				}
			}),
		},
		{
			Name: "goroutine-of-a-given-up-call", Breaks: "N1",
			Doc: "A goroutine of each call that was given up stays for as long as its session.",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if ctx.Err() != nil {
						go func() { <-s.Session.Done() }()
					}
					return n, err
				}
			}),
		},
		{
			Name: "goroutine-of-a-closed-session", Breaks: "N1",
			Doc: "A goroutine of each session stays until the connection is closed.",
			Apply: eachConn(func(c *conn) {
				done := make(chan struct{})
				end := sync.OnceFunc(func() { close(done) })
				c.sessions(func(*session) { go func() { <-done }() })
				c.close = func() error {
					end()
					return c.Conn.Close()
				}
				context.AfterFunc(c.ctx, end)
			}),
		},
	}
}

// endAfter has the store end a session after d.
func endAfter(s *session, d time.Duration) {
	timer := time.AfterFunc(d, func() { _ = s.Session.Close(s.ctx) })
	context.AfterFunc(s.ctx, func() { timer.Stop() })
}

// leaveToTTLIf is leaveToTTL for a Close at which left reports true.
func leaveToTTLIf(s *session, left func() bool) {
	leaveToTTL(s)
	leave := s.close
	s.close = func(ctx context.Context) error {
		if left() {
			return leave(ctx)
		}
		return s.Session.Close(ctx)
	}
}

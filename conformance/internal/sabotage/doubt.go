package sabotage

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// doubtSabotages are about calls beside others, and about what nobody waits for any more.
func doubtSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "doubt-settled-by-delete", Breaks: "C2",
			Doc: "A Create that was given up while its slot had a node counts as settled when that node is deleted, and lands later.",
			Apply: eachSession(func(s *session) {
				var doubted sync.Map // slots
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if errors.Is(err, driver.ErrUncertain) {
						doubted.Store(dir+"/"+id, true)
					} else {
						doubted.Delete(dir + "/" + id)
					}
					return n, err
				}
				s.createList = func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
					doubted.Delete(dir + "/" + id) // CreateList is sound
					return optional[driver.CreateLister](s.Session).CreateList(ctx, dir, id, data)
				}
				s.remove = func(ctx context.Context, n driver.Node) error {
					err := s.Session.Delete(ctx, n)
					if _, ok := doubted.LoadAndDelete(n.Dir + "/" + n.ID); ok && err == nil {
						s.later(func() { _, _ = s.Session.Create(s.ctx, n.Dir, n.ID, nil) })
					}
					return err
				}
			}),
		},
		{
			Name: "doubt-settled-by-time", Breaks: "C2",
			Doc: "A Create that was given up counts as settled a TTL later. (A fence that the store keeps for so long.)",
			Apply: eachSession(func(s *session) {
				var doubted, forgotten sync.Map // slots
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					at, before := doubted.LoadAndDelete(dir + "/" + id)
					switch {
					case errors.Is(err, driver.ErrUncertain):
						doubted.Store(dir+"/"+id, time.Now())
					case err == nil && before && time.Since(at.(time.Time)) > s.TTL():
						forgotten.Store(dir+"/"+id, true)
					}
					return n, err
				}
				s.remove = func(ctx context.Context, n driver.Node) error {
					err := s.Session.Delete(ctx, n)
					if _, ok := forgotten.LoadAndDelete(n.Dir + "/" + n.ID); ok && err == nil {
						s.later(func() { _, _ = s.Session.Create(s.ctx, n.Dir, n.ID, nil) })
					}
					return err
				}
			}),
		},
		{
			Name: "doubt-settled-by-another", Breaks: "C2",
			Doc: "The fence of all sessions of a connection belongs to one: when that is closed, Creates of the others that were given up land.",
			Apply: eachConn(func(c *conn) {
				var mu sync.Mutex
				var land []func()
				c.sessions(func(s *session) {
					s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
						n, err := s.Session.Create(ctx, dir, id, data)
						if errors.Is(err, driver.ErrUncertain) {
							mu.Lock()
							defer mu.Unlock()
							land = append(land, func() { s.later(func() { _, _ = s.Session.Create(s.ctx, dir, id, nil) }) })
						}
						return n, err
					}
					s.close = func(ctx context.Context) error {
						err := s.Session.Close(ctx)
						mu.Lock()
						defer mu.Unlock()
						for _, f := range land {
							f()
						}
						land = nil
						return err
					}
				})
			}),
		},
		{
			Name: "openings-coalesced", Breaks: "S8",
			Doc: "OpenSessions that are made at the same time share one session. (A singleflight around the opening.)",
			Apply: eachConn(func(c *conn) {
				type opening struct {
					done chan struct{}
					s    driver.Session
					err  error
				}
				var mu sync.Mutex
				var under *opening
				c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
					mu.Lock()
					o := under
					if o == nil {
						o = &opening{done: make(chan struct{})}
						under = o
						mu.Unlock()
						rest(ctx.Done(), time.Millisecond) // for others to join
						o.s, o.err = c.Conn.OpenSession(ctx, ttl)
						mu.Lock()
						under = nil
						mu.Unlock()
						close(o.done)
						return o.s, o.err
					}
					mu.Unlock()
					<-o.done
					return o.s, o.err
				}
			}),
		},
		{
			Name: "session-id-used-again", Breaks: "S8",
			Doc: "A session is named by the process, and its ID is that of the one before. (A hostname and a PID.)",
			Apply: eachSession(func(s *session) {
				var used atomic.Bool // what has nodes has its own ID, or they would be another session's
				s.id = func() string {
					if used.Load() {
						return s.Session.ID()
					}
					return "host-1"
				}
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					used.Store(true)
					return s.Session.Create(ctx, dir, id, data)
				}
				s.createList = func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
					used.Store(true)
					return optional[driver.CreateLister](s.Session).CreateList(ctx, dir, id, data)
				}
			}),
		},
		{
			Name: "updates-in-order-of-the-session", Breaks: "U1",
			Doc: "Update returns success and does nothing if a later Update of the session, of whatever node, was answered before.",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				var last, answered int
				begun := make(map[string]int) // by key and data, for one that is made again
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					mu.Lock()
					last++
					mine, again := begun[n.Key+string(data)]
					if !again {
						mine = last
						begun[n.Key+string(data)] = mine
					}
					mu.Unlock()
					before := n
					m, err := s.Session.Update(ctx, n, data)
					mu.Lock()
					defer mu.Unlock()
					if err == nil && answered > mine {
						_, _ = s.Session.Update(ctx, m, before.Data)
					}
					if err == nil {
						answered = max(answered, mine)
						delete(begun, n.Key+string(data))
					}
					return m, err
				}
			}),
		},
		{
			Name: "sent-for-an-ended-ctx", Breaks: "E2",
			Doc: "Create with a ctx that has ended sends its request, and says that it was not sent.",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if ctx.Err() != nil && errors.Is(err, driver.ErrUnavailable) {
						_, _ = s.Session.Create(s.ctx, dir, id, data)
					}
					return n, err
				}
			}),
		},
		{
			Name: "lists-coalesced", Breaks: "L5",
			Doc: "A Conn.List gets the answer to one that is under way, which may be older than it. (A singleflight around the list.)",
			Apply: eachConn(func(c *conn) {
				type listing struct {
					done  chan struct{}
					nodes []driver.Node
					err   error
				}
				var mu sync.Mutex
				under := make(map[string]*listing)
				c.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					mu.Lock()
					l := under[dir]
					if l == nil {
						l = &listing{done: make(chan struct{})}
						under[dir] = l
						mu.Unlock()
						l.nodes, l.err = c.Conn.List(ctx, dir)
						mu.Lock()
						delete(under, dir)
						mu.Unlock()
						close(l.done)
						return l.nodes, l.err
					}
					mu.Unlock()
					select { // if both are ready either is right
					case <-l.done:
						if l.err == nil {
							return l.nodes, nil
						}
					case <-ctx.Done():
					}
					return c.Conn.List(ctx, dir)
				}
			}),
		},
		{
			Name: "connection-of-an-unanswered-call", Breaks: "N1",
			Doc: "The connection of a List that was given up by the driver is not used again, and never closed.",
			Apply: func(h conformance.Harness) conformance.Harness {
				dial := h.Open
				return onConn(h, func(c *conn) {
					c.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
						nodes, err := c.Conn.List(ctx, dir)
						if driver.Transient(err) && ctx.Err() == nil {
							leaveConn(c, dial)
						}
						return nodes, err
					}
				})
			},
		},
		{
			Name: "connection-of-a-refused-call", Breaks: "N1",
			Doc: "The connection of a Create that the store has refused is not used again, and never closed.",
			Apply: func(h conformance.Harness) conformance.Harness {
				dial := h.Open
				return onSession(h, func(s *session) {
					s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
						n, err := s.Session.Create(ctx, dir, id, data)
						if errors.Is(err, driver.ErrSessionLost) {
							leaveConn(s.conn, dial)
						}
						return n, err
					}
				})
			},
		},
		{
			Name: "goroutine-of-a-lost-session", Breaks: "N1",
			Doc: "A goroutine of each session that was lost stays until the connection is closed.",
			Apply: eachConn(func(c *conn) {
				done := make(chan struct{})
				end := sync.OnceFunc(func() { close(done) })
				c.sessions(func(s *session) {
					go func() {
						select {
						case <-s.Session.Done():
						case <-done:
						}
						if errors.Is(s.Session.Err(), driver.ErrSessionLost) {
							<-done
						}
					}()
				})
				c.close = func() error {
					end()
					return c.Conn.Close()
				}
				context.AfterFunc(c.ctx, end)
			}),
		},
	}
}

// leaveConn opens another connection, with a wait that keeps it in use until the case ends.
func leaveConn(c *conn, dial func(ctx context.Context, namespace string) (driver.Conn, error)) {
	second, err := dial(c.ctx, c.namespace)
	if err != nil {
		return
	}
	context.AfterFunc(c.ctx, func() { _ = second.Close() })
	s, err := second.OpenSession(c.ctx, time.Minute)
	if err != nil {
		return
	}
	if n, err := s.Create(c.ctx, "left", "0", nil); err == nil {
		go func() { _ = s.WaitDelete(c.ctx, n) }()
	}
}

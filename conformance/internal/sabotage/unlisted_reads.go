package sabotage

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// without leaves out nodes.
func without(nodes []driver.Node, out func(driver.Node) bool) []driver.Node {
	return slices.DeleteFunc(slices.Clone(nodes), out)
}

func unlistedReads() []Sabotage {
	return []Sabotage{
		{
			Name: "zero-is-empty", Breaks: "L3",
			Doc: "A session's list takes a node whose data begin with a zero byte for one without data, and leaves it out.",
			Apply: eachSession(func(s *session) {
				s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					nodes, err := s.Session.List(ctx, dir)
					return without(nodes, func(n driver.Node) bool { return len(n.Data) > 0 && n.Data[0] == 0 }), err
				}
			}),
		},
		{
			Name: "listed-a-moment-ago", Breaks: "L5",
			Doc: "Conn.List is answered from what a session of the connection listed 20 ms ago or less.",
			Apply: eachConn(func(c *conn) {
				var mu sync.Mutex
				type list struct {
					at    time.Time
					nodes []driver.Node
				}
				last := make(map[string]list)
				c.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					mu.Lock()
					l, ok := last[dir]
					mu.Unlock()
					if ok && time.Since(l.at) < 20*time.Millisecond {
						return l.nodes, nil
					}
					return c.Conn.List(ctx, dir)
				}
				c.sessions(func(s *session) {
					s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
						nodes, err := s.Session.List(ctx, dir)
						if err == nil {
							mu.Lock()
							defer mu.Unlock()
							last[dir] = list{time.Now(), nodes}
						}
						return nodes, err
					}
				})
			}),
		},
		{
			Name: "own-updates-unlisted", Breaks: "L3",
			Doc: "A session lists its nodes with the data with which it made them.",
			Apply: eachSession(func(s *session) {
				var made sync.Map
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if err == nil {
						made.LoadOrStore(n.Token, n.Data)
					}
					return n, err
				}
				s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					nodes, err := s.Session.List(ctx, dir)
					nodes = slices.Clone(nodes)
					for i, n := range nodes {
						if data, ok := made.Load(n.Token); ok {
							nodes[i].Data = data.([]byte)
						}
					}
					return nodes, err
				}
			}),
		},
		{
			Name: "one-buffer", Breaks: "C8",
			Doc: "Lists of a session share one slice, which the next list overwrites.",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				var buffer []driver.Node
				s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					nodes, err := s.Session.List(ctx, dir)
					mu.Lock()
					defer mu.Unlock()
					buffer = append(buffer[:0], nodes...)
					return buffer, err
				}
			}),
		},
		{
			Name: "others-later", Breaks: "L3",
			Doc: "A session's list shows nodes of others only once they are 20 ms old.",
			Apply: eachConn(func(c *conn) {
				c.sessions(func(s *session) {
					var mu sync.Mutex
					seen := make(map[uint64]time.Time)
					s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
						nodes, err := s.Session.List(ctx, dir)
						mu.Lock()
						defer mu.Unlock()
						return without(nodes, func(n driver.Node) bool {
							if _, ok := seen[n.Token]; !ok {
								seen[n.Token] = time.Now()
							}
							return n.Session != s.ID() && time.Since(seen[n.Token]) < 20*time.Millisecond
						}), err
					}
				})
			}),
		},
		{
			Name: "one-node-a-session", Breaks: "F1",
			Doc: "CreateList shows of each session the last node only.",
			Apply: eachSession(func(s *session) {
				s.createList = func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
					n, nodes, err := s.Session.(driver.CreateLister).CreateList(ctx, dir, id, data)
					last := make(map[string]uint64)
					for _, m := range nodes {
						last[m.Session] = m.Seq
					}
					return n, without(nodes, func(m driver.Node) bool { return m.Seq != last[m.Session] }), err
				}
			}),
		},
		{
			Name: "empty-data-unwatched", Breaks: "V1",
			Doc: "A watch does not see an Update to no data.",
			Apply: hidden(func(*loop) func(_, _ []driver.Node) bool {
				return func(last, nodes []driver.Node) bool {
					return last != nil && len(last) == len(nodes) && slices.ContainsFunc(nodes, func(n driver.Node) bool {
						i := slices.IndexFunc(last, n.Same)
						return i >= 0 && len(n.Data) == 0 && len(last[i].Data) > 0
					})
				}
			}),
		},
		{
			Name: "watch-counts", Breaks: "V1",
			Doc: "A watch takes a state with as many nodes as the last one for the same.",
			Apply: hidden(func(*loop) func(_, _ []driver.Node) bool {
				return func(last, nodes []driver.Node) bool { return last != nil && len(last) == len(nodes) }
			}),
		},
		{
			Name: "watch-skips-the-empty", Breaks: "V1",
			Doc: "A watch does not show that the directory is empty.",
			Apply: hidden(func(*loop) func(_, _ []driver.Node) bool {
				return func(last, nodes []driver.Node) bool { return last != nil && len(nodes) == 0 }
			}),
		},
		{
			Name: "watch-of-the-first-three", Breaks: "V1",
			Doc: "A watch shows no more than three nodes.",
			Apply: eachState(func(*loop) func([]driver.Node) [][]driver.Node {
				return func(nodes []driver.Node) [][]driver.Node {
					return [][]driver.Node{nodes[:min(3, len(nodes))]}
				}
			}),
		},
	}
}

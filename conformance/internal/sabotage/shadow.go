package sabotage

import (
	"context"
	"strings"
	"sync"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// shadowSixth binds each sixth and later node of a session to another one, on a
// connection of its own, which lasts as long as the first, and hides that.
func shadowSixth(h conformance.Harness) conformance.Harness {
	var mu sync.Mutex
	owner := make(map[string]string) // of each shadow, by namespace and ID
	hide := func(namespace string, nodes []driver.Node) []driver.Node {
		mu.Lock()
		defer mu.Unlock()
		shown := make([]driver.Node, len(nodes))
		for i, n := range nodes {
			if id, ok := owner[namespace+n.Session]; ok {
				n.Session = id
			}
			shown[i] = n
		}
		return shown
	}
	dial := h.Open
	return onConn(h, func(c *conn) {
		var held sync.Mutex
		var seconds []driver.Conn // one for each session that has a shadow
		c.close = func() error {
			held.Lock()
			defer held.Unlock()
			for _, second := range seconds {
				_ = second.Close()
			}
			return c.Conn.Close()
		}
		c.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
			nodes, err := c.Conn.List(ctx, dir)
			return hide(c.namespace, nodes), err
		}
		c.states(func(*loop) func([]driver.Node) [][]driver.Node {
			return func(nodes []driver.Node) [][]driver.Node { return [][]driver.Node{hide(c.namespace, nodes)} }
		})
		c.sessions(func(s *session) {
			var mine sync.Mutex
			var shadow driver.Session
			slots := make(map[string]bool) // true: in the shadow
			// target is the session for a slot.
			target := func(ctx context.Context, dir, id string) (driver.Session, error) {
				mine.Lock()
				defer mine.Unlock()
				name := strings.Join([]string{dir, id}, "/")
				shadowed, known := slots[name]
				if !known {
					shadowed = len(slots) >= 5
					slots[name] = shadowed
				}
				if !shadowed || s.Session.Err() != nil {
					return s.Session, nil
				}
				if shadow == nil {
					second, err := dial(s.ctx, c.namespace)
					if err != nil {
						return nil, err
					}
					held.Lock()
					seconds = append(seconds, second)
					held.Unlock()
					opened, err := second.OpenSession(s.ctx, s.TTL())
					if err != nil {
						return nil, err
					}
					shadow = opened
					mu.Lock()
					owner[c.namespace+shadow.ID()] = s.ID()
					mu.Unlock()
				}
				return shadow, nil
			}
			s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
				in, err := target(ctx, dir, id)
				if err != nil {
					return driver.Node{}, err
				}
				n, err := in.Create(ctx, dir, id, data)
				return hide(c.namespace, []driver.Node{n})[0], err
			}
			s.createList = func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
				in, err := target(ctx, dir, id)
				if err != nil {
					return driver.Node{}, nil, err
				}
				n, nodes, err := optional[driver.CreateLister](in).CreateList(ctx, dir, id, data)
				return hide(c.namespace, []driver.Node{n})[0], hide(c.namespace, nodes), err
			}
			s.abandon = func(ctx context.Context, dir, id string) error {
				in, err := target(ctx, dir, id)
				if err != nil {
					return err
				}
				return in.Abandon(ctx, dir, id)
			}
			s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
				nodes, err := s.Session.List(ctx, dir)
				return hide(c.namespace, nodes), err
			}
			s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
				m, err := s.Session.Update(ctx, n, data)
				return hide(c.namespace, []driver.Node{m})[0], err
			}
		})
	})
}

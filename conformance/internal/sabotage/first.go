package sabotage

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// withFirst has First say what first does of a sound session.
func withFirst(first func(ctx context.Context, sound driver.Session, n driver.Node) (bool, error)) func(conformance.Harness) conformance.Harness {
	return eachConn(func(c *conn) {
		c.extra = driver.CapFirst
		c.sessions(func(s *session) {
			s.first = func(ctx context.Context, n driver.Node) (bool, error) { return first(ctx, s.Session, n) }
		})
	})
}

func firstSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "first-of-its-session", Breaks: "F5",
			Doc: "First looks at the nodes of one's own session.",
			Apply: withFirst(func(ctx context.Context, s driver.Session, n driver.Node) (bool, error) {
				line, err := s.List(ctx, n.Dir)
				for _, m := range line {
					if m.Session == n.Session {
						return m.Same(n), err
					}
				}
				return false, err
			}),
		},
		{
			Name: "first-by-name", Breaks: "F5",
			Doc: "First takes a later node of the same name for the one it was asked about.",
			Apply: withFirst(func(ctx context.Context, s driver.Session, n driver.Node) (bool, error) {
				line, err := s.List(ctx, n.Dir)
				return len(line) > 0 && line[0].Key == n.Key, err
			}),
		},
		{
			Name: "first-of-nobody", Breaks: "F5",
			Doc: "First is true where nothing is ahead, whether or not the node is there.",
			Apply: withFirst(func(ctx context.Context, s driver.Session, n driver.Node) (bool, error) {
				line, err := s.List(ctx, n.Dir)
				return len(line) == 0 || line[0].Seq >= n.Seq, err
			}),
		},
		{
			Name: "first-for-ever", Breaks: "F5",
			Doc: "First remembers a yes.",
			Apply: func() func(conformance.Harness) conformance.Harness {
				var yes sync.Map // by node
				return withFirst(func(ctx context.Context, s driver.Session, n driver.Node) (bool, error) {
					type node struct {
						key   string
						token uint64
					}
					if _, ok := yes.Load(node{n.Key, n.Token}); ok {
						return true, nil
					}
					line, err := s.List(ctx, n.Dir)
					first := len(line) > 0 && line[0].Same(n)
					if first {
						yes.Store(node{n.Key, n.Token}, true)
					}
					return first, err
				})
			}(),
		},
		{
			Name: "first-of-those-it-saw", Breaks: "F5",
			Doc:   "First asks for those that were in a list before the node was made, and not for who came in between.",
			Apply: firstOfThoseItSaw,
		},
		{
			Name: "never-first", Breaks: "F5",
			Doc: "First is never sure.",
			Apply: withFirst(func(_ context.Context, s driver.Session, _ driver.Node) (bool, error) {
				return false, s.Err()
			}),
		},
	}
}

// firstOfThoseItSaw has First ask for the nodes that the session listed before it made
// its own.
func firstOfThoseItSaw(h conformance.Harness) conformance.Harness {
	return onConn(h, func(c *conn) {
		c.extra = driver.CapFirst
		c.sessions(func(s *session) {
			var saw sync.Map // lists, by node
			name := func(n driver.Node) string { return fmt.Sprint(n.Key, " ", n.Token) }
			s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
				line, listing := s.Session.List(ctx, dir)
				n, err := s.Session.Create(ctx, dir, id, data)
				if err == nil && listing == nil && !same(line, n) {
					saw.Store(name(n), line)
				}
				return n, err
			}
			s.first = func(ctx context.Context, n driver.Node) (bool, error) {
				now, err := s.Session.List(ctx, n.Dir)
				if err != nil || !same(now, n) {
					return false, err
				}
				then, ok := saw.Load(name(n))
				if !ok {
					return now[0].Same(n), nil
				}
				return !slices.ContainsFunc(then.([]driver.Node), func(m driver.Node) bool { return same(now, m) }), nil
			}
		})
	})
}

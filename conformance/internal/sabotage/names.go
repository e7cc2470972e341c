package sabotage

import (
	"context"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// names is a session that lists by name, which the reference driver's do not.
type names struct {
	driver.Session
	createList func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error)
	listNames  func(ctx context.Context, dir string) ([]driver.Node, error)
}

func (s names) Unwrap() any { return s.Session }

// CreateList implements driver.CreateLister.
func (s names) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	return s.createList(ctx, dir, id, data)
}

// ListNames implements driver.NameLister.
func (s names) ListNames(ctx context.Context, dir string) ([]driver.Node, error) {
	return s.listNames(ctx, dir)
}

// Names gives the sessions of a harness's driver the optional interface
// driver.NameLister, so that it can be broken.
func Names(h conformance.Harness) conformance.Harness { return withNames(withoutData)(h) }

func withoutData(nodes []driver.Node) []driver.Node {
	nodes = slices.Clone(nodes)
	for i := range nodes {
		nodes[i].Data = nil
	}
	return nodes
}

// withNames is Names with what ListNames lists changed.
func withNames(change func([]driver.Node) []driver.Node) func(conformance.Harness) conformance.Harness {
	return func(h conformance.Harness) conformance.Harness {
		return eachNames(h, func(s *session) names { return s.withNames(change) })
	}
}

// eachNames has sessions list by name.
func eachNames(h conformance.Harness, open func(*session) names) conformance.Harness {
	return onConn(h, func(c *conn) {
		c.extra = driver.CapListNames
		c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
			sound, err := c.Conn.OpenSession(ctx, ttl)
			if err != nil {
				return nil, err
			}
			return open(&session{Session: sound, conn: c, ctx: ctx}), nil
		}
	})
}

// withNames is a session that lists by name what change makes of a list.
func (s *session) withNames(change func([]driver.Node) []driver.Node) names {
	return names{s.offered(),
		func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
			n, nodes, err := s.soundCreateList(ctx, dir, id, data)
			return n, withoutData(nodes), err
		},
		func(ctx context.Context, dir string) ([]driver.Node, error) {
			nodes, err := s.List(ctx, dir)
			return change(nodes), err
		},
	}
}

func namesSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "names-from-a-replica", Breaks: "F4",
			Doc: "Names are listed from a replica that has not the latest node yet.",
			Apply: withNames(func(nodes []driver.Node) []driver.Node {
				return slices.Clone(nodes[:max(0, len(nodes)-1)])
			}),
		},
		{
			Name: "names-in-no-order", Breaks: "F4",
			Doc: "Names are listed as the store has them.",
			Apply: withNames(func(nodes []driver.Node) []driver.Node {
				nodes = withoutData(nodes)
				slices.Reverse(nodes)
				return nodes
			}),
		},
		{
			Name: "names-with-anybodys-data", Breaks: "F4",
			Doc: "What is listed by name has data, but another node's.",
			Apply: withNames(func(nodes []driver.Node) []driver.Node {
				nodes = slices.Clone(nodes)
				for i := range nodes {
					nodes[i].Data = []byte("somebody else's")
				}
				return nodes
			}),
		},
		{
			Name: "names-without-the-session", Breaks: "F4",
			Doc: "What is listed by name does not say whose it is.",
			Apply: withNames(func(nodes []driver.Node) []driver.Node {
				nodes = withoutData(nodes)
				for i := range nodes {
					nodes[i].Session = ""
				}
				return nodes
			}),
		},
	}
}

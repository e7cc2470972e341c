package sabotage

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// names is a session that lists by name, which the reference driver's do not.
type names struct {
	driver.Session
	createList func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error)
	listNames  func(ctx context.Context, dir string, last uint64) ([]driver.Node, error)
}

func (s names) Unwrap() any { return s.Session }

// CreateList implements driver.CreateLister.
func (s names) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	return s.createList(ctx, dir, id, data)
}

// ListNames implements driver.NameLister.
func (s names) ListNames(ctx context.Context, dir string, last uint64) ([]driver.Node, error) {
	return s.listNames(ctx, dir, last)
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
		func(ctx context.Context, dir string, last uint64) ([]driver.Node, error) {
			nodes, err := upTo(s.List)(ctx, dir, last)
			return change(nodes), err
		},
	}
}

// upTo makes ListNames of List.
func upTo(list func(ctx context.Context, dir string) ([]driver.Node, error)) func(ctx context.Context, dir string, last uint64) ([]driver.Node, error) {
	return func(ctx context.Context, dir string, last uint64) ([]driver.Node, error) {
		nodes, err := list(ctx, dir)
		return slices.DeleteFunc(slices.Clone(nodes), func(n driver.Node) bool { return n.Seq > last }), err
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
			Name: "names-short-of-the-last", Breaks: "F4",
			Doc: "Names are listed up to a node, which is left out.",
			Apply: func(h conformance.Harness) conformance.Harness {
				return eachNames(h, func(s *session) names {
					sound := s.withNames(withoutData)
					list := sound.listNames
					sound.listNames = func(ctx context.Context, dir string, last uint64) ([]driver.Node, error) {
						nodes, err := list(ctx, dir, last)
						return slices.DeleteFunc(nodes, func(n driver.Node) bool { return n.Seq == last }), err
					}
					return sound
				})
			},
		},
		{
			Name: "names-without-ids-deleted-before", Breaks: "F4",
			Doc: "Names up to a node leave out the ids that the session has deleted, also if they were used again.",
			Apply: func(h conformance.Harness) conformance.Harness {
				return eachNames(h, func(s *session) names {
					var mu sync.Mutex
					deleted := make(map[string]bool)
					s.remove = func(ctx context.Context, n driver.Node) error {
						mu.Lock()
						deleted[n.Key] = true
						mu.Unlock()
						return s.Session.Delete(ctx, n)
					}
					sound := s.withNames(withoutData)
					list := sound.listNames
					sound.listNames = func(ctx context.Context, dir string, last uint64) ([]driver.Node, error) {
						nodes, err := list(ctx, dir, last)
						mu.Lock()
						defer mu.Unlock()
						return slices.DeleteFunc(nodes, func(n driver.Node) bool { return last < math.MaxUint64 && deleted[n.Key] }), err
					}
					return sound
				})
			},
		},
		{
			Name: "names-that-a-wait-has-told-of", Breaks: "F4",
			Doc: "Names up to a node are those of the first time that they were asked for.",
			Apply: func(h conformance.Harness) conformance.Harness {
				return eachNames(h, func(s *session) names {
					var mu sync.Mutex
					var seen []driver.Node // by all lists
					sound := s.withNames(withoutData)
					create, list := sound.createList, sound.listNames
					sound.createList = func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
						n, nodes, err := create(ctx, dir, id, data)
						mu.Lock()
						defer mu.Unlock()
						seen = slices.Clone(nodes)
						return n, nodes, err
					}
					sound.listNames = func(ctx context.Context, dir string, last uint64) ([]driver.Node, error) {
						mu.Lock()
						memory := slices.Clone(seen)
						mu.Unlock()
						if len(memory) > 0 && memory[len(memory)-1].Seq == last {
							return memory, nil
						}
						return list(ctx, dir, last)
					}
					return sound
				})
			},
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

package sabotage

import (
	"context"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// tearLists reads each list in two halves, by name, with time for a change in
// between.
func tearLists(h conformance.Harness) conformance.Harness {
	late := func(n driver.Node) bool { return n.ID >= "5" }
	return relistTwice(h, func(first, second []driver.Node) []driver.Node {
		early := slices.DeleteFunc(slices.Clone(first), late)
		return bySeq(append(early, slices.DeleteFunc(slices.Clone(second), func(n driver.Node) bool { return !late(n) })...))
	})
}

// tearData reads first which nodes there are, and then their data.
func tearData(h conformance.Harness) conformance.Harness {
	return relistTwice(h, func(first, second []driver.Node) []driver.Node {
		nodes := slices.Clone(first)
		for i, n := range nodes {
			if k := slices.IndexFunc(second, n.Same); k >= 0 {
				nodes[i].Data = second[k].Data
			}
		}
		return nodes
	})
}

// relistTwice makes each list of two, with time for a change in between.
func relistTwice(h conformance.Harness, join func(first, second []driver.Node) []driver.Node) conformance.Harness {
	return onConn(h, func(c *conn) {
		through := func(list listFunc) listFunc {
			return func(ctx context.Context, dir string) ([]driver.Node, error) {
				first, err := list(ctx, dir)
				if err != nil {
					return nil, err
				}
				rest(ctx.Done(), time.Millisecond)
				second, err := list(ctx, dir)
				if err != nil {
					return nil, err
				}
				return join(first, second), nil
			}
		}
		c.list = through(c.Conn.List)
		c.sessions(func(s *session) { s.list = through(s.Session.List) })
	})
}

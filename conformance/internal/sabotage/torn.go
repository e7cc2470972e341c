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
	return onConn(h, func(c *conn) {
		late := func(n driver.Node) bool { return n.ID >= "5" }
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
				early := slices.DeleteFunc(slices.Clone(first), late)
				return bySeq(append(early, slices.DeleteFunc(slices.Clone(second), func(n driver.Node) bool { return !late(n) })...)), nil
			}
		}
		c.list = through(c.Conn.List)
		c.sessions(func(s *session) { s.list = through(s.Session.List) })
	})
}

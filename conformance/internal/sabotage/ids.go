package sabotage

import (
	"context"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// asID makes the Apply of a sabotage that stores another id than it is given, and returns nodes
// with the id that the caller knows.
func asID(stored func(id string) string) func(conformance.Harness) conformance.Harness {
	return eachSession(func(s *session) {
		s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
			n, err := s.Session.Create(ctx, dir, stored(id), data)
			if err == nil {
				n.ID = id
			}
			return n, err
		}
		s.abandon = func(ctx context.Context, dir, id string) error {
			return s.Session.Abandon(ctx, dir, stored(id))
		}
	})
}

package sabotage

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// unawareSabotages are drivers that are wrong about other sessions' nodes between the
// moment at which the store ends a session and the one at which the driver knows.
func unawareSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "list-of-an-ended-session-is-empty", Breaks: "L1",
			Doc: "Session.List of a session that the store has ended is empty, without an error, until the driver knows of the end.",
			Apply: unaware(func(s *session, ended func() bool) {
				s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					if ended() && s.Err() == nil {
						return nil, nil
					}
					return s.Session.List(ctx, dir)
				}
			}),
		},
		{
			Name: "own-node-gone-ends-waits", Breaks: "W2",
			Doc: "When the store ends a session, its waits in a directory in which it has a node end with nil, until the driver knows of the end.",
			Apply: unaware(func(s *session, _ func() bool) {
				var entered sync.Map // directories
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if err == nil {
						entered.Store(dir, true)
					}
					return n, err
				}
				s.wait = func(ctx context.Context, n driver.Node) error {
					err := s.Session.WaitDelete(ctx, n)
					if _, ok := entered.Load(n.Dir); ok && errors.Is(err, driver.ErrSessionLost) && s.Err() == nil {
						return nil
					}
					return err
				}
			}),
		},
	}
}

// unaware has drivers know of a session's end in the store a sixteenth of a TTL late,
// and breaks sessions. ended reports whether the store has ended a session.
func unaware(sabotage func(s *session, ended func() bool)) func(conformance.Harness) conformance.Harness {
	return func(h conformance.Harness) conformance.Harness {
		var ended sync.Map // sessions, by namespace and ID
		expire := h.Expire
		h.Expire = func(ctx context.Context, namespace string, s driver.Session) error {
			ended.Store(namespace+"/"+s.ID(), true)
			return expire(ctx, namespace, s)
		}
		return onSession(h, func(s *session) {
			ended := func() bool {
				_, ok := ended.Load(s.conn.namespace + "/" + s.ID())
				return ok
			}
			delayEnd(s, func() time.Duration {
				if ended() {
					return s.TTL() / 16
				}
				return 0
			})
			sabotage(s, ended)
		})
	}
}

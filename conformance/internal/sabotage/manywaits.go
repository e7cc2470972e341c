package sabotage

import (
	"context"
	"sync"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// manyWaitSabotages work for a few waits, or for a few nodes.
func manyWaitSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "many-waiters-of-one", Breaks: "W1",
			Doc: "Of many waits for one node only the first 64 are told.",
			Apply: func(h conformance.Harness) conformance.Harness {
				var mu sync.Mutex
				waits := make(map[string]int) // by key
				return onSession(h, func(s *session) {
					s.wait = func(ctx context.Context, n driver.Node) error {
						mu.Lock()
						waits[n.Key]++
						late := waits[n.Key] > 64
						mu.Unlock()
						defer func() {
							mu.Lock()
							defer mu.Unlock()
							waits[n.Key]--
						}()
						if late {
							return s.until(ctx)
						}
						return s.Session.WaitDelete(ctx, n)
					}
				})
			},
		},
		{
			Name: "deaf-after-updates", Breaks: "W1",
			Doc: "A wait whose node was updated more than three times is told of nothing any more. (A watch that is set anew for each change, by a loop with a limit.)",
			Apply: func(h conformance.Harness) conformance.Harness {
				var mu sync.Mutex
				updates := make(map[string]int) // by key
				count := func(n driver.Node) int {
					mu.Lock()
					defer mu.Unlock()
					return updates[n.Key]
				}
				return onSession(h, func(s *session) {
					s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
						mu.Lock()
						updates[n.Key]++
						mu.Unlock()
						return s.Session.Update(ctx, n, data)
					}
					s.wait = func(ctx context.Context, n driver.Node) error {
						before := count(n)
						err := s.Session.WaitDelete(ctx, n)
						if err == nil && count(n) > before+3 {
							return s.until(ctx)
						}
						return err
					}
				})
			},
		},
		{
			Name: "abandon-unheard", Breaks: "W1",
			Doc: "Abandon tells no wait under way that the node is gone.",
			Apply: func(h conformance.Harness) conformance.Harness {
				var abandoned sync.Map // slots, with their sessions
				return onSession(h, func(s *session) {
					s.abandon = func(ctx context.Context, dir, id string) error {
						abandoned.Store(slotOf{s.conn.namespace, s.ID(), dir, id}, true)
						return s.Session.Abandon(ctx, dir, id)
					}
					s.wait = func(ctx context.Context, n driver.Node) error {
						slot := slotOf{s.conn.namespace, n.Session, n.Dir, n.ID}
						_, before := abandoned.Load(slot)
						err := s.Session.WaitDelete(ctx, n)
						if _, after := abandoned.Load(slot); err == nil && after && !before {
							return s.until(ctx)
						}
						return err
					}
				})
			},
		},
	}
}

// slotOf names a slot of a session.
type slotOf struct{ namespace, session, dir, id string }

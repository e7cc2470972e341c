package sabotage

import (
	"context"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
)

// doubtManySabotages are drivers that remember only so many Creates that were given up.
func doubtManySabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "sixteen-creates-remembered", Breaks: "C2",
			Doc: "Of the Creates that were given up sixteen are fenced off; another one comes through after its node was deleted.",
			Apply: eachSession(func(s *session) {
				forgotten := s.rememberSixteen()
				s.remove = func(ctx context.Context, n driver.Node) error {
					err := s.Session.Delete(ctx, n)
					if err == nil && forgotten(n.Dir, n.ID) {
						s.later(func() { _, _ = s.Session.Create(s.ctx, n.Dir, n.ID, nil) })
					}
					return err
				}
			}),
		},
		abandonsSixteen(),
	}
}

// abandonsSixteen is also for the optional calls: its Abandon settles what its Create has left.
func abandonsSixteen() Sabotage {
	return Sabotage{
		Name: "sixteen-creates-abandoned", Breaks: "C4",
		Doc: "Of the Creates that were given up sixteen are fenced off; another one comes through after its slot was abandoned.",
		Apply: eachSession(func(s *session) {
			forgotten := s.rememberSixteen()
			s.abandon = func(ctx context.Context, dir, id string) error {
				err := s.Session.Abandon(ctx, dir, id)
				if err == nil && forgotten(dir, id) {
					s.later(func() { _, _ = s.Session.Create(s.ctx, dir, id, nil) })
				}
				return err
			}
		}),
	}
}

// rememberSixteen makes a session remember only the first sixteen slots whose Create was given
// up. forgotten reports whether a slot is one of the others, once for each.
func (s *session) rememberSixteen() (forgotten func(dir, id string) bool) {
	type slot struct{ dir, id string }
	var mu sync.Mutex
	known, others := make(map[slot]bool), make(map[slot]bool)
	s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
		n, err := s.Session.Create(ctx, dir, id, data)
		mu.Lock()
		defer mu.Unlock()
		switch at := (slot{dir, id}); {
		case !ctxEnded(err) || known[at]:
		case len(known) < 16:
			known[at] = true
		default:
			others[at] = true
		}
		return n, err
	}
	return func(dir, id string) bool {
		mu.Lock()
		defer mu.Unlock()
		at := slot{dir, id}
		defer delete(others, at)
		return others[at]
	}
}

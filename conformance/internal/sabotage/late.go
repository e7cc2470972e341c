package sabotage

import (
	"context"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// lateSabotages are calls that were given up and come through later: those that were
// ended by their ctx, and those that the driver has given up itself while it lived, as it
// does for callers that try again.
func lateSabotages() (all []Sabotage) {
	byCtx := func(_ *session, _ context.Context, _ time.Time, err error) bool { return ctxEnded(err) }
	byDriver := func(s *session, ctx context.Context, start time.Time, err error) bool {
		return s.unanswered(ctx, start, err)
	}
	for _, l := range late {
		all = append(all,
			Sabotage{Name: l.name, Breaks: l.breaks, Doc: l.doc, Apply: eachSession(func(s *session) { l.apply(s, byCtx) })},
			Sabotage{Name: l.name + "-while-its-ctx-lives", Breaks: l.breaks,
				Doc:   l.doc + " So does one that the driver has given up itself, and no other.",
				Apply: eachSession(func(s *session) { l.apply(s, byDriver) })})
	}
	return all
}

// givenUp reports whether a call that began at a time, and has returned err, was given up.
type givenUp func(s *session, ctx context.Context, start time.Time, err error) bool

var late = []struct {
	name, breaks, doc string
	apply             func(s *session, lost givenUp)
}{
	{
		name: "late-abandon", breaks: "C4",
		doc: "An Abandon that was given up comes through later and takes the new node. (etcd#22082: a stale retry deletes a newer acquisition.)",
		apply: func(s *session, lost givenUp) {
			s.abandon = func(ctx context.Context, dir, id string) error {
				start := time.Now()
				err := s.Session.Abandon(ctx, dir, id)
				if lost(s, ctx, start, err) {
					s.later(func() { _ = removeSlot(s.ctx, s.Session, dir, id) })
				}
				return err
			}
		},
	},
	{
		name: "late-delete", breaks: "U2",
		doc: "A Delete that was given up comes through later, by the key. (etcd#22082: it deletes a newer acquisition.)",
		apply: func(s *session, lost givenUp) {
			s.remove = func(ctx context.Context, n driver.Node) error {
				start := time.Now()
				err := s.Session.Delete(ctx, n)
				if lost(s, ctx, start, err) {
					s.later(func() {
						if now, ok := s.byKey(s.ctx, n); ok {
							_ = s.Session.Delete(s.ctx, now)
						}
					})
				}
				return err
			}
		},
	},
	{
		name: "late-update", breaks: "U2",
		doc: "An Update that was given up comes through later and changes the data of another node.",
		apply: updatesLate(func(s *session, n driver.Node, data []byte) {
			if now, ok := s.byKey(s.ctx, n); ok && !now.Same(n) {
				_, _ = s.Session.Update(s.ctx, now, data)
			}
		}),
	},
	{
		name: "late-update-revives", breaks: "U4",
		doc: "An Update that was given up comes through later, as a put: the node that was deleted meanwhile is back.",
		apply: updatesLate(func(s *session, n driver.Node, data []byte) {
			_, _ = s.Session.Create(s.ctx, n.Dir, n.ID, data)
		}),
	},
	{
		name: "late-update-undoes", breaks: "U5",
		doc: "Update asks for the node and not for what it replaces: one that was given up comes through later and brings old data back.",
		apply: updatesLate(func(s *session, n driver.Node, data []byte) {
			_, _ = s.Session.Update(s.ctx, n, data)
		}),
	},
	{
		name: "one-update-remembered", breaks: "U5",
		doc: "Of the Updates that were given up only the last is fenced off; the one before it comes through later.",
		apply: func(s *session, lost givenUp) {
			var mu sync.Mutex
			last := make(map[string][]byte) // the data of an Update that was given up, by key
			s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
				start := time.Now()
				m, err := s.Session.Update(ctx, n, data)
				mu.Lock()
				defer mu.Unlock()
				before, ok := last[n.Key]
				switch {
				case err == nil:
					delete(last, n.Key)
				case lost(s, ctx, start, err):
					last[n.Key] = data
					if ok {
						s.later(func() { _, _ = s.Session.Update(s.ctx, n, before) })
					}
				}
				return m, err
			}
		},
	},
}

// updatesLate has an Update that was given up do something later.
func updatesLate(land func(s *session, n driver.Node, data []byte)) func(s *session, lost givenUp) {
	return func(s *session, lost givenUp) {
		s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
			start := time.Now()
			m, err := s.Session.Update(ctx, n, data)
			if lost(s, ctx, start, err) {
				s.later(func() { land(s, n, data) })
			}
			return m, err
		}
	}
}

// later calls f after a sixteenth of the TTL, unless the case ends before.
func (s *session) later(f func()) {
	timer := time.AfterFunc(s.TTL()/16, f)
	context.AfterFunc(s.ctx, func() { timer.Stop() })
}

// byKey returns the node that has the key of n now.
func (s *session) byKey(ctx context.Context, n driver.Node) (driver.Node, bool) {
	nodes, err := s.Session.List(ctx, n.Dir)
	if err != nil {
		return n, false
	}
	return named(nodes, n.Key)
}

package sabotage

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

func updateSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "update-moves-the-node", Breaks: "U1",
			Doc: "Seq is the revision of the last change, so an update goes to the end of the line. (Consul's ModifyIndex for CreateIndex.)",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					m, err := s.Session.Update(ctx, n, data)
					m.Seq = m.Version
					return m, err
				}
			}),
		},
		{
			Name: "unfenced-delete", Breaks: "U2",
			Doc: "Delete goes by the key. (etcd's Unlock is an unfenced DeleteRange; #22082.)",
			Apply: eachSession(func(s *session) {
				s.remove = func(ctx context.Context, n driver.Node) error {
					if now, ok := s.byKey(ctx, n); ok {
						n = now
					}
					return s.Session.Delete(ctx, n)
				}
			}),
		},
		{
			Name: "unfenced-update", Breaks: "U2",
			Doc: "Update goes by the key. (Consul: a foreign PUT succeeds.)",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					if now, ok := s.byKey(ctx, n); ok {
						n = now
					}
					return s.Session.Update(ctx, n, data)
				}
			}),
		},
		{
			Name: "delete-by-prefix", Breaks: "U2",
			Doc: "Delete removes what begins with the key. (etcd's WithPrefix; Consul's recurse.)",
			Apply: eachSession(func(s *session) {
				s.remove = func(ctx context.Context, n driver.Node) error {
					nodes, _ := s.Session.List(ctx, n.Dir)
					for _, m := range nodes {
						if strings.HasPrefix(m.Key, n.Key) && m.Key != n.Key {
							_ = s.Session.Delete(ctx, m)
						}
					}
					return s.Session.Delete(ctx, n)
				}
			}),
		},
		{
			Name: "late-delete", Breaks: "U2",
			Doc: "A Delete that was given up comes through later, by the key. (etcd#22082: it deletes a newer acquisition.)",
			Apply: eachSession(func(s *session) {
				s.remove = func(ctx context.Context, n driver.Node) error {
					err := s.Session.Delete(ctx, n)
					if ctxEnded(err) {
						s.later(func() {
							if now, ok := s.byKey(s.ctx, n); ok {
								_ = s.Session.Delete(s.ctx, now)
							}
						})
					}
					return err
				}
			}),
		},
		{
			Name: "late-update", Breaks: "U2",
			Doc: "An Update likewise: it changes the data of another node.",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					m, err := s.Session.Update(ctx, n, data)
					if ctxEnded(err) {
						s.later(func() {
							if now, ok := s.byKey(s.ctx, n); ok && !now.Same(n) {
								_, _ = s.Session.Update(s.ctx, now, data)
							}
						})
					}
					return m, err
				}
			}),
		},
		{
			Name: "second-delete-fails", Breaks: "U3",
			Doc: "Delete of a gone node is an error, so a release whose reply was lost never succeeds. (CURATOR-486, -678.)",
			Apply: eachSession(func(s *session) {
				s.remove = func(ctx context.Context, n driver.Node) error {
					brief, cancel := context.WithTimeout(ctx, s.TTL()/20)
					nodes, err := s.Session.List(brief, n.Dir)
					cancel()
					if err == nil && !same(nodes, n) {
						return &driver.Error{Op: "delete", Key: n.Key, Kind: driver.ErrGone}
					}
					return s.Session.Delete(ctx, n)
				}
			}),
		},
		{
			Name: "late-update-revives", Breaks: "U4",
			Doc: "An Update that was given up comes through later, as a put: the node that was deleted meanwhile is back.",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					m, err := s.Session.Update(ctx, n, data)
					if ctxEnded(err) {
						s.later(func() { _, _ = s.Session.Create(s.ctx, n.Dir, n.ID, data) })
					}
					return m, err
				}
			}),
		},
		{
			Name: "update-revives", Breaks: "U4",
			Doc: "Update is a put: a node that was deleted is back, and stays as long as the session. (A key-value store's put.)",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					m, err := s.Session.Update(ctx, n, data)
					if errors.Is(err, driver.ErrGone) {
						_, _ = s.Session.Create(ctx, n.Dir, n.ID, data)
					}
					return m, err
				}
			}),
		},
		{
			Name: "late-update-undoes", Breaks: "U5",
			Doc: "Update asks for the node and not for what it replaces: one that was given up comes through later and brings old data back.",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					m, err := s.Session.Update(ctx, n, data)
					if ctxEnded(err) {
						s.later(func() { _, _ = s.Session.Update(s.ctx, n, data) })
					}
					return m, err
				}
			}),
		},
		{
			Name: "one-update-remembered", Breaks: "U5",
			Doc: "Of the Updates that were given up only the last is fenced off; the one before it comes through later.",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				last := make(map[string][]byte) // the data of an Update that was given up, by key
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					m, err := s.Session.Update(ctx, n, data)
					mu.Lock()
					defer mu.Unlock()
					before, ok := last[n.Key]
					switch {
					case err == nil:
						delete(last, n.Key)
					case ctxEnded(err):
						last[n.Key] = data
						if ok {
							s.later(func() { _, _ = s.Session.Update(s.ctx, n, before) })
						}
					}
					return m, err
				}
			}),
		},
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

package sabotage

import (
	"context"
	"errors"
	"strings"

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
			Name: "listed-is-gone", Breaks: "U1",
			Doc: "Update asks for the version of the node that it is given, which lists do not show.",
			Apply: withoutVersions(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					if n.Version == 0 {
						return driver.Node{}, &driver.Error{Op: "update", Key: n.Key, Kind: driver.ErrGone}
					}
					return s.Session.Update(ctx, n, data)
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
			Name: "gone-with-its-directory", Breaks: "U4",
			Doc: "Update in a directory that is empty or was removed fails with an error of the store's own. (ZooKeeper's ErrNoNode, of the directory.)",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					m, err := s.Session.Update(ctx, n, data)
					if errors.Is(err, driver.ErrGone) {
						if nodes, problem := s.Session.List(ctx, n.Dir); problem == nil && len(nodes) == 0 {
							return m, errors.New("no such directory")
						}
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
	}
}

package sabotage

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

func slotSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "abandon-does-nothing", Breaks: "C4",
			Doc: "Abandon leaves the node. (kazoo#732: a failing TryLock leaves its contender.)",
			Apply: eachSession(func(s *session) {
				s.abandon = func(context.Context, string, string) error { return s.Err() }
			}),
		},
		{
			Name: "abandon-by-delete", Breaks: "C4",
			Doc: "Abandon deletes what it finds; a Create on its way lands later. (On Consul a delayed request recreated the key.)",
			Apply: eachSession(func(s *session) {
				s.abandon = func(ctx context.Context, dir, id string) error { return removeSlot(ctx, s.Session, dir, id) }
			}),
		},
		{
			Name: "abandons-namesakes", Breaks: "C4",
			Doc: "Abandon goes by the id, in whatever directory.",
			Apply: eachSession(func(s *session) {
				var dirs sync.Map
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					dirs.Store(dir, true)
					return s.Session.Create(ctx, dir, id, data)
				}
				s.abandon = func(ctx context.Context, dir, id string) error {
					dirs.Range(func(other, _ any) bool {
						if other != dir {
							_ = removeSlot(ctx, s.Session, other.(string), id)
						}
						return true
					})
					return s.Session.Abandon(ctx, dir, id)
				}
			}),
		},
		{
			Name: "abandon-misses-its-node", Breaks: "C4",
			Doc: "Abandon fails if the node that it has made is not there any more.",
			Apply: eachSession(func(s *session) {
				var made sync.Map // nodes, by slot
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if err == nil {
						made.Store(dir+"/"+id, n)
					}
					return n, err
				}
				s.abandon = func(ctx context.Context, dir, id string) error {
					n, ok := made.LoadAndDelete(dir + "/" + id)
					if nodes, err := s.Session.List(ctx, dir); ok && err == nil && !same(nodes, n.(driver.Node)) {
						return &driver.Error{Op: "abandon", Key: dir, Kind: driver.ErrGone}
					}
					return s.Session.Abandon(ctx, dir, id)
				}
			}),
		},
		{
			Name: "abandon-voids-all", Breaks: "C4",
			Doc: "Abandon declares void what is on its way of other slots too, and their callers are told of it.",
			Apply: eachSession(func(s *session) {
				var abandons atomic.Int64
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					before := abandons.Load()
					n, err := s.Session.Create(ctx, dir, id, data)
					if abandons.Load() != before {
						return driver.Node{}, errors.New("the request was declared void")
					}
					return n, err
				}
				s.abandon = func(ctx context.Context, dir, id string) error {
					err := s.Session.Abandon(ctx, dir, id)
					if err == nil {
						abandons.Add(1)
					}
					return err
				}
			}),
		},
		{
			Name: "nothing-to-abandon", Breaks: "C4",
			Doc: "Abandon fails when there is no node, although that is what it is to bring about.",
			Apply: eachSession(func(s *session) {
				s.abandon = func(ctx context.Context, dir, id string) error {
					nodes, err := s.Session.List(ctx, dir)
					mine := func(n driver.Node) bool { return n.Session == s.ID() && n.ID == id }
					if err == nil && !slices.ContainsFunc(nodes, mine) {
						return &driver.Error{Op: "abandon", Key: dir, Kind: driver.ErrGone}
					}
					return s.Session.Abandon(ctx, dir, id)
				}
			}),
		},
		{
			Name: "slot-keeps-its-place", Breaks: "C5",
			Doc: "A node made anew in a slot has the former one's place in the line.",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				place := make(map[string]uint64)
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if err != nil {
						return n, err
					}
					mu.Lock()
					defer mu.Unlock()
					if seq, ok := place[dir+"/"+id]; ok {
						n.Seq = seq
					} else {
						place[dir+"/"+id] = n.Seq
					}
					return n, nil
				}
			}),
		},
		{
			Name: "nodes-remembered", Breaks: "C5",
			Doc: "Create returns the node that it has made as long as this session has not deleted it, also when somebody else has.",
			Apply: eachSession(func(s *session) {
				var made sync.Map // nodes, by slot
				forget := func(dir, id string) { made.Delete(dir + "/" + id) }
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					if n, ok := made.Load(dir + "/" + id); ok && s.Session.Err() == nil && len(data) <= driver.MaxData {
						nodes, err := s.Session.List(ctx, dir)
						if err == nil && len(nodes) > 0 { // and so the directory is still there
							return n.(driver.Node), nil
						}
					}
					n, err := s.Session.Create(ctx, dir, id, data)
					if err == nil {
						made.Store(dir+"/"+id, n)
					}
					return n, err
				}
				s.remove = func(ctx context.Context, n driver.Node) error {
					forget(n.Dir, n.ID)
					return s.Session.Delete(ctx, n)
				}
				s.abandon = func(ctx context.Context, dir, id string) error {
					forget(dir, id)
					return s.Session.Abandon(ctx, dir, id)
				}
			}),
		},
		{
			Name: "directory-remembered", Breaks: "C6",
			Doc:   "A session that has made sure of the directory once takes it for given. (CURATOR-724; kazoo#563.)",
			Apply: rememberDirs,
		},
		{
			Name: "namespace-remembered", Breaks: "C6",
			Doc: "A directory that was removed is made again, in a namespace that is taken for given: when that is gone too, no Create succeeds any more.",
			Apply: func(h conformance.Harness) conformance.Harness {
				removed := noteRemovals(&h)
				return onSession(h, func(s *session) {
					s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
						if removed(s.conn.namespace) {
							return driver.Node{}, &driver.Error{Op: "create", Key: dir, Kind: driver.ErrUnavailable}
						}
						return s.Session.Create(ctx, dir, id, data)
					}
				})
			},
		},
		{
			Name: "underscore-refused", Breaks: "C6",
			Doc: "A directory that does not exist cannot be made if its name has an odd character. (zk panics on a sibling named _c_x.)",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					if strings.Contains(dir, "_") {
						return driver.Node{}, &driver.Error{Op: "create", Key: dir, Kind: driver.ErrInvalid}
					}
					return s.Session.Create(ctx, dir, id, data)
				}
			}),
		},
		{
			Name: "error-but-created", Breaks: "C7",
			Doc: "Create on an ended session is an error, and the node is there. (CURATOR-3, -18: Close racing a create.)",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if s.Session.Err() != nil {
						if zombie, opened := s.conn.Conn.OpenSession(ctx, time.Minute); opened == nil {
							_, _ = zombie.Create(ctx, dir, id, data)
						}
					}
					return n, err
				}
			}),
		},
		{
			Name: "created-in-another-session", Breaks: "C7",
			Doc: "A Create that meets the end of its session runs in a new one. (go-zookeeper does so after an expiry.)",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					unaware := s.Session.Err() == nil
					n, err := s.Session.Create(ctx, dir, id, data)
					if unaware && errors.Is(err, driver.ErrSessionLost) {
						if next, opened := s.conn.Conn.OpenSession(ctx, s.TTL()); opened == nil {
							return next.Create(ctx, dir, id, data)
						}
					}
					return n, err
				}
			}),
		},
	}
}

// removeSlot deletes the nodes of a session's slot that it finds.
func removeSlot(ctx context.Context, s driver.Session, dir, id string) error {
	nodes, err := s.List(ctx, dir)
	for _, n := range nodes {
		if n.Session == s.ID() && n.ID == id {
			err = errors.Join(err, s.Delete(ctx, n))
		}
	}
	return err
}

// rememberDirs fails Create in a directory that was removed since the session
// first used it.
func rememberDirs(h conformance.Harness) conformance.Harness {
	var mu sync.Mutex
	removed := make(map[string]int) // how often, by namespace and directory
	count := func(namespace, dir string, more int) int {
		mu.Lock()
		defer mu.Unlock()
		removed[namespace+"/"+dir] += more
		return removed[namespace+"/"+dir]
	}
	remove := h.RemoveDir
	h.RemoveDir = func(ctx context.Context, namespace, dir string) error {
		count(namespace, dir, 1)
		return remove(ctx, namespace, dir)
	}
	return onSession(h, func(s *session) {
		var known sync.Map // the count when the session first used the directory
		s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
			now := count(s.conn.namespace, dir, 0)
			if then, ok := known.LoadOrStore(dir, now); ok && then != now {
				return driver.Node{}, errors.New("the directory does not exist")
			}
			return s.Session.Create(ctx, dir, id, data)
		}
	})
}

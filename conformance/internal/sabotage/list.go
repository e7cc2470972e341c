package sabotage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

func listSabotages() []Sabotage {
	return append(append(manyListSabotages(), busyListSabotages()...), []Sabotage{
		{
			Name: "listed-by-key", Breaks: "L1",
			Doc: "The list is in the order of the keys. (zk's children come in no order; names sort otherwise than sequence numbers.)",
			Apply: relist(func(_ string, nodes []driver.Node) []driver.Node {
				return slices.SortedFunc(slices.Values(nodes), func(a, b driver.Node) int { return cmp.Compare(a.Key, b.Key) })
			}),
		},
		{
			Name: "first-page", Breaks: "L1",
			Doc: "Only the first hundred nodes are listed: one page.",
			Apply: relist(func(_ string, nodes []driver.Node) []driver.Node {
				return nodes[:min(len(nodes), 100)]
			}),
		},
		{
			Name: "first-message", Breaks: "L1",
			Doc: "Of a list only the nodes are there that fit into a message of four megabytes. (gRPC's limit, and jute.maxbuffer.)",
			Apply: relist(func(_ string, nodes []driver.Node) []driver.Node {
				size := 0
				for i, n := range nodes {
					if size += len(n.Data); size > 4<<20 {
						return nodes[:i]
					}
				}
				return nodes
			}),
		},
		{
			Name: "large-left-out", Breaks: "L1",
			Doc: "A node with more than a kilobyte of data is not listed.",
			Apply: relist(func(_ string, nodes []driver.Node) []driver.Node {
				return slices.DeleteFunc(slices.Clone(nodes), func(n driver.Node) bool { return len(n.Data) > 1024 })
			}),
		},
		{
			Name: "listed-by-prefix", Breaks: "L1",
			Doc:   "The directory is a prefix without a separator, so that of \"a\" holds that of \"ab\".",
			Apply: listPrefix,
		},
		{
			Name: "torn-list", Breaks: "L1",
			Doc: "The list is read in two requests, each for one half of the names, and what happens in between is half in it. " +
				"(Pages of etcd that are not all read at one revision; ZooKeeper's names, of which one is gone when its data are read.)",
			Apply: tearLists,
		},
		{
			Name: "data-read-later", Breaks: "L1",
			Doc: "A list holds the nodes of one moment with the data of a later one. " +
				"(ZooKeeper's names, whose data are read one by one.)",
			Apply: tearData,
		},
		{
			Name: "foreign-keys-listed", Breaks: "L2",
			Doc: "Each key in the directory counts as a node, ahead of all others.",
			Apply: withForeign(func(nodes []driver.Node) []driver.Node {
				return slices.Insert(slices.Clone(nodes), 0, driver.Node{Key: "readme"})
			}),
		},
		{
			Name: "foreign-keys-panic", Breaks: "L2",
			Doc:   "A name that is shorter than those of nodes panics. (zk.CreateProtectedEphemeralSequential: a sibling named _c_x.)",
			Apply: withForeign(func([]driver.Node) []driver.Node { panic("slice bounds out of range [-2:]") }),
		},
		{
			Name: "foreign-keys-removed", Breaks: "L2",
			Doc:   "A directory is removed with its last node, and what else is in it goes with it.",
			Apply: removeForeign,
		},
		{
			Name: "stale-session-list", Breaks: "L3",
			Doc: "Session.List reads from a replica that may not have the session's own writes yet. (ZooKeeper's followers: 19 to 49 of 300 reads.)",
			Apply: eachSession(func(s *session) {
				old := newStale()
				s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					if err := s.Session.Err(); err != nil {
						return nil, err
					}
					return old.list(ctx, dir, s.Session.List)
				}
			}),
		},
		{
			Name: "numbered-before-it-shows", Breaks: "L3",
			Doc: "Seq is drawn in one step and the node shows in another, so that a later one may show first. " +
				"(SQL's sequences and open transactions; INCR and then a write.)",
			Apply: showLate,
		},
		{
			Name: "own-writes-alone", Breaks: "L3",
			Doc: "Session.List adds the session's own nodes to a replica's list, without those that were created before them.",
			Apply: eachSession(func(s *session) {
				old := newStale()
				s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					now, err := s.Session.List(ctx, dir)
					if err != nil {
						return nil, err
					}
					then, err := old.list(ctx, dir, s.Session.List)
					own := func(n driver.Node) bool { return n.Session == s.ID() }
					mixed := slices.DeleteFunc(slices.Clone(then), own)
					for _, n := range now {
						if own(n) {
							mixed = append(mixed, n)
						}
					}
					return bySeq(mixed), err
				}
			}),
		},
		{
			Name: "missing-directory-is-an-error", Breaks: "L4",
			Doc:   "List of a directory that does not exist fails. (ZooKeeper's ErrNoNode, passed on.)",
			Apply: missing(func(*conn, string) error { return errors.New("no node") }),
		},
		{
			Name: "listing-makes-the-directory", Breaks: "L4",
			Doc: "List makes what it does not find. (Curator and kazoo make the path first.)",
			Apply: missing(func(c *conn, dir string) error {
				s, err := c.Conn.OpenSession(context.Background(), time.Hour)
				if err != nil {
					return err
				}
				_, err = s.Create(context.Background(), "made:"+dir, "0", nil)
				return err
			}),
		},
		{
			Name: "stale-observer", Breaks: "L5",
			Doc: "Conn.List reads from a replica that lags behind. (Consul's stale reads; etcd#20418.)",
			Apply: eachConn(func(c *conn) {
				old := newStale()
				c.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					return old.list(ctx, dir, c.Conn.List)
				}
			}),
		},
		{
			Name: "observer-of-a-session", Breaks: "L5",
			Doc: "Conn.List gives what a session of the connection has listed a moment ago.",
			Apply: eachConn(func(c *conn) {
				old := newStale()
				c.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					return old.recent(ctx, dir, c.Conn.List)
				}
				c.sessions(func(s *session) {
					s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
						return old.renew(ctx, dir, s.Session.List)
					}
				})
			}),
		},
		{
			Name: "observer-of-a-wait", Breaks: "L5", Needs: driver.CapWatch,
			Doc: "Conn.List gives what the waits of the connection know of the directory that they follow.",
			Apply: eachConn(func(c *conn) {
				p := newPictures(c)
				c.list = p.list(c.Conn.List)
				c.sessions(func(s *session) {
					s.wait = func(ctx context.Context, n driver.Node) error {
						defer p.follow(n.Dir)()
						return s.Session.WaitDelete(ctx, n)
					}
				})
			}),
		},
		{
			Name: "observer-of-a-watch", Breaks: "L5", Needs: driver.CapWatch,
			Doc: "Conn.List gives what a watch of the connection has shown last.",
			Apply: eachConn(func(c *conn) {
				p := newPictures(c)
				c.list = p.list(c.Conn.List)
				c.loops(func(w *loop, yield yielding) {
					defer p.follow(w.dir)()
					w.sound(yield)
				})
			}),
		},
		{
			Name: "session-list-of-a-wait", Breaks: "L3", Needs: driver.CapWatch,
			Doc: "Session.List gives what the session's waits know of the directory that they follow.",
			Apply: eachConn(func(c *conn) {
				p := newPictures(c)
				c.sessions(func(s *session) {
					s.list = p.list(s.Session.List)
					s.wait = func(ctx context.Context, n driver.Node) error {
						defer p.follow(n.Dir)()
						return s.Session.WaitDelete(ctx, n)
					}
				})
			}),
		},
	}...)
}

type listFunc func(ctx context.Context, dir string) ([]driver.Node, error)

// relist changes what the lists give.
func relist(change func(namespace string, nodes []driver.Node) []driver.Node) func(conformance.Harness) conformance.Harness {
	return eachConn(func(c *conn) {
		through := func(list listFunc) listFunc {
			return func(ctx context.Context, dir string) ([]driver.Node, error) {
				nodes, err := list(ctx, dir)
				return change(c.namespace, nodes), err
			}
		}
		c.list = through(c.Conn.List)
		c.sessions(func(s *session) { s.list = through(s.Session.List) })
	})
}

// dirs knows in which directories there ever was a node, by namespace.
type dirs struct {
	mu   sync.Mutex
	seen map[string]map[string]bool
}

func (d *dirs) add(namespace, dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen == nil {
		d.seen = make(map[string]map[string]bool)
	}
	if d.seen[namespace] == nil {
		d.seen[namespace] = make(map[string]bool)
	}
	d.seen[namespace][dir] = true
}

func (d *dirs) has(namespace, dir string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen[namespace][dir]
}

// withPrefix returns the directories whose name begins with dir.
func (d *dirs) withPrefix(namespace, dir string) (found []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.seen[namespace] {
		if strings.HasPrefix(name, dir) {
			found = append(found, name)
		}
	}
	return found
}

// note makes a session tell of the directories that it uses.
func (d *dirs) note(s *session) {
	s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
		d.add(s.conn.namespace, dir)
		return s.Session.Create(ctx, dir, id, data)
	}
}

func listPrefix(h conformance.Harness) conformance.Harness {
	known := new(dirs)
	return onConn(h, func(c *conn) {
		through := func(list listFunc) listFunc {
			return func(ctx context.Context, dir string) ([]driver.Node, error) {
				nodes, err := list(ctx, dir)
				for _, near := range known.withPrefix(c.namespace, dir) {
					if more, problem := list(ctx, near); near != dir && problem == nil {
						nodes = slices.Concat(nodes, more)
					}
				}
				return bySeq(nodes), err
			}
		}
		c.list = through(c.Conn.List)
		c.sessions(func(s *session) {
			known.note(s)
			s.list = through(s.Session.List)
		})
	})
}

// withForeign changes the lists of namespaces in which foreign keys were
// planted.
func withForeign(change func([]driver.Node) []driver.Node) func(conformance.Harness) conformance.Harness {
	return func(h conformance.Harness) conformance.Harness {
		planted := new(dirs)
		plant := h.PlantForeign
		h.PlantForeign = func(ctx context.Context, namespace, dir string) error {
			planted.add(namespace, "")
			return plant(ctx, namespace, dir)
		}
		return relist(func(namespace string, nodes []driver.Node) []driver.Node {
			if planted.has(namespace, "") {
				return change(nodes)
			}
			return nodes
		})(h)
	}
}

// removeForeign removes directories in which foreign keys were planted when a session
// deletes the last node.
func removeForeign(h conformance.Harness) conformance.Harness {
	planted := new(dirs)
	plant := h.PlantForeign
	h.PlantForeign = func(ctx context.Context, namespace, dir string) error {
		planted.add(namespace, dir)
		return plant(ctx, namespace, dir)
	}
	return onSession(h, func(s *session) {
		s.remove = func(ctx context.Context, n driver.Node) error {
			err := s.Session.Delete(ctx, n)
			if nodes, listing := s.Session.List(ctx, n.Dir); listing == nil && len(nodes) == 0 && planted.has(s.conn.namespace, n.Dir) {
				err = errors.Join(err, h.RemoveDir(ctx, s.conn.namespace, n.Dir))
			}
			return err
		}
	})
}

// missing does something else when a directory is listed in which there never
// was a node.
func missing(instead func(c *conn, dir string) error) func(conformance.Harness) conformance.Harness {
	return func(h conformance.Harness) conformance.Harness {
		known := new(dirs)
		return onConn(h, func(c *conn) {
			through := func(list listFunc) listFunc {
				return func(ctx context.Context, dir string) ([]driver.Node, error) {
					if !known.has(c.namespace, dir) && ctx.Err() == nil {
						if err := instead(c, dir); err != nil {
							return nil, err
						}
					}
					return list(ctx, dir)
				}
			}
			c.list = through(c.Conn.List)
			c.sessions(func(s *session) {
				known.note(s)
				s.list = through(s.Session.List)
				s.createList = func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
					known.add(c.namespace, dir)
					return optional[driver.CreateLister](s.Session).CreateList(ctx, dir, id, data)
				}
			})
		})
	}
}

// showLate hides nodes whose creation has not been acknowledged, which takes some
// longer than others.
func showLate(h conformance.Harness) conformance.Harness {
	var mu sync.Mutex
	count := 0
	hidden := make(map[string]int) // creations that have not ended, by namespace and key
	h = relist(func(namespace string, nodes []driver.Node) []driver.Node {
		mu.Lock()
		defer mu.Unlock()
		return slices.DeleteFunc(slices.Clone(nodes), func(n driver.Node) bool { return hidden[namespace+n.Key] > 0 })
	})(h)
	return onSession(h, func(s *session) {
		s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
			n, err := s.Session.Create(ctx, dir, id, data)
			if err != nil {
				return n, err
			}
			mu.Lock()
			count++
			late, name := time.Duration(count%3)*s.TTL()/64, s.conn.namespace+n.Key
			hidden[name]++
			mu.Unlock()
			timer := time.NewTimer(late)
			defer timer.Stop()
			select { // if both are ready, the creation has succeeded
			case <-timer.C:
			case <-ctx.Done():
			}
			mu.Lock()
			hidden[name]--
			mu.Unlock()
			return n, nil
		}
	})
}

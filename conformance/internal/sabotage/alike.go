package sabotage

import (
	"context"
	"iter"
	"net/url"
	"sync"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// These take one directory for another with a similar name.

// alikeWaitSabotages are those of waits.
func alikeWaitSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "long-names-are-gone", Breaks: "W2",
			Doc: "A wait for a node of a directory with more than 200 bytes in its name returns at once.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					if len(n.Dir) > 200 && s.Session.Err() == nil {
						return nil
					}
					return s.Session.WaitDelete(ctx, n)
				}
			}),
		},
	}
}

// unescaped is a name that was taken for a part of a URL.
func unescaped(dir string) string {
	if name, err := url.PathUnescape(dir); err == nil {
		return name
	}
	return dir
}

// wakeAlike has a Delete end the waits in other directories which have the same name when
// it is changed.
func wakeAlike(h conformance.Harness, change func(dir string) string) conformance.Harness {
	var mu sync.Mutex
	deletes := make(map[string]*signal) // by namespace, changed name, id and session
	of := func(s *session, n driver.Node) *signal {
		mu.Lock()
		defer mu.Unlock()
		at := s.conn.namespace + "/" + change(n.Dir) + "/" + n.ID + "/" + n.Session
		if deletes[at] == nil {
			deletes[at] = new(signal)
		}
		return deletes[at]
	}
	return onSession(h, func(s *session) {
		s.remove = func(ctx context.Context, n driver.Node) error {
			if err := s.Session.Delete(ctx, n); err != nil {
				return err
			}
			of(s, n).fire()
			return nil
		}
		s.wait = func(ctx context.Context, n driver.Node) error {
			_, err := s.waitOr(ctx, n, of(s, n).next())
			return err
		}
	})
}

// alikeSabotages are those in which Update or Delete has a part.
func alikeSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "waits-by-a-cut-name", Breaks: "W2",
			Doc: "A deletion ends the waits in all directories whose names have the same first 100 bytes.",
			Apply: func(h conformance.Harness) conformance.Harness {
				return wakeAlike(h, func(dir string) string { return dir[:min(len(dir), 100)] })
			},
		},
		{
			Name: "waits-by-an-unescaped-name", Breaks: "W2",
			Doc: "A deletion ends the waits in all directories whose names are the same when %41 and the like are unescaped.",
			Apply: func(h conformance.Harness) conformance.Harness {
				return wakeAlike(h, unescaped)
			},
		},
		{
			Name: "updates-by-an-unescaped-name", Breaks: "U1",
			Doc: "Update writes to the node of the directory whose name is the same when %41 and the like are unescaped, if there is one.",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					if name := unescaped(n.Dir); name != n.Dir {
						nodes, err := s.Session.List(ctx, name)
						if err != nil {
							return driver.Node{}, err
						}
						for _, m := range nodes {
							if m.Session == n.Session && m.ID == n.ID {
								m, err = s.Session.Update(ctx, m, data)
								n.Data = m.Data
								return n, err
							}
						}
					}
					return s.Session.Update(ctx, n, data)
				}
			}),
		},
	}
}

// alikeWatchSabotages are those of watches.
func alikeWatchSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "watches-by-a-cut-name", Breaks: "V1",
			Doc: "Watches of directories whose names have the same first 100 bytes share what the first is shown.",
			Apply: eachConn(func(c *conn) {
				var first sync.Map // directories, by the beginning of the name
				c.watch = func(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
					shared, _ := first.LoadOrStore(dir[:min(len(dir), 100)], dir)
					return c.soundWatch(ctx, shared.(string))
				}
			}),
		},
		{
			Name: "watches-an-unescaped-name", Breaks: "V1",
			Doc: "A watch unescapes %41 and the like in the name of its directory, and shows another.",
			Apply: eachConn(func(c *conn) {
				c.watch = func(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
					return c.soundWatch(ctx, unescaped(dir))
				}
			}),
		},
	}
}

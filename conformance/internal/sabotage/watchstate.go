package sabotage

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// deafAfter makes the loops of a connection show nothing more after an event.
func (c *conn) deafAfter(event func() <-chan struct{}) {
	c.states(func(*loop) func([]driver.Node) [][]driver.Node {
		deaf := event()
		return func(nodes []driver.Node) [][]driver.Node {
			if over(deaf) {
				return nil
			}
			return [][]driver.Node{nodes}
		}
	})
}

// unknownDirs breaks the loops over directories in which there never was a node.
func unknownDirs(sabotage func(*loop, yielding)) func(conformance.Harness) conformance.Harness {
	return func(h conformance.Harness) conformance.Harness {
		known := new(dirs)
		return onConn(h, func(c *conn) {
			c.sessions(known.note)
			c.loops(func(w *loop, yield yielding) {
				if !known.has(c.namespace, w.dir) {
					sabotage(w, yield)
					return
				}
				w.sound(yield)
			})
		})
	}
}

// watchesOnce ends all loops over what one call of Watch returned but the first.
func watchesOnce(c *conn) {
	c.watch = func(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
		sound := c.soundWatch(ctx, dir)
		var used atomic.Bool
		return func(yield func([]driver.Node, error) bool) {
			if used.Swap(true) {
				yield(nil, &driver.Error{Op: "watch", Key: dir, Kind: driver.ErrClosed})
				return
			}
			sound(yield)
		}
	}
}

func watchPrefix(h conformance.Harness) conformance.Harness {
	known := new(dirs)
	return onConn(h, func(c *conn) {
		c.sessions(known.note)
		c.states(func(w *loop) func([]driver.Node) [][]driver.Node {
			return func(nodes []driver.Node) [][]driver.Node {
				for _, near := range known.withPrefix(c.namespace, w.dir) {
					if more, err := c.Conn.List(w.ctx, near); near != w.dir && err == nil {
						nodes = slices.Concat(nodes, more)
					}
				}
				return [][]driver.Node{bySeq(nodes)}
			}
		})
	})
}

// showGhosts goes on showing nodes that nobody has deleted and whose session
// nobody has closed.
func showGhosts(h conformance.Harness) conformance.Harness {
	var parted sync.Map // nodes by key and token, and sessions by namespace and ID
	name := func(n driver.Node) string { return fmt.Sprint(n.Key, " ", n.Token) }
	return onConn(h, func(c *conn) {
		c.sessions(func(s *session) {
			s.remove = func(ctx context.Context, n driver.Node) error {
				parted.Store(name(n), true)
				return s.Session.Delete(ctx, n)
			}
			s.close = func(ctx context.Context) error {
				parted.Store(c.namespace+s.ID(), true)
				return s.Session.Close(ctx)
			}
		})
		c.states(func(*loop) func([]driver.Node) [][]driver.Node {
			var last []driver.Node
			return func(nodes []driver.Node) [][]driver.Node {
				for _, n := range last {
					_, deleted := parted.Load(name(n))
					_, closed := parted.Load(c.namespace + n.Session)
					if !deleted && !closed && !same(nodes, n) {
						nodes = append(slices.Clip(nodes), n)
					}
				}
				last = bySeq(nodes)
				return [][]driver.Node{last}
			}
		})
	})
}

// deafAfterRemoval shows no node any more where a directory was removed.
func deafAfterRemoval(h conformance.Harness) conformance.Harness {
	removed := noteRemovals(&h)
	return hidden(func(w *loop) func(_, _ []driver.Node) bool {
		return func(last, nodes []driver.Node) bool {
			return last != nil && removed(w.conn.namespace+"/"+w.dir) && len(nodes) > 0
		}
	})(h)
}

func watchForeign(h conformance.Harness) conformance.Harness {
	planted := new(dirs)
	plant := h.PlantForeign
	h.PlantForeign = func(ctx context.Context, namespace, dir string) error {
		planted.add(namespace, dir)
		return plant(ctx, namespace, dir)
	}
	return eachState(func(w *loop) func([]driver.Node) [][]driver.Node {
		return func(nodes []driver.Node) [][]driver.Node {
			if planted.has(w.conn.namespace, w.dir) {
				nodes = slices.Insert(slices.Clone(nodes), 0, driver.Node{Key: "readme"})
			}
			return [][]driver.Node{nodes}
		}
	})(h)
}

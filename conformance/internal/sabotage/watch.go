package sabotage

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

func watchSabotages() []Sabotage {
	return append(slices.Concat(manyWatchSabotages(), slowSabotages(), closeOtherWatchSabotages(), quietWatchSabotages(), alikeWatchSabotages()), []Sabotage{
		{
			Name: "watch-without-a-beginning", Breaks: "V1",
			Doc: "A watch shows nothing before the first change. (etcd's Observe and ZooKeeper's watches tell of changes only.)",
			Apply: hidden(func(*loop) func(_, _ []driver.Node) bool {
				begun := false
				return func(_, _ []driver.Node) bool {
					first := !begun
					begun = true
					return first
				}
			}),
		},
		{
			Name: "ranged-over-once", Breaks: "V1",
			Doc:   "What Watch returns can be ranged over once; a second loop ends at once with ErrClosed.",
			Apply: eachConn(watchesOnce),
		},
		{
			Name: "watch-begins-stale", Breaks: "V1",
			Doc: "The first state is what the connection has seen last, and not what is. (A cache that is shown before it is up to date.)",
			Apply: eachConn(func(c *conn) {
				old := newStale()
				c.states(func(w *loop) func([]driver.Node) [][]driver.Node {
					begun := false
					return func(nodes []driver.Node) [][]driver.Node {
						if !begun {
							begun = true
							nodes, _ = old.list(w.ctx, w.dir, func(context.Context, string) ([]driver.Node, error) { return nodes, nil })
						}
						return [][]driver.Node{nodes}
					}
				})
			}),
		},
		{
			Name: "watch-out-of-order", Breaks: "V1",
			Doc: "States are in no order. (ZooKeeper's children.)",
			Apply: eachState(func(*loop) func([]driver.Node) [][]driver.Node {
				return func(nodes []driver.Node) [][]driver.Node {
					nodes = slices.Clone(nodes)
					slices.Reverse(nodes)
					return [][]driver.Node{nodes}
				}
			}),
		},
		{
			Name: "watch-by-prefix", Breaks: "V1",
			Doc:   "The watch is on a prefix without a separator, so that of \"a\" shows \"ab\".",
			Apply: watchPrefix,
		},
		{
			Name: "updates-unseen", Breaks: "V1",
			Doc: "A node that was updated is shown as it was. (ZooKeeper's ChildrenW does not fire on a set.)",
			Apply: hidden(func(*loop) func(_, _ []driver.Node) bool {
				return func(last, nodes []driver.Node) bool {
					return last != nil && slices.EqualFunc(last, nodes, driver.Node.Same)
				}
			}),
		},
		{
			Name: "deletes-unseen", Breaks: "V1",
			Doc: "A state without anything new is not shown.",
			Apply: hidden(func(*loop) func(_, _ []driver.Node) bool {
				return func(last, nodes []driver.Node) bool {
					for _, n := range nodes {
						if !slices.ContainsFunc(last, func(m driver.Node) bool { return m.Same(n) && bytes.Equal(m.Data, n.Data) }) {
							return false
						}
					}
					return last != nil && len(nodes) < len(last)
				}
			}),
		},
		{
			Name: "slot-unseen", Breaks: "V1",
			Doc: "States are compared by keys and data, so that a node which was made anew is no news.",
			Apply: hidden(func(*loop) func(_, _ []driver.Node) bool {
				return func(last, nodes []driver.Node) bool {
					return last != nil && slices.EqualFunc(last, nodes, func(a, b driver.Node) bool {
						return a.Key == b.Key && bytes.Equal(a.Data, b.Data)
					})
				}
			}),
		},
		{
			Name: "watch-of-ones-own", Breaks: "V1",
			Doc:   "A node is shown as gone when somebody has deleted it through the driver: an expiry or an operator goes unseen.",
			Apply: showGhosts,
		},
		{
			Name: "burst-cut-short", Breaks: "V1",
			Doc: "Of changes in quick succession the first is shown and the last is not. (A rate limit on the leading edge.)",
			Apply: hidden(func(*loop) func(_, _ []driver.Node) bool {
				var shown time.Time
				return func(last, _ []driver.Node) bool {
					if last != nil && time.Since(shown) < moment {
						return true
					}
					shown = time.Now()
					return false
				}
			}),
		},
		{
			Name: "missed-while-busy", Breaks: "V1",
			Doc: "What happens while the consumer is busy is dropped. (A send to a channel with a default.)",
			Apply: eachLoop(func(w *loop, yield yielding) {
				busy := false
				for nodes, err := range w.sound {
					if busy && err == nil {
						busy = false
						continue
					}
					start := time.Now()
					if !yield(nodes, err) {
						return
					}
					busy = time.Since(start) > moment
				}
			}),
		},
		{
			Name: "one-watch-told", Breaks: "V1",
			Doc: "Of several watches of a directory on a connection one is told of changes. (A shared watch that signals instead of broadcasting.)",
			Apply: eachConn(func(c *conn) {
				var active sync.Map // by directory
				c.loops(func(w *loop, yield yielding) {
					_, second := active.LoadOrStore(w.dir, true)
					if !second {
						defer active.Delete(w.dir)
					}
					begun := false
					for nodes, err := range w.sound {
						if second && begun && err == nil {
							continue
						}
						if begun = true; !yield(nodes, err) {
							return
						}
					}
				})
			}),
		},
		{
			Name: "leaving-ends-the-rest", Breaks: "V1",
			Doc: "The first that leaves takes along the watch that it shares with others.",
			Apply: eachConn(func(c *conn) {
				var left signal
				c.loops(func(w *loop, yield yielding) {
					defer left.fire()
					alone := left.next()
					for nodes, err := range w.sound {
						if over(alone) && err == nil {
							continue
						}
						if !yield(nodes, err) {
							return
						}
					}
				})
			}),
		},
		{
			Name: "watch-bound-to-a-session", Breaks: "V1",
			Doc: "The watch is that of a session of the connection, and shows nothing more when that is closed.",
			Apply: eachConn(func(c *conn) {
				var closed signal
				c.sessions(func(s *session) {
					s.close = func(ctx context.Context) error {
						defer closed.fire()
						return s.Session.Close(ctx)
					}
				})
				c.deafAfter(func() <-chan struct{} { return closed.next() })
			}),
		},
		{
			Name: "watch-lists-then-subscribes", Breaks: "V1",
			Doc: "The watch shows the directory first and subscribes then, over and over: what changes in between it shows with the next change.",
			Apply: eachLoop(func(w *loop, yield yielding) {
				var missed []driver.Node // what the directory holds when the watch is set
				for nodes, err := range w.sound {
					if err == nil && missed != nil && slices.EqualFunc(nodes, missed, unchanged) {
						missed = nil
						continue
					}
					if !yield(nodes, err) {
						return
					}
					missed, _ = w.conn.Conn.List(w.ctx, w.dir)
					if slices.EqualFunc(nodes, missed, unchanged) {
						missed = nil
					}
				}
			}),
		},
		{
			Name: "absent-directory-refused", Breaks: "V1",
			Doc: "A watch of a directory that does not exist fails. (ZooKeeper's ErrNoNode, passed on.)",
			Apply: unknownDirs(func(w *loop, yield yielding) {
				yield(nil, errors.New("no node"))
			}),
		},
		{
			Name: "absent-directory-unwatched", Breaks: "V1",
			Doc: "A watch of a directory that does not exist does not see that it is made. (ZooKeeper's ChildrenW sets none then.)",
			Apply: unknownDirs(func(w *loop, yield yielding) {
				begun := false
				for nodes, err := range w.sound {
					if begun && err == nil {
						continue
					}
					if begun = true; !yield(nodes, err) {
						return
					}
				}
			}),
		},
		{
			Name: "watch-goes-with-the-directory", Breaks: "V1",
			Doc:   "When the directory was removed, a new one of that name is not seen. (ZooKeeper's watches go with their node.)",
			Apply: deafAfterRemoval,
		},
		{
			Name: "foreign-keys-watched", Breaks: "V1",
			Doc:   "Each key in the directory is shown as a node.",
			Apply: watchForeign,
		},
	}...)
}

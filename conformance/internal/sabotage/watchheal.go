package sabotage

import (
	"context"
	"errors"
	"sync"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

func watchOrderSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "two-readers", Breaks: "V2",
			Doc: "Two goroutines read states and show them as they come.",
			Apply: eachState(func(*loop) func([]driver.Node) [][]driver.Node {
				var last []driver.Node
				return func(nodes []driver.Node) [][]driver.Node {
					before := last
					if last = nodes; before == nil {
						return [][]driver.Node{nodes}
					}
					return [][]driver.Node{nodes, before, nodes}
				}
			}),
		},
		{
			Name: "older-after-a-reset", Breaks: "V2",
			Doc:   "After a reset the watch goes on at another server, which lags behind. (ZooKeeper without the last zxid; Consul's stale reads.)",
			Apply: eachConn(func(c *conn) { c.replay(&c.resets) }),
		},
		{
			Name: "replayed-after-silence", Breaks: "V2",
			Doc:   "Events that were held in the link are applied after the state was read anew.",
			Apply: eachConn(func(c *conn) { c.replay(&c.silences) }),
		},
	}
}

// replay shows once more what a loop has shown first when an event has happened.
func (c *conn) replay(event *signal) {
	c.states(func(*loop) func([]driver.Node) [][]driver.Node {
		var first []driver.Node
		happened := event.next()
		return func(nodes []driver.Node) [][]driver.Node {
			if first == nil {
				first = nodes
			}
			if over(happened) {
				happened = event.next()
				return [][]driver.Node{first, nodes}
			}
			return [][]driver.Node{nodes}
		}
	})
}

func watchHealSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "gap-unseen", Breaks: "V3",
			Doc: "A watch that broke is set again from then on: what happened meanwhile is not shown. (etcd's watch without a revision; kazoo's ChildrenWatch.)",
			Apply: eachState(func(w *loop) func([]driver.Node) [][]driver.Node {
				reset, silence := w.conn.resets.next(), w.conn.silences.next()
				return func(nodes []driver.Node) [][]driver.Node {
					if over(reset) || over(silence) {
						reset, silence = w.conn.resets.next(), w.conn.silences.next()
						return nil
					}
					return [][]driver.Node{nodes}
				}
			}),
		},
		{
			Name: "reset-ends-the-watch", Breaks: "V3",
			Doc:   "A connection that is reset ends the watch, and whoever observes has to begin anew. (etcd's Observe closes its channel.)",
			Apply: eachLoop(endOnReset),
		},
		countedWatch(),
		{
			Name: "watch-deaf-after-a-reset", Breaks: "V3",
			Doc:   "A watch whose connection was reset is not set again.",
			Apply: eachConn(func(c *conn) { c.deafAfter(c.resets.next) }),
		},
		{
			Name: "watch-deaf-after-silence", Breaks: "V3",
			Doc:   "A watch that the link was silent for hears nothing any more. (A half-open connection.)",
			Apply: eachConn(func(c *conn) { c.deafAfter(c.silences.next) }),
		},
		{
			Name: "empty-while-away", Breaks: "V3",
			Doc: "When the store cannot be reached the directory is shown as empty: no leader, as far as anybody can see.",
			Apply: eachState(func(w *loop) func([]driver.Node) [][]driver.Node {
				cut := w.conn.cuts.next()
				return func(nodes []driver.Node) [][]driver.Node {
					if over(cut) {
						cut = w.conn.cuts.next()
						return [][]driver.Node{{}, nodes}
					}
					return [][]driver.Node{nodes}
				}
			}),
		},
		{
			Name: "first-attempt-counts", Breaks: "V3",
			Doc: "A watch that cannot show the directory when it begins ends with that error.",
			Apply: eachLoop(func(w *loop, yield yielding) {
				if w.conn.broken.Load() && w.ctx.Err() == nil {
					yield(nil, &driver.Error{Op: "watch", Key: w.dir, Kind: driver.ErrUnavailable})
					return
				}
				w.sound(yield)
			}),
		},
		{
			Name: "watch-lost-with-the-session", Breaks: "V3",
			Doc: "What the store has forgotten with a client's session is not set again. (ZooKeeper's watches go with the session.)",
			Apply: eachConn(func(c *conn) {
				var lost signal
				c.sessions(func(s *session) {
					s.follow(func() {
						if errors.Is(s.Session.Err(), driver.ErrSessionLost) && c.broken.Load() {
							lost.fire()
						}
					})
				})
				c.deafAfter(lost.next)
			}),
		},
		{
			Name: "compaction-unforeseen", Breaks: "V3",
			Doc:   "A watch that comes back after a compaction asks for a revision that is gone, again and again. (etcd: ErrCompacted.)",
			Apply: deafAfterCompaction,
		},
		{
			Name: "backlog-overflows", Breaks: "V3",
			Doc:   "A watch that is hundreds of changes behind is given up. (A bounded buffer of events.)",
			Apply: overflow,
		},
	}
}

func endOnReset(w *loop, yield yielding) {
	reset := w.conn.resets.next()
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	go func() { // ends with ctx
		select { // if both are ready the loop has ended
		case <-reset:
			cancel()
		case <-ctx.Done():
		}
	}()
	for nodes, err := range w.conn.soundWatch(ctx, w.dir) {
		if ctxEnded(err) && w.ctx.Err() == nil {
			err = &driver.Error{Op: "watch", Key: w.dir, Kind: driver.ErrUnavailable}
		}
		if !yield(nodes, err) {
			return
		}
	}
}

// deafAfterCompaction shows nothing more to those whose link was cut when the
// history was compacted.
func deafAfterCompaction(h conformance.Harness) conformance.Harness {
	var compacted sync.Map // by namespace
	compact := h.Compact
	h.Compact = func(ctx context.Context, namespace string) error {
		compacted.Store(namespace, true)
		return compact(ctx, namespace)
	}
	return hidden(func(w *loop) func(_, _ []driver.Node) bool {
		cut := w.conn.cuts.next()
		return func(_, _ []driver.Node) bool {
			_, gone := compacted.Load(w.conn.namespace)
			return gone && over(cut)
		}
	})(h)
}

// overflow shows nothing more when many changes were made between two states.
func overflow(h conformance.Harness) conformance.Harness {
	const most = 200
	var mu sync.Mutex
	changes := make(map[string]int) // by namespace
	count := func(namespace string, more int) int {
		mu.Lock()
		defer mu.Unlock()
		changes[namespace] += more
		return changes[namespace]
	}
	return onConn(h, func(c *conn) {
		c.sessions(func(s *session) {
			s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
				count(c.namespace, 1)
				return s.Session.Update(ctx, n, data)
			}
			s.remove = func(ctx context.Context, n driver.Node) error {
				count(c.namespace, 1)
				return s.Session.Delete(ctx, n)
			}
		})
		c.states(func(*loop) func([]driver.Node) [][]driver.Node {
			last, deaf := count(c.namespace, 0), false
			return func(nodes []driver.Node) [][]driver.Node {
				now := count(c.namespace, 0)
				if deaf = deaf || now-last > most; deaf {
					return nil
				}
				last = now
				return [][]driver.Node{nodes}
			}
		})
	})
}

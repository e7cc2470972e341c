package sabotage

import (
	"context"
	"sync"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// closeOtherSabotages share something among all connections of a program to a namespace, and
// end it when the first of them is closed.
func closeOtherSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "sessions-end-with-another-connection", Breaks: "S8",
			Doc: "Connections share a client, which the first Conn.Close closes: it ends the sessions of all.",
			Apply: func(h conformance.Harness) conformance.Harness {
				var mu sync.Mutex
				sessions := make(map[string][]*session) // by namespace
				return onConn(h, func(c *conn) {
					c.sessions(func(s *session) {
						mu.Lock()
						defer mu.Unlock()
						sessions[c.namespace] = append(sessions[c.namespace], s)
					})
					c.close = func() error {
						err := c.Conn.Close()
						mu.Lock()
						defer mu.Unlock()
						for _, s := range sessions[c.namespace] {
							ended, cancel := context.WithCancel(s.ctx)
							cancel()
							_ = s.Session.Close(ended) // which ends it without waiting for the store
						}
						return err
					}
				})
			},
		},
	}
}

// closeOtherWaitSabotages are those of waits.
func closeOtherWaitSabotages() []Sabotage {
	ends := func(err error) func(conformance.Harness) conformance.Harness {
		return withSharedClose(func(c *conn, closed *signal) {
			c.sessions(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					if fired, why := s.waitOr(ctx, n, closed.next()); !fired {
						return why
					}
					if s.Session.Err() != nil { // it was the waiter's own connection
						return s.Session.Err()
					}
					return err
				}
			})
		})
	}
	return []Sabotage{
		{
			Name: "waits-fail-with-another-connection", Breaks: "W1",
			Doc:   "Connections share a watch, which the first Conn.Close ends, with ErrClosed for the waits of all.",
			Apply: ends(&driver.Error{Op: "wait", Kind: driver.ErrClosed}),
		},
		{
			Name: "nil-with-another-connection", Breaks: "W2",
			Doc:   "Connections share a watch, and a wait takes its end for the deletion when another connection is closed.",
			Apply: ends(nil),
		},
	}
}

// closeOtherWatchSabotages are those of watches.
func closeOtherWatchSabotages() []Sabotage {
	return []Sabotage{{
		Name: "watches-end-with-another-connection", Breaks: "V1",
		Doc: "Connections share a watch, which shows nothing more when one of them is closed.",
		Apply: withSharedClose(func(c *conn, closed *signal) {
			c.deafAfter(closed.next)
		}),
	}}
}

// withSharedClose makes the Apply of a sabotage of connections, which are given a signal that
// fires when one of the same namespace has been closed.
func withSharedClose(sabotage func(c *conn, closed *signal)) func(conformance.Harness) conformance.Harness {
	return func(h conformance.Harness) conformance.Harness {
		var signals sync.Map // by namespace
		return onConn(h, func(c *conn) {
			closed, _ := signals.LoadOrStore(c.namespace, new(signal))
			sabotage(c, closed.(*signal))
			c.close = func() error {
				defer closed.(*signal).fire()
				return c.Conn.Close()
			}
		})
	}
}

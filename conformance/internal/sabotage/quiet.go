package sabotage

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// quietSabotages work for a short time, or if something is done all the time.
func quietSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "deaf-after-half-a-minute", Breaks: "W1",
			Doc: "A proxy forgets the request of a wait after half a minute, and nobody notices.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					began := time.Now()
					err := s.Session.WaitDelete(ctx, n)
					if err == nil && time.Since(began) > 30*time.Second {
						return s.until(ctx)
					}
					return err
				}
			}),
		},
		{
			Name: "nil-after-half-a-minute", Breaks: "W2",
			Doc: "A wait that the store does not answer within half a minute has come to its end, and returns nil.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					brief, cancel := context.WithTimeout(ctx, 30*time.Second)
					defer cancel()
					err := s.Session.WaitDelete(brief, n)
					if brief.Err() != nil && ctx.Err() == nil && s.Session.Err() == nil {
						return nil
					}
					return err
				}
			}),
		},
		{
			Name: "renewed-for-half-a-minute", Breaks: "S3",
			Doc: "Renewal stops half a minute after the last call. (A proxy that closes idle streams.)",
			Apply: eachSession(func(s *session) {
				timer := time.NewTimer(30 * time.Second)
				s.onCall(func() { timer.Reset(30 * time.Second) })
				go func() {
					defer timer.Stop()
					select {
					case <-timer.C:
						_ = s.Session.Close(s.ctx)
					case <-s.ctx.Done():
					case <-s.Session.Done():
					}
				}()
			}),
		},
		{
			Name: "old-session-left-to-the-ttl", Breaks: "S5",
			Doc: "Close of a session that is older than 10 s lets the lease run out.",
			Apply: eachSession(func(s *session) {
				opened := time.Now()
				leaveToTTLIf(s, func() bool { return time.Since(opened) > 10*time.Second })
			}),
		},
		{
			Name: "lease-that-grows", Breaks: "S6",
			Doc:   "Each renewal adds to what is left of the lease: the nodes of an old session stay for long after its end.",
			Apply: longLeased,
		},
		{
			Name: "denied-after-a-while", Breaks: "L5",
			Doc: "The token of a connection expires 30 s after the last list, and is renewed for sessions alone.",
			Apply: eachConn(func(c *conn) {
				var mu sync.Mutex
				last := time.Now()
				denied := func() bool {
					mu.Lock()
					defer mu.Unlock()
					if time.Since(last) > 30*time.Second {
						return true
					}
					last = time.Now()
					return false
				}
				c.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					if denied() {
						return nil, &driver.Error{Op: "list", Key: dir, Kind: driver.ErrDenied}
					}
					return c.Conn.List(ctx, dir)
				}
			}),
		},
		{
			Name: "update-after-quiet", Breaks: "U1",
			Doc: "The first Update after 20 s without a call goes out on a connection that is dead, and counts as made.",
			Apply: eachSession(func(s *session) {
				quiet := sinceLastCall(s)
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					if quiet() > 20*time.Second {
						n.Data = bytes.Clone(data)
						return n, nil
					}
					return s.Session.Update(ctx, n, data)
				}
			}),
		},
		{
			Name: "delete-after-quiet", Breaks: "U3",
			Doc: "The first Delete after 20 s without a call goes out on a connection that is dead, and counts as made.",
			Apply: eachSession(func(s *session) {
				quiet := sinceLastCall(s)
				s.remove = func(ctx context.Context, n driver.Node) error {
					if quiet() > 20*time.Second {
						return nil
					}
					return s.Session.Delete(ctx, n)
				}
			}),
		},
	}
}

// quietWatchSabotages are those of watches.
func quietWatchSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "watch-forgotten", Breaks: "V1",
			Doc: "A proxy forgets a watch that has been quiet for half a minute, and nobody notices.",
			Apply: hidden(func(*loop) func(_, _ []driver.Node) bool {
				last, deaf := time.Now(), false
				return func(_, _ []driver.Node) bool {
					deaf = deaf || time.Since(last) > 30*time.Second
					last = time.Now()
					return deaf
				}
			}),
		},
	}
}

// longLeased shows the nodes of a session that was lost when it was older than 20 s for as
// long as the connection of whoever looks lives.
func longLeased(h conformance.Harness) conformance.Harness {
	var mu sync.Mutex
	stays := make(map[string][]driver.Node) // by namespace and directory
	return onConn(h, func(c *conn) {
		c.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
			nodes, err := c.Conn.List(ctx, dir)
			mu.Lock()
			defer mu.Unlock()
			for _, n := range stays[c.namespace+"/"+dir] {
				if !slices.ContainsFunc(nodes, n.Same) {
					nodes = append(nodes, n)
				}
			}
			return nodes, err
		}
		c.sessions(func(s *session) {
			opened := time.Now()
			var made []driver.Node
			s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
				n, err := s.Session.Create(ctx, dir, id, data)
				mu.Lock()
				defer mu.Unlock()
				made = append(made, n)
				return n, err
			}
			go func() {
				select {
				case <-s.ctx.Done():
				case <-s.Session.Done():
				}
				if time.Since(opened) > 20*time.Second && errors.Is(s.Session.Err(), driver.ErrSessionLost) {
					mu.Lock()
					defer mu.Unlock()
					for _, n := range made {
						name := c.namespace + "/" + n.Dir
						stays[name] = append(stays[name], n)
					}
				}
			}()
		})
	})
}

// sinceLastCall returns a function that tells for how long a session has made no call.
func sinceLastCall(s *session) func() time.Duration {
	start := time.Now()
	var last atomic.Int64
	s.onCall(func() { last.Store(int64(time.Since(start))) })
	return func() time.Duration { return time.Since(start) - time.Duration(last.Load()) }
}

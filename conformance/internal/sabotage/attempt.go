package sabotage

import (
	"context"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// attemptSabotages each break one call, so that none is forgotten.
func attemptSabotages() []Sabotage {
	patient := func(call string, sabotage func(*session)) Sabotage {
		return Sabotage{
			Name: "patient-" + call, Breaks: "E3",
			Doc: "It waits for an answer for twice the TTL, and so for the session's end, instead of asking " +
				"another server meanwhile. (go-zookeeper's calls know no time at all.)",
			Apply: eachSession(sabotage),
		}
	}
	createList := patient("create-list", func(s *session) {
		s.createList = func(ctx context.Context, dir, id string, data []byte) (n driver.Node, nodes []driver.Node, err error) {
			err = s.patiently(ctx, func() error {
				n, nodes, err = optional[driver.CreateLister](s.Session).CreateList(ctx, dir, id, data)
				return err
			})
			return n, nodes, err
		}
	})
	createList.Needs = driver.CapCreateList
	return []Sabotage{
		createList,
		patient("create", func(s *session) {
			s.create = func(ctx context.Context, dir, id string, data []byte) (n driver.Node, err error) {
				err = s.patiently(ctx, func() error { n, err = s.Session.Create(ctx, dir, id, data); return err })
				return n, err
			}
		}),
		patient("update", func(s *session) {
			s.update = func(ctx context.Context, n driver.Node, data []byte) (m driver.Node, err error) {
				err = s.patiently(ctx, func() error { m, err = s.Session.Update(ctx, n, data); return err })
				return m, err
			}
		}),
		patient("delete", func(s *session) {
			s.remove = func(ctx context.Context, n driver.Node) error {
				return s.patiently(ctx, func() error { return s.Session.Delete(ctx, n) })
			}
		}),
		patient("abandon", func(s *session) {
			s.abandon = func(ctx context.Context, dir, id string) error {
				return s.patiently(ctx, func() error { return s.Session.Abandon(ctx, dir, id) })
			}
		}),
		patient("list", func(s *session) {
			s.list = func(ctx context.Context, dir string) (nodes []driver.Node, err error) {
				err = s.patiently(ctx, func() error { nodes, err = s.Session.List(ctx, dir); return err })
				return nodes, err
			}
		}),
		{
			Name: "patient-open-session", Breaks: "E3",
			Doc: "OpenSession waits for a silent store for as long as its ctx lives.",
			Apply: eachConn(func(c *conn) {
				c.open = func(ctx context.Context, ttl time.Duration) (s driver.Session, err error) {
					err = c.patiently(ctx, func() error { s, err = c.Conn.OpenSession(ctx, ttl); return err })
					return s, err
				}
			}),
		},
		{
			Name: "patient-conn-list", Breaks: "E3",
			Doc: "Conn.List waits for a silent store for as long as its ctx lives.",
			Apply: eachConn(func(c *conn) {
				c.list = func(ctx context.Context, dir string) (nodes []driver.Node, err error) {
					err = c.patiently(ctx, func() error { nodes, err = c.Conn.List(ctx, dir); return err })
					return nodes, err
				}
			}),
		},
		{
			Name: "attempts-deadline-for-the-callers", Breaks: "E3",
			Doc: "The end of an attempt shows as its own context.DeadlineExceeded, which passes for the end of the caller's ctx.",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					start := time.Now()
					m, err := s.Session.Update(ctx, n, data)
					if s.unanswered(ctx, start, err) {
						err = &driver.Error{Op: "update", Key: n.Key, Err: context.DeadlineExceeded}
					}
					return m, err
				}
			}),
		},
	}
}

// unanswered reports whether a call that began at a time has failed because
// nothing was heard from the store, and not because it was told that the
// connection is broken.
func (s *session) unanswered(ctx context.Context, start time.Time, err error) bool {
	return driver.Transient(err) && ctx.Err() == nil && time.Since(start) > s.TTL()/4
}

// patiently makes a call that, if no answer comes, ends no sooner than twice the
// TTL after it began, unless its ctx or its session does.
func (s *session) patiently(ctx context.Context, call func() error) error {
	start := time.Now()
	err := call()
	if !s.unanswered(ctx, start, err) {
		return err
	}
	timer := time.NewTimer(time.Until(start.Add(2 * s.TTL())))
	defer timer.Stop()
	select { // if several are ready each is true of the call
	case <-timer.C:
		return err
	case <-ctx.Done():
		return &driver.Error{Op: "call", Kind: driver.ErrUncertain, Err: driver.ContextError(ctx)}
	case <-s.Session.Done():
		return s.Session.Err()
	}
}

// patiently makes a call that, if the link is broken and stays so, ends with its ctx
// only, or with the connection.
func (c *conn) patiently(ctx context.Context, call func() error) error {
	for {
		err := call()
		if !driver.Transient(err) || ctx.Err() != nil || !c.broken.Load() {
			return err
		}
		rest(ctx.Done(), moment)
	}
}

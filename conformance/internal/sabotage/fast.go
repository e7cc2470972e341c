package sabotage

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

func createListSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "own-node-not-listed", Breaks: "F1",
			Doc: "CreateList lists what was there before the node. (ZooKeeper: create and children in flight together.)",
			Apply: relistCreated(func(n driver.Node, nodes []driver.Node) []driver.Node {
				return slices.DeleteFunc(slices.Clone(nodes), n.Same)
			}),
		},
		{
			Name: "own-node-alone", Breaks: "F1",
			Doc: "CreateList lists from a replica that has the node and not yet what is ahead of it.",
			Apply: relistCreated(func(n driver.Node, _ []driver.Node) []driver.Node {
				return []driver.Node{n}
			}),
		},
		{
			Name: "unordered-created-list", Breaks: "F1",
			Doc: "CreateList's list is in no order.",
			Apply: relistCreated(func(_ driver.Node, nodes []driver.Node) []driver.Node {
				nodes = slices.Clone(nodes)
				slices.Reverse(nodes)
				return nodes
			}),
		},
		{
			Name: "doubts-apart", Breaks: "F1",
			Doc: "CreateList does not find the node of a Create whose reply was lost, and makes another.",
			Apply: eachSession(func(s *session) {
				lost := doubtsOfCreate(s)
				s.createList = func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
					n, nodes, err := optional[driver.CreateLister](s.Session).CreateList(ctx, dir, lost(dir, id), data)
					n.ID = id
					return n, nodes, err
				}
			}),
		},
		{
			Name: "listed-after-the-removal", Breaks: "F1",
			Doc: "CreateList lists in a second request, and does not mind when the node is gone by then.",
			Apply: eachSession(func(s *session) {
				s.createList = func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if err != nil {
						return n, nil, err
					}
					pass(s, time.Millisecond)
					nodes, err := s.Session.List(ctx, dir)
					if err == nil && !same(nodes, n) {
						return n, nodes, nil
					}
					return optional[driver.CreateLister](s.Session).CreateList(ctx, dir, id, data)
				}
			}),
		},
	}
}

func waitAnySabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "index-zero", Breaks: "F2",
			Doc: "WaitAny says that the first is gone, whichever it is.",
			Apply: eachSession(func(s *session) {
				s.waitAny = func(ctx context.Context, nodes []driver.Node) (int, error) {
					_, err := optional[driver.AnyWaiter](s.Session).WaitAny(ctx, nodes)
					return 0, err
				}
			}),
		},
		{
			Name: "first-of-any", Breaks: "F2",
			Doc: "WaitAny waits for one after the other.",
			Apply: eachSession(func(s *session) {
				s.waitAny = func(ctx context.Context, nodes []driver.Node) (int, error) {
					return 0, s.Session.WaitDelete(ctx, nodes[0])
				}
			}),
		},
		{
			Name: "first-of-many", Breaks: "F2",
			Doc: "WaitAny hears of the first 100 nodes only.",
			Apply: eachSession(func(s *session) {
				s.waitAny = func(ctx context.Context, nodes []driver.Node) (int, error) {
					return optional[driver.AnyWaiter](s.Session).WaitAny(ctx, nodes[:min(len(nodes), 100)])
				}
			}),
		},
		{
			Name: "waits-for-nobody", Breaks: "F2",
			Doc: "WaitAny of no nodes waits until it is given up.",
			Apply: eachSession(func(s *session) {
				s.waitAny = func(ctx context.Context, nodes []driver.Node) (int, error) {
					if len(nodes) == 0 {
						return 0, s.until(ctx)
					}
					return optional[driver.AnyWaiter](s.Session).WaitAny(ctx, nodes)
				}
			}),
		},
		{
			Name: "any-wakes-on-update", Breaks: "F2",
			Doc:   "WaitAny ends with any event on its nodes.",
			Apply: wakeAnyOnUpdate,
		},
		{
			Name: "any-outlives-session", Breaks: "F2",
			Doc: "WaitAny goes on when its session is closed.",
			Apply: eachSession(func(s *session) {
				s.waitAny = func(ctx context.Context, nodes []driver.Node) (int, error) {
					i, err := optional[driver.AnyWaiter](s.Session).WaitAny(ctx, nodes)
					if errors.Is(err, driver.ErrClosed) {
						<-ctx.Done()
						return 0, ctx.Err()
					}
					return i, err
				}
			}),
		},
	}
}

func capsSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "caps-without-interface", Breaks: "F3",
			Doc: "Caps has what the sessions do not implement: a wrapper hides it.",
			Apply: eachConn(func(c *conn) {
				c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
					s, err := c.Conn.OpenSession(ctx, ttl)
					return struct{ driver.Session }{s}, err
				}
			}),
		},
		{
			Name: "interface-without-caps", Breaks: "F3",
			Doc: "The sessions implement what Caps does not have, so a program that requires it does not start.",
			Apply: eachConn(func(c *conn) {
				c.caps = func() driver.Caps { return c.Conn.Caps() &^ driver.CapCreateList }
			}),
		},
		{
			Name: "caps-without-watch", Breaks: "F3", Needs: driver.CapWatch,
			Doc: "Caps has what the connection does not implement: a wrapper hides it.",
			Apply: func(h conformance.Harness) conformance.Harness {
				sound := h.Open
				h.Open = func(ctx context.Context, namespace string) (driver.Conn, error) {
					c, err := sound(ctx, namespace)
					return struct{ driver.Conn }{c}, err
				}
				return h
			},
		},
		{
			Name: "watch-without-caps", Breaks: "F3", Needs: driver.CapWatch,
			Doc: "The connection implements what Caps does not have.",
			Apply: eachConn(func(c *conn) {
				c.caps = func() driver.Caps { return c.Conn.Caps() &^ driver.CapWatch }
			}),
		},
	}
}

// wakeAnyOnUpdate ends WaitAny when a node is updated.
func wakeAnyOnUpdate(h conformance.Harness) conformance.Harness {
	var updated signal // of any node: each case has one wait at a time
	return onSession(h, func(s *session) {
		s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
			m, err := s.Session.Update(ctx, n, data)
			updated.fire()
			return m, err
		}
		s.waitAny = func(ctx context.Context, nodes []driver.Node) (int, error) {
			event := updated.next()
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			type answer struct {
				index int
				err   error
			}
			done := make(chan answer, 1)
			go func() { // ends with ctx
				i, err := optional[driver.AnyWaiter](s.Session).WaitAny(ctx, nodes)
				done <- answer{i, err}
			}()
			select { // if both are ready either will do
			case <-event:
				return 0, nil
			case a := <-done:
				return a.index, a.err
			}
		}
	})
}

// relistCreated changes the list of CreateList.
func relistCreated(change func(n driver.Node, nodes []driver.Node) []driver.Node) func(conformance.Harness) conformance.Harness {
	return eachSession(func(s *session) {
		s.createList = func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
			n, nodes, err := optional[driver.CreateLister](s.Session).CreateList(ctx, dir, id, data)
			if err == nil {
				nodes = change(n, nodes)
			}
			return n, nodes, err
		}
	})
}

// doubtsOfCreate returns a function that gives the id of a slot, and another one if the
// reply to a Create of it was lost since that was asked last.
func doubtsOfCreate(s *session) func(dir, id string) string {
	var lost sync.Map // slots
	s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
		n, err := s.Session.Create(ctx, dir, id, data)
		if errors.Is(err, driver.ErrUncertain) {
			lost.Store(dir+"/"+id, true)
		}
		return n, err
	}
	return func(dir, id string) string {
		if _, ok := lost.LoadAndDelete(dir + "/" + id); ok {
			return id + "x"
		}
		return id
	}
}

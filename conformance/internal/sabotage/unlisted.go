package sabotage

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
)

// Unlisted returns drivers that are broken in ways which no case of the suite was made
// for: random calls are to find them. One breach often shows in several ways, so what is
// found first may be that of a rule beside the one named. The caller may change the slice.
func Unlisted() []Sabotage {
	return slices.Concat(unlistedWrites(), unlistedReads(), unlistedWaits())
}

func unlistedWrites() []Sabotage {
	return []Sabotage{
		{
			Name: "lost-at-the-limit", Breaks: "U1",
			Doc: "An Update with as much data as there may be is acknowledged and not made.",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					if len(data) != driver.MaxData {
						return s.Session.Update(ctx, n, data)
					}
					m, err := s.Session.Update(ctx, n, n.Data)
					m.Data = slices.Clone(data)
					return m, err
				}
			}),
		},
		{
			Name: "cut-at-the-limit", Breaks: "C8",
			Doc: "CreateList takes one byte less than there may be.",
			Apply: eachSession(func(s *session) {
				s.createList = func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
					return s.Session.(driver.CreateLister).CreateList(ctx, dir, id, data[:min(len(data), driver.MaxData-1)])
				}
			}),
		},
		{
			Name: "last-of-the-line", Breaks: "C3",
			Doc: "CreateList that finds its node answers with the last of the line.",
			Apply: eachSession(func(s *session) {
				s.createList = func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
					n, nodes, err := s.Session.(driver.CreateLister).CreateList(ctx, dir, id, data)
					if err == nil && len(nodes) > 0 {
						n = nodes[len(nodes)-1]
					}
					return n, nodes, err
				}
			}),
		},
		{
			Name: "callers-slice-listed", Breaks: "C8",
			Doc: "CreateList returns the caller's slice as the data of the node.",
			Apply: eachSession(func(s *session) {
				s.createList = func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
					n, nodes, err := s.Session.(driver.CreateLister).CreateList(ctx, dir, id, data)
					if string(n.Data) == string(data) {
						n.Data = data
					}
					return n, nodes, err
				}
			}),
		},
		{
			Name: "callers-slice-updated", Breaks: "C8",
			Doc: "Update returns the caller's slice.",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					m, err := s.Session.Update(ctx, n, data)
					if err == nil {
						m.Data = data
					}
					return m, err
				}
			}),
		},
		{
			Name: "gone-with-the-directory", Breaks: "U2",
			Doc: "Update in a directory that is empty does not say that the node is gone.",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					m, err := s.Session.Update(ctx, n, data)
					if nodes, listed := s.Session.List(ctx, n.Dir); err != nil && listed == nil && len(nodes) == 0 && ctx.Err() == nil && s.Session.Err() == nil {
						n.Data = slices.Clone(data)
						return n, nil
					}
					return m, err
				}
			}),
		},
		{
			Name: "dead-node-found", Breaks: "C2",
			Doc: "Create returns the node that it made before, although an operator has removed it.",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				made := make(map[string]driver.Node)
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					mu.Lock()
					defer mu.Unlock()
					if n, ok := made[dir+" "+id]; ok && s.Session.Err() == nil {
						return n, nil
					}
					n, err := s.Session.Create(ctx, dir, id, data)
					if err == nil {
						made[dir+" "+id] = n
					}
					return n, err
				}
				s.remove = func(ctx context.Context, n driver.Node) error {
					mu.Lock()
					delete(made, n.Dir+" "+n.ID)
					mu.Unlock()
					return s.Session.Delete(ctx, n)
				}
				s.abandon = func(ctx context.Context, dir, id string) error {
					mu.Lock()
					delete(made, dir+" "+id)
					mu.Unlock()
					return s.Session.Abandon(ctx, dir, id)
				}
			}),
		},
		{
			Name: "data-of-the-second-create", Breaks: "C8",
			Doc: "Create returns the data that it was given, although the node stands with others.",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if err == nil {
						n.Data = slices.Clone(data)
					}
					return n, err
				}
			}),
		},
		{
			Name: "slot-of-every-directory", Breaks: "C4",
			Doc: "Abandon gives up the id in a directory whose name begins like its own, too.",
			Apply: eachSession(func(s *session) {
				s.abandon = func(ctx context.Context, dir, id string) error {
					_ = s.Session.Abandon(ctx, dir+"b", id)
					return s.Session.Abandon(ctx, dir, id)
				}
			}),
		},
		{
			Name: "ids-without-case", Breaks: "C1",
			Doc: "Ids are kept in lower case.",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					return s.Session.Create(ctx, dir, strings.ToLower(id), data)
				}
			}),
		},
		{
			Name: "compares-the-version", Breaks: "U1",
			Doc: "Update of a Node that was updated since it was read says that it is gone.",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					nodes, err := s.Session.List(ctx, n.Dir)
					for _, m := range nodes {
						if err == nil && m.Same(n) && m.Version != n.Version {
							return driver.Node{}, &driver.Error{Op: "update", Key: n.Key, Kind: driver.ErrGone}
						}
					}
					return s.Session.Update(ctx, n, data)
				}
			}),
		},
		{
			Name: "unchanged-is-unsent", Breaks: "U1",
			Doc: "Update with the data that the caller's Node has sends nothing.",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					if string(n.Data) == string(data) && s.Session.Err() == nil && ctx.Err() == nil {
						return n, nil
					}
					return s.Session.Update(ctx, n, data)
				}
			}),
		},
		{
			Name: "given-up-is-void", Breaks: "E2",
			Doc: "What was given up is said to have had no effect.",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if ctxEnded(err) {
						err = &driver.Error{Op: "create", Kind: driver.ErrUnavailable, Err: ctx.Err()}
					}
					return n, err
				}
			}),
		},
		{
			Name: "error-after-the-first", Breaks: "C1",
			Doc: "After a call that was given up a session's Creates fail for good.",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				broken := false
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					mu.Lock()
					defer mu.Unlock()
					if broken && err == nil {
						return driver.Node{}, &driver.Error{Op: "create", Kind: driver.ErrUncertain}
					}
					broken = broken || ctxEnded(err)
					return n, err
				}
			}),
		},
	}
}

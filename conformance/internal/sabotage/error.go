package sabotage

import (
	"context"
	"errors"

	"github.com/coordkit/coordkit/coord/driver"
)

func errorSabotages() []Sabotage {
	list := []Sabotage{
		{
			Name: "cause-dropped", Breaks: "E1",
			Doc: "The ctx's error does not show in the call's. (gRPC: a status of code DeadlineExceeded is no context.DeadlineExceeded.)",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if ctxEnded(err) {
						err = &driver.Error{Op: "create", Key: dir, Kind: driver.ErrUncertain, Err: errors.New("code = DeadlineExceeded")}
					}
					return n, err
				}
			}),
		},
		{
			Name: "wait-says-closed", Breaks: "E1",
			Doc: "A canceled wait says that its watch was closed.",
			Apply: afterWait(func(_ context.Context, _ *session, n driver.Node, err error) error {
				if errors.Is(err, context.Canceled) {
					return &driver.Error{Op: "wait", Key: n.Key, Kind: driver.ErrUncertain, Err: errors.New("watch closed")}
				}
				return err
			}),
		},
		{
			Name: "cause-taken-for-own", Breaks: "E1",
			Doc: "A wait that was canceled because another session is lost says that its own is.",
			Apply: afterWait(func(ctx context.Context, _ *session, _ driver.Node, err error) error {
				if cause := context.Cause(ctx); err != nil && cause != nil {
					return errors.Join(err, cause)
				}
				return err
			}),
		},
		{
			Name: "abandon-given-up-is-done", Breaks: "E1",
			Doc: "An Abandon whose ctx ends says that it is done: it goes on in the background.",
			Apply: eachSession(func(s *session) {
				s.abandon = func(ctx context.Context, dir, id string) error {
					err := s.Session.Abandon(ctx, dir, id)
					if ctx.Err() != nil {
						return nil
					}
					return err
				}
			}),
		},
		{
			Name: "list-given-up-is-empty", Breaks: "E1",
			Doc: "A List whose ctx ends shows an empty directory and no error.",
			Apply: eachSession(func(s *session) {
				s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					nodes, err := s.Session.List(ctx, dir)
					if ctx.Err() != nil {
						return nil, nil
					}
					return nodes, err
				}
			}),
		},
		{
			Name: "lost-reply-unavailable", Breaks: "E2",
			Doc: "A call whose reply was lost passes for one that never reached the store. (gRPC's Unavailable says either; go#11978.)",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					return n, unavailable(err)
				}
				s.createList = func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
					n, nodes, err := optional[driver.CreateLister](s.Session).CreateList(ctx, dir, id, data)
					return n, nodes, unavailable(err)
				}
				s.abandon = func(ctx context.Context, dir, id string) error {
					return unavailable(s.Session.Abandon(ctx, dir, id))
				}
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					m, err := s.Session.Update(ctx, n, data)
					return m, unavailable(err)
				}
				s.remove = func(ctx context.Context, n driver.Node) error {
					return unavailable(s.Session.Delete(ctx, n))
				}
			}),
		},
		{
			Name: "both-kinds", Breaks: "E2",
			Doc: "What was found out about the connection is the cause of what is said about the call: an error that Is ErrUncertain " +
				"and, by its cause, ErrUnavailable, or the other way round.",
			Apply: eachSession(func(s *session) {
				s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					nodes, err := s.Session.List(ctx, dir)
					return nodes, bothKinds(err)
				}
				s.remove = func(ctx context.Context, n driver.Node) error { return bothKinds(s.Session.Delete(ctx, n)) }
			}),
		},
	}
	return append(list, attemptSabotages()...)
}

// unavailable makes an error without a reply one without an effect.
func unavailable(err error) error {
	if errors.Is(err, driver.ErrUncertain) {
		return &driver.Error{Op: "call", Kind: driver.ErrUnavailable, Err: err}
	}
	return err
}

// bothKinds gives an error of one kind the other for a cause.
func bothKinds(err error) error {
	if driver.Transient(err) {
		return &driver.Error{Op: "call", Kind: driver.ErrUncertain, Err: errors.Join(driver.ErrUnavailable, err)}
	}
	return err
}

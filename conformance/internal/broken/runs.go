package broken

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

// running makes an election whose Run campaigns, has term do what there is to do
// with the leadership, and goes on while it says so.
func running(name, breaks, doc string, term func(ctx context.Context, l subject.Leadership, fn subject.Term) (again bool, err error)) Recipe[Election] {
	return elected(name, breaks, doc, func(e *subject.Electing) {
		campaign := e.Campaign
		e.Run = func(ctx context.Context, value []byte, fn subject.Term, _ *election.RunOptions) error {
			for ctx.Err() == nil {
				l, err := campaign(ctx, value)
				if errors.Is(err, coord.ErrClosed) {
					return err
				}
				if err == nil {
					if again, err := term(ctx, l, fn); !again {
						return errors.Join(ctx.Err(), err)
					}
				}
				time.Sleep(time.Millisecond)
			}
			return ctx.Err()
		}
	})
}

// within runs fn as Run does.
func within(ctx context.Context, l subject.Leadership, fn subject.Term) error {
	work, cancel := context.WithCancel(l.Context())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return fn(work, l)
}

// brokenRuns are elections with a broken Run.
func brokenRuns() []Recipe[Election] {
	return []Recipe[Election]{
		running("run-unguarded", "K18", "Two functions run on one client when the first one outlives its leadership. (Curator's LeaderSelector.)",
			func(ctx context.Context, l subject.Leadership, fn subject.Term) (bool, error) {
				defer func() { _ = l.Release(ctx) }()
				err := within(ctx, l, fn)
				return ctx.Err() == nil && l.Err() != nil, err
			}),
		running("run-resigns-first", "K18", "The leadership is given up while the function still runs. (client-go #728.)",
			func(ctx context.Context, l subject.Leadership, fn subject.Term) (bool, error) {
				defer context.AfterFunc(ctx, func() { _ = l.Release(ctx) })()
				err := within(ctx, l, fn)
				lost := l.Err() != nil
				_ = l.Release(ctx)
				return ctx.Err() == nil && lost, err
			}),
		running("run-once", "K18", "A loss ends Run.",
			func(ctx context.Context, l subject.Leadership, fn subject.Term) (bool, error) {
				defer func() { _ = l.Release(ctx) }()
				return false, within(ctx, l, fn)
			}),
		running("run-keeps-after-panic", "K18", "The leadership of a function that panics is kept.",
			func(ctx context.Context, l subject.Leadership, fn subject.Term) (bool, error) {
				err := within(ctx, l, fn)
				lost := l.Err() != nil
				_ = l.Release(ctx)
				return ctx.Err() == nil && lost, err
			}),
	}
}

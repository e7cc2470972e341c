package broken

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

// running makes an election whose Run campaigns, has term do what there is to do
// with the leadership, and goes on while it says so.
func running(name, breaks, doc string, term func(ctx context.Context, l subject.Elected, fn subject.Term) (again bool, err error)) Recipe[Election] {
	return elected(name, breaks, doc, func(e *subject.Electing) {
		campaign := e.Campaign
		e.Run = func(ctx context.Context, value []byte, fn subject.Term, opts *election.RunOptions) error {
			value = bytes.Clone(value)
			if opts == nil {
				opts = new(election.RunOptions)
			}
			var last error // of the function
			for ctx.Err() == nil {
				office, err := campaign(ctx, value)
				if slices.ContainsFunc(hopeless, func(final error) bool { return errors.Is(err, final) }) {
					return errors.Join(err, last)
				}
				if err == nil {
					l := office.(subject.Elected)
					if opts.Elected != nil {
						opts.Elected(l.Leadership)
					}
					again, err := term(ctx, l, fn)
					if !again {
						return errors.Join(ctx.Err(), err)
					}
					if opts.Defeated != nil {
						opts.Defeated(l.Leadership, err)
					}
					last = err
				}
				time.Sleep(time.Millisecond)
			}
			return ctx.Err()
		}
	})
}

// hopeless is what no other campaign mends.
var hopeless = []error{coord.ErrClosed, coord.ErrDenied, coord.ErrInvalid, coord.ErrUnsupported}

// within runs fn as Run does. While another function of the client's runs it resigns and
// waits for that one.
func within(ctx context.Context, l subject.Elected, fn subject.Term) error {
	turn := l.Session().Client().Local(turnKey{}, func() any { return make(chan struct{}, 1) }).(chan struct{})
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	default:
		resign(ctx, l)
		select {
		case turn <- struct{}{}:
			<-turn
		case <-ctx.Done():
		}
		return election.ErrStepDown
	}
	work, cancel := l.Within(ctx)
	defer cancel()
	return fn(work, l)
}

// turnKey finds a client's turn to run a function.
type turnKey struct{}

// goesOn reports whether Run campaigns again when a function has returned err.
func goesOn(ctx context.Context, l subject.Elected, err error) bool {
	return ctx.Err() == nil && (l.Err() != nil || errors.Is(err, election.ErrStepDown))
}

// resign ends what a function has left behind.
func resign(ctx context.Context, l subject.Elected) { _ = l.Release(context.WithoutCancel(ctx)) }

// brokenRuns are elections with a broken Run.
func brokenRuns() []Recipe[Election] {
	return []Recipe[Election]{
		running("run-unguarded", "K18", "Two functions run on one client when the first one outlives its leadership. (Curator's LeaderSelector.)",
			func(ctx context.Context, l subject.Elected, fn subject.Term) (bool, error) {
				defer resign(ctx, l)
				work, cancel := l.Within(ctx)
				defer cancel()
				err := fn(work, l)
				return goesOn(ctx, l, err), err
			}),
		running("run-resigns-first", "K18", "The leadership is given up while the function still runs. (client-go #728.)",
			func(ctx context.Context, l subject.Elected, fn subject.Term) (bool, error) {
				defer resign(ctx, l)
				defer context.AfterFunc(ctx, func() { resign(ctx, l) })()
				err := within(ctx, l, fn)
				return goesOn(ctx, l, err), err
			}),
		running("run-without-a-pause", "K23", "Whose function has stepped down tries again at once, whether the store is there or not.",
			func(ctx context.Context, l subject.Elected, fn subject.Term) (bool, error) {
				defer resign(ctx, l)
				err := within(ctx, l, fn)
				for ctx.Err() == nil && looksOnce(ctx, l.Session().Client()) != nil {
					time.Sleep(atOnce)
				}
				return goesOn(ctx, l, err), err
			}),
		running("run-backoff-never-reset", "K23", "The pauses of Run grow with each campaign, and a long leadership does not make them short again.",
			func(ctx context.Context, l subject.Elected, fn subject.Term) (again bool, err error) {
				defer func() {
					if resign(ctx, l); again {
						pauseLonger(ctx, l.Session().Client())
					}
				}()
				err = within(ctx, l, fn)
				return goesOn(ctx, l, err), err
			}),
		elected("run-pauses-on", "K18", "Run whose ctx ends while it pauses returns when the pause is over.",
			func(e *subject.Electing) {
				run := e.Run
				e.Run = func(ctx context.Context, value []byte, fn subject.Term, opts *election.RunOptions) error {
					var last error
					err := run(ctx, value, func(ctx context.Context, l subject.Leadership) error {
						last = fn(ctx, l)
						return last
					}, opts)
					if errors.Is(last, election.ErrStepDown) {
						time.Sleep(time.Minute)
					}
					return err
				}
			}),
		running("run-once", "K18", "A loss ends Run.",
			func(ctx context.Context, l subject.Elected, fn subject.Term) (bool, error) {
				defer resign(ctx, l)
				err := within(ctx, l, fn)
				return goesOn(ctx, l, err) && l.Err() == nil, err
			}),
		running("run-stays", "K18", "Who steps down does not stand again.",
			func(ctx context.Context, l subject.Elected, fn subject.Term) (bool, error) {
				defer resign(ctx, l)
				err := within(ctx, l, fn)
				return goesOn(ctx, l, err) && l.Err() != nil, err
			}),
		running("run-hides-errors", "K18", "Run does not say what its function has returned.",
			func(ctx context.Context, l subject.Elected, fn subject.Term) (bool, error) {
				defer resign(ctx, l)
				err := within(ctx, l, fn)
				return goesOn(ctx, l, err), nil
			}),
		running("run-insists", "K18", "Run campaigns again after every error.",
			func(ctx context.Context, l subject.Elected, fn subject.Term) (bool, error) {
				defer resign(ctx, l)
				err := within(ctx, l, fn)
				return ctx.Err() == nil && err != nil, err
			}),
		running("run-keeps-after-panic", "K18", "The leadership of a function that panics is kept.",
			func(ctx context.Context, l subject.Elected, fn subject.Term) (bool, error) {
				err := within(ctx, l, fn)
				again := goesOn(ctx, l, err)
				resign(ctx, l)
				return again, err
			}),
	}
}

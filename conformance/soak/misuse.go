package soak

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
	"github.com/coordkit/coordkit/recipes/mutex"
	"github.com/coordkit/coordkit/recipes/rwlock"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// misuses are what programs do wrong with a recipe: a name that is none, a session that
// is none, a value, a number of permits or a reason that is out of bounds.
func misuses(r Recipe) (all []Misuse) {
	all = append(all, func(ctx context.Context, u User) error { return r.Revoke(ctx, u, 1, strings.Repeat("why", 1000)) })
	none := coord.WithSession(nil)
	switch r.Kind {
	case "mutex":
		all = append(all,
			func(ctx context.Context, u User) error { _, err := mutex.New(u.Client, "").Lock(ctx); return err },
			func(ctx context.Context, u User) error { _, err := mutex.New(u.Client, "").TryLock(ctx); return err },
			func(ctx context.Context, u User) error {
				_, err := mutex.New(u.Client, lineName, none).Lock(ctx)
				return err
			})
	case "rwlock":
		all = append(all, func(ctx context.Context, u User) error {
			_, err := rwlock.New(u.Client, strings.Repeat("name", coord.MaxName)).RLock(ctx)
			return err
		})
	case "semaphore":
		all = append(all,
			func(ctx context.Context, u User) error {
				_, err := semaphore.New(u.Client, lineName, 5).Acquire(ctx, 0)
				return err
			},
			func(ctx context.Context, u User) error { return semaphore.New(u.Client, lineName, 5).SetLimit(ctx, -1) })
	case "election":
		long := make([]byte, coord.MaxValue+1)
		all = append(all,
			func(ctx context.Context, u User) error {
				_, err := election.New(u.Client, lineName).Campaign(ctx, long)
				return err
			},
			func(ctx context.Context, u User) error {
				for _, err := range election.New(u.Client, "").Observe(ctx) {
					return err
				}
				return errNothing
			})
	}
	return all
}

// misuse does something wrong with a recipe.
func (w *worker) misuse(ctx context.Context, recipe Recipe) {
	if len(recipe.Misuses) == 0 {
		return
	}
	b := within(ctx)
	defer b.end()
	began := time.Now()
	err := pick(w.rng, recipe.Misuses...)(b, w.user(ctx))
	if b.Err() == nil && !errors.Is(err, coord.ErrInvalid) {
		w.run.history.Violated(history.Other, recipe.Name, "%s does something wrong with %s, and after %v the error is %v; want one that Is %v",
			w.name, recipe.Name, time.Since(began), err, coord.ErrInvalid)
	}
}

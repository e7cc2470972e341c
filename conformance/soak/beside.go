package soak

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

// beside does something with a recipe that needs no hold of it.
func (w *worker) beside(ctx context.Context, recipe Recipe) {
	switch w.rng.IntN(8) {
	case 0, 1:
		w.ask(ctx, recipe)
	case 2, 3:
		w.setLimit(ctx, recipe)
	case 4:
		w.misuse(ctx, recipe)
	default:
		w.list(ctx, recipe)
	}
}

// list lists who holds a recipe and who waits for it.
func (w *worker) list(ctx context.Context, recipe Recipe) (c coord.Contenders) {
	if recipe.Contenders == nil {
		return c
	}
	u := w.user(ctx)
	b := w.bound(ctx, recipe.Name, false)
	defer b.end()
	look := w.run.history.Looking(w.name, recipe.Name)
	began := time.Now()
	if recipe.Leader == nil || w.rng.IntN(2) == 0 {
		c, err := recipe.Contenders(b, u)
		look.Listed(c, err, b.over(), b.overdue(began))
		return c
	}
	switch leader, err := recipe.Leader(b, u); {
	case errors.Is(err, election.ErrNoLeader):
		look.Nobody()
	case err == nil && leader.Token == 0:
		w.run.history.Violated(history.Listing, recipe.Name, "%s is told that the leader is %+v, and no error", w.name, leader)
	default:
		c.Holders = append(c.Holders, leader)
		look.Listed(c, err, b.over(), b.overdue(began))
	}
	return c
}

// ask asks somebody to let go, in whatever state.
func (w *worker) ask(ctx context.Context, recipe Recipe) {
	if recipe.Revoke == nil {
		return
	}
	c := w.list(ctx, recipe)
	all := slices.Concat(c.Holders, c.Waiters)
	token := uint64(w.rng.IntN(100)) // mostly one that was
	if len(all) > 0 {
		token = pick(w.rng, all...).Token
	}
	u, reason := w.user(ctx), w.reason()
	asking, cancel := context.WithTimeout(ctx, anyTime(w.rng, longTTLs*w.run.h.TTL))
	defer cancel()
	b := within(asking)
	defer b.end()
	defer stopWith(w.stop, b.end)()
	a := w.run.history.Asking(w.name, recipe.Name, token, reason)
	began := time.Now()
	err := recipe.Revoke(b, u, token, reason)
	a.Done(err, b.over(), b.overdue(began))
}

// setLimit changes the limit of a recipe.
func (w *worker) setLimit(ctx context.Context, recipe Recipe) {
	if recipe.SetLimit == nil {
		return
	}
	u, limit := w.user(ctx), pick(w.rng, recipe.Limits...)
	b := w.bound(ctx, recipe.Name, false)
	defer b.end()
	done := w.run.limits.changing(w.run.history, recipe, limit, w.mix.faults == nil)
	w.run.history.Note("%s sets the limit of %s to %d", w.name, recipe.Name, limit)
	began := time.Now()
	err := recipe.SetLimit(b, u, limit)
	w.run.history.Note("%s has set the limit of %s to %d: %v", w.name, recipe.Name, limit, err)
	done(err)
	if late := b.overdue(began); late > w.run.o.late() {
		w.run.history.Violated(history.Deadline, recipe.Name, "%s: setting the limit of %s returned %v after its ctx had ended", w.name, recipe.Name, late)
	}
}

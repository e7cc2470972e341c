package soak

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

// lead leads as a service does: again and again, until it has had enough. It reports
// whether it was elected.
func (w *worker) lead(ctx context.Context, i int) (elected bool) {
	recipe := w.mix.recipes[i]
	want := recipe.Wants[0]
	w.held = append(w.held, i)
	u := w.user(ctx)
	var lost error // how the last term ended
	final := false // of which Run returns
	call := func() *history.Op {
		op := w.run.history.Call(w.name, recipe.Name, want.Kind, 0)
		op.JoinsLater() // as it pauses between campaigns
		return op
	}
	op := call()
	value := firstValue(op)
	op.Proclaiming(value)
	began := time.Now()
	serving, cancel := context.WithTimeout(ctx, anyTime(w.rng, 3*longTTLs*w.run.h.TTL))
	defer cancel()
	b := within(serving)
	defer b.end()
	defer stopWith(w.stop, b.end)()
	running := w.client.running(recipe.Name)
	panicked, err := caught(func() error {
		return recipe.Run(b, u, value, func(_ context.Context, l Hold) error {
			if running.Add(1) > 1 {
				w.run.history.Violated(history.Service, recipe.Name, "%s: two functions run at a time on one client", w.name)
			}
			defer running.Add(-1)
			elected = true
			op.Granted(l, l.Session().ID())
			h := &hold{recipe: recipe, want: want, op: op, user: u, all: []held{{l, want.Kind}}}
			w.use(ctx, h)
			if w.rng.IntN(4) == 0 { // it does not heed its ctx
				w.rest(ctx, &hold{all: []held{{doHold{ctx: ctx}, want.Kind}}})
			}
			lost = l.Err()
			op.Releasing(lost)
			w.run.turns.released(recipe.Name)
			op.Released(lost != nil, nil, 0)
			began = time.Now()
			how := w.rng.IntN(4)
			final = how == 3
			op = call() // the next, if there is one: it may be lost at the last moment
			op.Proclaiming(value)
			switch how {
			case 0, 1:
				return election.ErrStepDown
			case 2:
				panic(errDone)
			}
			return nil
		})
	})
	switch {
	case panicked != nil && panicked != error(errDone):
		panic(panicked)
	case panicked != nil, err == nil && final:
		op.Dropped()
	case err == nil:
		op.Dropped()
		w.run.history.Violated(history.Service, recipe.Name, "%s: Run returned nil, and its function has not", w.name)
	default:
		op.Failed(err, b.over(), b.overdue(began))
	}
	if lost != nil && b.Err() == nil && panicked == nil && u.Own == nil && !errors.Is(err, coord.ErrClosed) {
		w.run.history.Violated(history.Service, recipe.Name, "%s: Run returned %v after a loss: %v", w.name, err, lost)
	}
	return elected
}

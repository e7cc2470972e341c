package soak

import (
	"context"
	"errors"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// settle wants everybody to be served again, and nothing to be left in the lines
// of sessions that live on.
func (r *run) settle(ctx context.Context) {
	for _, step := range []func(context.Context){r.serveAll, r.emptyAll, r.showAll} {
		if !r.broken() {
			ctx, cancel := context.WithTimeout(ctx, r.patience())
			step(ctx)
			cancel()
		}
	}
}

// serveAll has every client acquire everything.
func (r *run) serveAll(ctx context.Context) {
	for _, c := range r.clients {
		for _, recipe := range r.o.Recipes {
			for _, want := range recipe.Wants {
				if err := r.serve(ctx, c, recipe, want); err != nil {
					r.history.Violated(history.Resolution, recipe.Name, "%s cannot have %s (%s) after all is well again: %v", c.name, recipe.Name, want.Kind, err)
					return
				}
			}
		}
	}
}

// serve acquires and releases. A fault may have cost the client its session
// without its knowing until now: then it tries again, with another one. The
// history judges of each loss whether there was a cause.
func (r *run) serve(ctx context.Context, c *client, recipe Recipe, want Want) error {
	for {
		err := r.serveOnce(ctx, c, recipe, want)
		if !errors.Is(err, coord.ErrSessionLost) || ctx.Err() != nil || r.broken() {
			return err
		}
		Pause(ctx, r.h.TTL/20) // no busy loop where no session lasts
	}
}

func (r *run) serveOnce(ctx context.Context, c *client, recipe Recipe, want Want) error {
	op := r.history.Call(c.name, recipe.Name, want.Kind, want.Permits)
	hold, err := want.Acquire(ctx, User{Client: c.Client}, op)
	if _, least := recipe.limit(); errors.Is(err, coord.ErrInvalid) && want.Permits > least {
		op.Failed(err, nil, 0)
		return nil // the limit is lower at present
	}
	if err != nil {
		op.Failed(err, ctx.Err(), 0)
		return err
	}
	op.Granted(hold, hold.Session().ID())
	op.Releasing(hold.Err())
	err = hold.Release(ctx)
	op.Released(false, err, 0)
	return err
}

// showAll waits until all onlookers are shown what is the case: the lines are
// empty, and nobody leads.
func (r *run) showAll(ctx context.Context) {
	for _, c := range r.clients {
		for _, l := range c.looks {
			for !l.quiet() {
				if ctx.Err() != nil {
					r.history.Violated(history.Observation, l.object, "the line is empty, and %s", l.shown())
					return
				}
				Pause(ctx, r.h.TTL/20) // no event tells
			}
		}
	}
}

// emptyAll waits until every line is empty.
func (r *run) emptyAll(ctx context.Context) {
	for _, recipe := range r.o.Recipes {
		r.emptied(ctx, recipe)
	}
}

// emptied waits until a line is empty: what was not confirmed may be on its way
// out.
func (r *run) emptied(ctx context.Context, recipe Recipe) {
	for {
		nodes, err := r.observer.List(ctx, recipe.Dir)
		nodes = recipe.contending(nodes)
		if err == nil && len(nodes) == 0 {
			return
		}
		if ctx.Err() != nil {
			r.history.Violated(history.Leftovers, recipe.Name, "%d entries are left in %s: %v (%v)", len(nodes), recipe.Dir, keys(nodes), err)
			return
		}
		Pause(ctx, r.h.TTL/20) // no event tells
	}
}

func keys(nodes []driver.Node) (list []string) {
	for _, n := range nodes {
		list = append(list, n.Key)
	}
	return list
}

// farewell closes everything, and wants nothing to be left in the store.
func (r *run) farewell(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.patience())
	defer cancel()
	for _, c := range r.clients {
		r.closeClient(c)
	}
	r.clients = nil
	_ = r.observer.Close() // it has nothing to lose
	r.observer = nil
	if r.h.Residue == nil {
		return
	}
	for {
		left, err := r.h.Residue(ctx, r.ns)
		if err == nil && left.Keys <= r.foreign && left.Sessions <= 0 && left.Watches <= 0 && left.Conns <= 0 {
			return
		}
		if ctx.Err() != nil {
			r.history.Violated(history.Leftovers, "", "the store still has %+v of clients that were closed; %d keys are foreign (%v)", left, r.foreign, err)
			return
		}
		Pause(ctx, r.h.TTL/20) // no event tells
	}
}

// discard closes what farewell has not.
func (r *run) discard() {
	ctx, cancel := context.WithTimeout(context.Background(), r.h.TTL)
	defer cancel()
	for _, c := range r.clients {
		r.history.Closing(c.name)
		_ = c.Close(ctx) // the run has failed for another reason
		c.end()
		r.ended("a watch of "+c.name, &c.onlookers)
		closeLink(c.link)
	}
	if r.observer != nil {
		_ = r.observer.Close() // it has nothing to lose
	}
}

package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// longest is how many TTL a fault lasts at the most.
const longest = 3

// errNoClient: a client that is gone has no successor.
var errNoClient = errors.New("no client takes the place of another")

// disturb lets faults happen, one after the other and with pauses, for d or
// until a promise is broken, and leaves everything well. The error says that a client
// has no successor.
func (r *run) disturb(ctx context.Context, rng *rand.Rand, d time.Duration) error {
	calm, end := context.WithTimeout(ctx, d)
	defer end()
	stop := make(chan struct{})
	defer close(stop)
	go func() { // ends with disturb
		select {
		case <-r.history.Broken():
			end()
		case <-stop:
		}
	}()
	for calm.Err() == nil {
		if len(r.mix.faults) > 0 {
			if rng.IntN(3) == 0 { // at the moment of a release
				turn := r.turns.next(pick(rng, r.mix.recipes...).Name)
				Pause(turn, r.o.Pause)
			}
			f := pick(rng, r.mix.faults...)
			r.result.Faults[f.Name]++
			if err := f.Do(calm, rng, r.mix.fault); errors.Is(err, errNoClient) {
				return err
			} else if err != nil {
				r.history.Note("%s: %v", f.Name, err)
			}
		}
		Pause(calm, UpTo(rng, r.o.Pause))
	}
	r.history.Note("all is well from here on")
	return nil
}

// lasts lets a fault last for a time up to most, in which now and then something
// happens to an entry or a session as well.
func (r *run) lasts(ctx context.Context, rng *rand.Rand, most time.Duration) {
	for range 2 {
		Pause(ctx, UpTo(rng, most/2))
		if len(r.mix.entries) > 0 && rng.IntN(3) == 0 && ctx.Err() == nil {
			f := pick(rng, r.mix.entries...)
			r.result.Faults[f.Name]++
			if err := f.Do(ctx, rng, most); err != nil {
				r.history.Note("%s: %v", f.Name, err)
			}
		}
	}
}

// faults are those that the harness can make, and those of the options.
func (r *run) faults() []Fault {
	return slices.Concat(r.storeFaults(), r.entryFaults(), r.linkFaults())
}

// clientFaults are what programs do. reopen opens a client in the place of one
// that is gone.
func (r *run) clientFaults(reopen func(index int) error) []Fault {
	all := []Fault{
		{"session closed", func(ctx context.Context, rng *rand.Rand, _ time.Duration) error {
			return r.closeSession(ctx, r.victim(rng))
		}},
		{"client closed", func(_ context.Context, rng *rand.Rand, _ time.Duration) error {
			c := r.victim(rng)
			for range 2 { // closing again changes nothing
				r.closeClient(c)
			}
			r.ended("a call of a recipe", &c.workers)
			return reopen(c.index)
		}},
	}
	if r.h.OpenLink == nil {
		return all
	}
	return append(all, Fault{"client killed", func(_ context.Context, rng *rand.Rand, _ time.Duration) error {
		c := r.victim(rng)
		r.kill(c, rng)
		return reopen(c.index)
	}})
}

// storeFaults disturb everybody.
func (r *run) storeFaults() (all []Fault) {
	for _, f := range r.o.Faults {
		all = append(all, Fault{f.Name, func(ctx context.Context, rng *rand.Rand, most time.Duration) error {
			defer r.history.Trouble("", f.Name)()
			return f.Do(ctx, rng, most)
		}})
	}
	return all
}

// victim chooses a client: mostly one that holds something, for it has the most
// to lose.
func (r *run) victim(rng *rand.Rand) *client {
	some := r.clients[rng.IntN(len(r.clients))]
	holders := r.history.Holders()
	if len(holders) == 0 || rng.IntN(4) == 0 {
		return some
	}
	name := holders[rng.IntN(len(holders))]
	if i := slices.IndexFunc(r.clients, func(c *client) bool { return c.name == name }); i >= 0 {
		return r.clients[i]
	}
	return some
}

// entryFaults are what happens in the store to sessions and entries.
func (r *run) entryFaults() (all []Fault) {
	if r.h.Expire != nil {
		all = append(all, Fault{"session ended by the store", r.expire})
	}
	if r.h.RemoveNode != nil {
		all = append(all, Fault{"entry removed", r.remove})
	}
	if r.h.RemoveDir != nil {
		all = append(all, Fault{"line removed", r.removeAll})
	}
	return all
}

// expire has the store end a client's session.
func (r *run) expire(ctx context.Context, rng *rand.Rand, _ time.Duration) error {
	c := r.victim(rng)
	brief, cancel := context.WithTimeout(ctx, r.h.TTL/10) // its link may be frozen
	defer cancel()
	s, err := c.Session(brief)
	if err != nil {
		return err
	}
	done := r.history.Ending(c.name, s.ID())
	err = r.h.Expire(ctx, r.ns, s.Driver())
	done(err)
	return err
}

// remove removes an entry as an operator would: by its name, which he has seen in
// the line.
func (r *run) remove(ctx context.Context, rng *rand.Rand, _ time.Duration) error {
	recipe := pick(rng, r.mix.recipes...)
	var c coord.Contenders
	if recipe.Contenders != nil {
		brief, cancel := context.WithTimeout(ctx, r.h.TTL/10) // its link may be frozen
		defer cancel()
		var err error
		if c, err = recipe.Contenders(brief, User{Client: pick(rng, r.clients...).Client}); err != nil {
			return err
		}
	}
	nodes, err := r.observer.List(ctx, recipe.Dir)
	if err != nil || len(nodes) == 0 {
		return err
	}
	n := nodes[rng.IntN(len(nodes))]
	token := n.Token
	for _, one := range slices.Concat(c.Holders, c.Waiters) {
		if one.Key == n.Key {
			token = one.Token // that of its holds, which may be another
		}
	}
	done := r.history.Removing(recipe.Name, token, n.Session)
	err = r.h.RemoveNode(ctx, r.ns, n)
	done(err)
	return err
}

// removeAll removes a line as an operator would.
func (r *run) removeAll(ctx context.Context, rng *rand.Rand, _ time.Duration) error {
	recipe := pick(rng, r.mix.recipes...)
	done := r.history.RemovingAll(recipe.Name)
	err := r.h.RemoveDir(ctx, r.ns, recipe.Dir)
	done(err)
	return err
}

package soak

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
)

// linkFaults disturb the way of one client to the store.
func (r *run) linkFaults() (all []Fault) {
	if r.h.OpenLink == nil {
		return nil
	}
	for _, l := range []struct {
		name  string
		apply func(*client)
	}{
		{"link frozen", func(c *client) { c.link.Freeze(netfault.Both) }},
		{"link frozen up", func(c *client) { c.link.Freeze(netfault.Up) }},
		{"link frozen down", func(c *client) { c.link.Freeze(netfault.Down) }},
		{"link slow", func(c *client) { c.link.Delay(netfault.Both, r.h.TTL/20) }},
		{"link cut", func(c *client) { c.link.Cut() }},
		{"replies lost", func(c *client) { c.link.DropReplies() }},
	} {
		all = append(all, Fault{l.name, func(ctx context.Context, rng *rand.Rand, most time.Duration) error {
			c := r.victim(rng)
			if rng.IntN(2) == 0 { // short enough for the session to live on
				most = r.h.TTL / 4
			}
			defer r.history.Trouble(c.name, l.name)()
			l.apply(c)
			r.lasts(ctx, rng, most)
			defer r.well(c)
			return c.link.Heal()
		}})
	}
	all = append(all, Fault{"connections reset", func(_ context.Context, rng *rand.Rand, _ time.Duration) error {
		c := r.victim(rng)
		defer r.history.Trouble(c.name, "connections reset")()
		c.link.DropConnections()
		return nil
	}})
	if r.h.Hold != nil {
		all = append(all, Fault{"request late", func(ctx context.Context, rng *rand.Rand, most time.Duration) error {
			c := r.victim(rng)
			defer r.history.Trouble(c.name, "request late")()
			release := r.h.Hold(c.link)
			r.lasts(ctx, rng, most)
			release()
			return nil
		}})
	}
	return all
}

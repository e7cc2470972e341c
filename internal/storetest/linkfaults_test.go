package storetest

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/conformance/soak"
	"github.com/coordkit/coordkit/internal/storetest/trial"
)

// linkFaults are those of the network between a holder and all servers. They do not
// disturb each other: each client is on a machine of its own.
var linkFaults = []fault{
	onLink("link frozen, both ways", func(g *netfault.Group) { g.Freeze(netfault.Both) }),
	onLink("link frozen, client to server", func(g *netfault.Group) { g.Freeze(netfault.Up) }),
	onLink("link frozen, server to client", func(g *netfault.Group) { g.Freeze(netfault.Down) }),
	onLink("link a black hole", func(g *netfault.Group) { g.Blackhole(netfault.Both) }),
	onLink("link cut", func(g *netfault.Group) { g.Cut() }),
	onLink("all replies lost", func(g *netfault.Group) { g.DropReplies() }),
}

// briefLinkFaults are those that a session may outlive.
var briefLinkFaults = []fault{
	brief(onLink("link frozen for less than the TTL", func(g *netfault.Group) { g.Freeze(netfault.Both) }), 1),
	brief(onLink("link slow", func(g *netfault.Group) { g.Delay(netfault.Both, zkTTL/20) }), 2),
	brief(againOnLink("connections reset again and again", 4, func(g *netfault.Group) { g.DropConnections() }), 1),
	brief(againOnLink("single replies lost again and again", 8, func(g *netfault.Group) { g.DropNextReply() }), 1),
}

// onLink is a fault of the holder's link.
func onLink(name string, cut func(*netfault.Group)) fault {
	return fault{name: name, make: func(t *testing.T, s *store, _ *rand.Rand) trial.Fault {
		g := s.link(t)
		f := s.others(t, patient)
		f.Holder = trial.InProcess(s.dial(t, s.ttl, g.Addrs()...))
		f.Cut = func(context.Context, trial.Scene) error { cut(g); return nil }
		f.Heal = func(context.Context) error { return g.Heal() }
		return f
	}}
}

// againOnLink is one that happens so many times a TTL.
func againOnLink(name string, times int, cut func(*netfault.Group)) fault {
	return fault{name: name, make: func(t *testing.T, s *store, rng *rand.Rand) trial.Fault {
		var going sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		t.Cleanup(func() { stop(); going.Wait() })
		f := onLink(name, func(g *netfault.Group) {
			cut(g)
			going.Go(func() {
				for ctx.Err() == nil {
					soak.Pause(ctx, s.ttl/time.Duration(times))
					cut(g)
				}
			})
		}).make(t, s, rng)
		heal := f.Heal
		f.Heal = func(ctx context.Context) error {
			stop()
			going.Wait()
			return heal(ctx)
		}
		return f
	}}
}

// brief has a fault last for a random time of up to so many TTL.
func brief(f fault, ttls int) fault {
	lasting := f.make
	f.make = func(t *testing.T, s *store, rng *rand.Rand) trial.Fault {
		made := lasting(t, s, rng)
		made.Lasts = s.ttl/10 + s.tenths(rng, 8*ttls)
		return made
	}
	return f
}

// link is a network of its own between a client and all members.
func (s *store) link(t *testing.T) *netfault.Group {
	t.Helper()
	g, err := netfault.NewGroup(s.elsewhere(t)...)
	must(t, "making a link", err)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// others begins a fault with those whom it leaves alone.
func (s *store) others(t *testing.T, ttl time.Duration) trial.Fault {
	t.Helper()
	return trial.Fault{
		Next:  s.dial(t, ttl, s.elsewhere(t)...),
		After: s.dial(t, ttl, s.elsewhere(t)...),
		Heal:  func(context.Context) error { return nil },
	}
}

// tenths is a random time of up to so many tenths of the TTL.
func (s *store) tenths(rng *rand.Rand, most int) time.Duration {
	return soak.UpTo(rng, s.ttl*time.Duration(most)/10)
}

package storetest

import (
	"errors"
	"testing"

	"github.com/coordkit/coordkit/conformance/netfault"
)

// linkFaults are those of the network between a holder and all servers. They do
// not disturb each other. Each client is on a machine of its own.
func linkFaults(t *testing.T, s *store) []fault {
	t.Helper()
	var faults []fault
	for _, f := range []struct {
		name string
		cut  func(*netfault.Group)
	}{
		{"link frozen, both ways", func(g *netfault.Group) { g.Freeze(netfault.Both) }},
		{"link frozen, client to server", func(g *netfault.Group) { g.Freeze(netfault.Up) }},
		{"link frozen, server to client", func(g *netfault.Group) { g.Freeze(netfault.Down) }},
		{"link a black hole", func(g *netfault.Group) { g.Blackhole(netfault.Both) }},
		{"link cut", func(g *netfault.Group) { g.Cut() }},
	} {
		group, err := netfault.NewGroup(s.elsewhere(t)...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := group.Close(); err != nil {
				t.Error(err)
			}
		})
		faults = append(faults, fault{
			name:   f.name,
			holder: s.dial(t, s.ttl, group.Addrs()...),
			next:   s.dial(t, patient, s.elsewhere(t)...),
			cut:    func() error { f.cut(group); return nil },
			heal:   group.Heal,
		})
	}
	return faults
}

// memberFault is one of the member that a holder is connected to.
type memberFault struct {
	name      string
	leader    bool
	cut, heal func(s *store, victim int) error
	whileCut  func(s *store, victim int) error // as of fault; may be nil
}

// serverFaults are those of a store's only server, which everybody meets.
var serverFaults = []memberFault{
	{name: "server frozen beyond the TTL", leader: true, cut: freeze, whileCut: thaw, heal: none},
	{name: "server killed and restarted", leader: true, cut: kill, whileCut: restart, heal: none},
}

// memberFaults are those of one of three.
var memberFaults = []memberFault{
	{name: "its member killed, a follower", cut: kill, heal: restart},
	{name: "its member killed, the leader", leader: true, cut: kill, heal: restart},
	{name: "its member frozen, a follower", cut: freeze, heal: thaw},
	{name: "its member frozen, the leader", leader: true, cut: freeze, heal: thaw},
	{name: "its member alone, a follower", cut: freezeOthers, whileCut: thawOthers, heal: none},
	{name: "its member alone, the leader", leader: true, cut: freezeOthers, whileCut: thawOthers, heal: none},
}

func kill(s *store, i int) error    { return s.members[i].Kill() }
func restart(s *store, i int) error { return s.members[i].Restart() }
func freeze(s *store, i int) error  { return s.members[i].Freeze() }
func thaw(s *store, i int) error    { return s.members[i].Thaw() }
func none(*store, int) error        { return nil }

func freezeOthers(s *store, i int) error { return others(s, i, freeze) }
func thawOthers(s *store, i int) error   { return others(s, i, thaw) }

func others(s *store, not int, do func(*store, int) error) error {
	var errs []error
	for i := range s.members {
		if i != not {
			errs = append(errs, do(s, i))
		}
	}
	return errors.Join(errs...)
}

// on picks the member, and connects the holder to it and the next to the others,
// if there are any.
func (f memberFault) on(t *testing.T, s *store) fault {
	t.Helper()
	victim, err := s.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !f.leader {
		victim = (victim + 1) % len(s.members)
	}
	var rest []string
	for i, m := range s.members {
		if i != victim || len(s.members) == 1 {
			rest = append(rest, m.Endpoint())
		}
	}
	one := fault{
		name:   f.name,
		holder: s.dial(t, s.ttl, hosts(s.members[victim].Endpoint())...),
		next:   s.dial(t, enduring, hosts(rest...)...), // they may have to elect a leader first
		cut:    func() error { return f.cut(s, victim) },
		heal: func() error {
			if err := f.heal(s, victim); err != nil {
				return err
			}
			return s.WaitHealthy(t.Context())
		},
	}
	if f.whileCut != nil {
		one.whileCut = func() error { return f.whileCut(s, victim) }
	}
	return one
}

// lossOnSingle tries all that can happen between holders and a single server.
func lossOnSingle(t *testing.T, s *store, locks int) []margins {
	t.Helper()
	return append(lossOnLinks(t, s, locks), lossOnMembers(t, s, locks, serverFaults)...)
}

// lossOnThree tries all that can happen between holders and three members.
func lossOnThree(t *testing.T, s *store, locks int, more ...memberFault) []margins {
	t.Helper()
	return append(lossOnLinks(t, s, locks), lossOnMembers(t, s, locks, append(more, memberFaults...))...)
}

func lossOnLinks(t *testing.T, s *store, locks int) (all []margins) {
	t.Helper()
	t.Run("links", func(t *testing.T) { all = tryLoss(t, locks, linkFaults(t, s)...) })
	return all
}

// lossOnMembers tries one fault after the other, as they disturb everybody. The
// clients of each are closed before the next.
func lossOnMembers(t *testing.T, s *store, locks int, faults []memberFault) (all []margins) {
	t.Helper()
	for _, f := range faults {
		if !t.Run(f.name, func(t *testing.T) { all = append(all, tryLoss(t, locks, f.on(t, s))...) }) {
			break // it may not have been mended
		}
	}
	return all
}

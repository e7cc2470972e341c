package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/coordkit/coordkit/internal/storetest/trial"
)

// memberFault is a fault of a member. It disturbs everybody.
type memberFault struct {
	name    string
	leader  bool // it is the leader's
	knowAll bool // the holder knows all members, and not this one alone
	freezes bool // the leader stands still for longer than an election takes

	// lasts is how many tenths of a TTL it lasts at the most. 0: until the holders
	// have lost their locks.
	lasts int

	cut, heal func(s *store, victim int) error
	meanwhile func(s *store, victim int) error // see trial.Fault; may be nil
}

// serverFaults are those of a store's only server.
var serverFaults = []memberFault{
	{name: "server frozen beyond the TTL", leader: true, cut: freeze, meanwhile: thaw, heal: none},
	{name: "server frozen for less than the TTL", leader: true, lasts: 8, cut: freeze, heal: thaw},
	{name: "server killed and restarted", leader: true, cut: kill, meanwhile: restart, heal: none},
	{name: "server killed, restarted at once", leader: true, lasts: 4, cut: killAndRestart, heal: none},
}

// memberFaults are those of one of three. "Its member" is the only one that the
// holder knows.
var memberFaults = []memberFault{
	{name: "its member killed, a follower", cut: kill, heal: restart},
	{name: "its member killed, the leader", leader: true, cut: kill, heal: restart},
	{name: "its member frozen, a follower", cut: freeze, heal: thaw},
	{name: "its member frozen, the leader", leader: true, freezes: true, cut: freeze, heal: thaw},
	{name: "its member alone, a follower", freezes: true, cut: freezeOthers, meanwhile: thawOthers, heal: none},
	{name: "its member alone, the leader", leader: true, cut: freezeOthers, meanwhile: thawOthers, heal: none},
	{name: "a follower killed", knowAll: true, lasts: 20, cut: kill, heal: restart},
	{name: "the leader killed", leader: true, knowAll: true, lasts: 20, cut: kill, heal: restart},
	{name: "a follower frozen", knowAll: true, lasts: 20, cut: freeze, heal: thaw},
	{name: "the leader frozen for less than the TTL", leader: true, knowAll: true, freezes: true, lasts: 8, cut: freeze, heal: thaw},
	{name: "the leader frozen beyond the TTL", leader: true, knowAll: true, freezes: true, lasts: 30, cut: freeze, heal: thaw},
	{name: "no majority for less than the TTL", knowAll: true, lasts: 8, cut: freezeOthers, heal: thawOthers},
}

func kill(s *store, i int) error    { return s.members[i].Kill() }
func restart(s *store, i int) error { return s.members[i].Restart() }
func freeze(s *store, i int) error  { return s.members[i].Freeze() }
func thaw(s *store, i int) error    { return s.members[i].Thaw() }
func none(*store, int) error        { return nil }

func killAndRestart(s *store, i int) error { return errors.Join(kill(s, i), restart(s, i)) }

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

// fault picks the member, and connects the holder and the others.
func (m memberFault) fault() fault {
	return fault{name: m.name, alone: true, make: func(t *testing.T, s *store, rng *rand.Rand) trial.Fault {
		victim, err := s.Leader(t.Context())
		must(t, "looking for the leader", err)
		if !m.leader && len(s.members) > 1 {
			victim = (victim + 1 + rng.IntN(len(s.members)-1)) % len(s.members)
		}
		its, rest := hosts(s.Endpoints()...), hosts(s.Endpoints()...)
		if !m.knowAll && len(s.members) > 1 {
			its, rest = its[victim:victim+1], append(rest[:victim:victim], rest[victim+1:]...)
		}
		f := trial.Fault{
			Holder: trial.InProcess(s.dial(t, s.ttl, its...)),
			Next:   s.dial(t, enduring, rest...), // they may have to elect a leader first
			After:  s.dial(t, enduring, rest...),
			Cut:    func(context.Context, trial.Scene) error { return m.cut(s, victim) },
			Heal: func(ctx context.Context) error {
				if err := m.heal(s, victim); err != nil {
					return err
				}
				return s.WaitHealthy(ctx)
			},
		}
		if m.lasts > 0 {
			f.Lasts = s.ttl/10 + s.tenths(rng, m.lasts)
		}
		if m.meanwhile != nil {
			f.Meanwhile = func(context.Context) error { return m.meanwhile(s, victim) }
		}
		if m.freezes && len(s.members) > 1 && s.frozenLeader != "" {
			f.MayEnd, f.Settle = s.frozenLeader, s.ttl
		}
		return f
	}}
}

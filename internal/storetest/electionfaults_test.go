package storetest

import (
	"syscall"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// accident is what befalls leaders, one after the other.
type accident struct {
	name   string
	rounds int
	// knows returns the endpoints that the i-th candidate is given.
	knows func(s *store, i int) []string
	// happen returns when it began, and what mends it.
	happen func(c *contest, leader *reign) (at time.Duration, mend func())
}

var accidents = []accident{
	{"its process killed", 3, allMembers, killLeader},
	{"its process frozen", 3, allMembers, freezeLeader},
	{"its member killed", 3, allMembers, killItsMember},
	{"its member killed, the only one it knows", 3, oneMember, killItsMember},
	{"the cluster's leader killed", 2, allMembers, killClusterLeader},
}

func allMembers(s *store, _ int) []string { return s.Endpoints() }

func oneMember(s *store, i int) []string { return s.Endpoints()[i%len(s.members):][:1] }

func killLeader(c *contest, leader *reign) (time.Duration, func()) {
	c.note(func() { leader.killed = true })
	at := monotonic()
	must(c.t, "killing the leader", leader.by.Kill())
	return at, func() { c.replace(leader.by) }
}

func freezeLeader(c *contest, leader *reign) (time.Duration, func()) {
	c.note(func() { leader.frozen = true })
	at := monotonic()
	must(c.t, "freezing the leader", leader.by.Signal(syscall.SIGSTOP))
	return at, func() { must(c.t, "thawing it", leader.by.Signal(syscall.SIGCONT)) }
}

func killItsMember(c *contest, leader *reign) (time.Duration, func()) {
	victim, err := c.s.memberOf(leader.by.Pid)
	must(c.t, "looking for the leader's member", err)
	return c.killMember(victim)
}

func killClusterLeader(c *contest, _ *reign) (time.Duration, func()) {
	victim, err := c.s.Leader(c.ctx)
	must(c.t, "looking for the cluster's leader", err)
	return c.killMember(victim)
}

func (c *contest) killMember(victim int) (time.Duration, func()) {
	at := monotonic()
	must(c.t, "killing a member", c.s.members[victim].Kill())
	return at, func() {
		must(c.t, "restarting it", c.s.members[victim].Restart())
		must(c.t, "restarting it", c.s.WaitHealthy(c.ctx))
	}
}

// handovers are what came of an accident.
type handovers struct {
	name    string
	took    []time.Duration // to the function of the next leader
	kept    int             // how often there was no next one
	margins []time.Duration // from the end of a leader's context to the function of the next
}

// try has the accident befall one leader after the other.
func (a accident) try(t *testing.T, s *store, clients []*coord.Client) handovers {
	h := handovers{name: a.name}
	c := newContest(t, s, a.name, clients, func(i int) []string { return a.knows(s, i) })
	for range a.rounds {
		leader := c.settle()
		at, mend := a.happen(c, leader)
		if next := c.successor(leader, at); next != nil {
			h.took = append(h.took, next.Began-at)
		} else {
			h.kept++
		}
		mend()
	}
	c.settle()
	h.margins = c.judge()
	c.stop()
	return h
}

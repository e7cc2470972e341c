package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/leader"
	"github.com/coordkit/coordkit/bench/peers"
	"github.com/coordkit/coordkit/bench/report"
	"github.com/coordkit/coordkit/bench/servers"
	"github.com/coordkit/coordkit/bench/work"
)

// plan is what a run does.
type plan struct {
	stores, cases, sides []string // cases and sides by the beginnings of their names
	members              []int
	pairs                int
	short                bool
}

// sides returns who can take part on a store.
func sides(store string) []contest.Side {
	switch store {
	case servers.Etcd:
		return peers.Etcd()
	case servers.ZooKeeper:
		return peers.ZooKeeper()
	case servers.Consul:
		return peers.Consul()
	}
	return nil
}

// atOnce is what a whole or short run leaves out, unless a case is asked for by
// its name: on three members it is the order of the sides that is looked at.
func (p plan) wants(c work.Case, members int) bool {
	if len(p.cases) > 0 {
		return begins(c.Name, p.cases)
	}
	few := []string{"uncontended", "contention-2", "contention-8", "contention-32", "drain-20", "keys-64"}
	if p.short {
		few = append(few, "semaphore-10")
	}
	return members == 1 && !p.short || slices.Contains(few, c.Name)
}

// begins reports whether a name begins as one of a list says, where a name that
// ends in the list's entry is that one and no other.
func begins(name string, list []string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(b string) bool {
		return strings.HasPrefix(name, b) && (!endsInDigit(b) || len(name) == len(b))
	})
}

func endsInDigit(s string) bool { return s != "" && s[len(s)-1] >= '0' && s[len(s)-1] <= '9' }

// run does it all, as far as it can: what fails is written down, and the rest goes
// on.
func (p plan) run(ctx context.Context, r *report.Run) error {
	var failed []error
	for _, members := range p.members {
		for _, store := range p.stores {
			if err := p.on(ctx, store, members, r); err != nil {
				failed = append(failed, fmt.Errorf("%s with %d members: %w", store, members, err))
			}
			if ctx.Err() != nil {
				return errors.Join(failed...)
			}
		}
	}
	return errors.Join(failed...)
}

func (p plan) on(ctx context.Context, store string, members int, r *report.Run) (err error) {
	s, err := servers.Start(ctx, store, members)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	in := venue{Store: s, members: members, plan: p, sides: sides(store)}
	defer func() {
		for _, side := range in.sides {
			if side.Close != nil {
				err = errors.Join(err, side.Close())
			}
		}
	}()
	if err := in.warmUp(ctx); err != nil {
		return fmt.Errorf("warming up: %w", err)
	}
	for _, c := range work.Cases(s.FailoverTTL()) {
		if !p.wants(c, members) {
			continue
		}
		r.Contests = append(r.Contests, in.contest(ctx, c))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// venue is where contests take place.
type venue struct {
	*servers.Store
	members int
	plan    plan
	sides   []contest.Side
	turns   int
}

// warmUp has the servers work before anybody is measured: ZooKeeper's Java
// machine is slow at first.
func (v *venue) warmUp(ctx context.Context) error {
	length := work.Length{Measured: 4 * time.Second, Linger: time.Second}
	if v.plan.short {
		length.Measured = 2 * time.Second
	}
	floor := v.sides[slices.IndexFunc(v.sides, func(s contest.Side) bool { return s.Name == contest.Floor })]
	_, err := work.Keys(32).Run(ctx, v.turn(floor, "warm-up", length))
	return err
}

func (v *venue) turn(side contest.Side, name string, length work.Length) work.Turn {
	v.turns++
	return work.Turn{
		Side:    side,
		Dial:    contest.Dial{Servers: v.Hosts, TTL: work.TTL},
		Key:     fmt.Sprintf("%s-%d", name, v.turns),
		Length:  length,
		Servers: v.Hosts,
		Spawn: func(ctx context.Context, d contest.Dial, side string, keys []string) (func() error, error) {
			return leader.Spawn(ctx, v.Name, d, side, keys)
		},
	}
}

// contest has all sides do a case, in turns.
func (v *venue) contest(ctx context.Context, c work.Case) report.Contest {
	out := report.Contest{Store: v.Name, Members: v.members, Case: c.Name, About: c.About, Unit: c.Unit, Less: c.Less}
	type player struct {
		contest.Side
		turns []contest.Sample
		err   error
	}
	var players []*player
	for _, s := range v.sides {
		switch {
		case !begins(s.Name, v.plan.sides):
		case c.For(s):
			players = append(players, &player{Side: s})
		default:
			out.Absent = append(out.Absent, s.Name)
		}
	}
	length, pairs := lengthOf(v.plan.short), v.plan.pairs
	if c.Once {
		pairs = 1
	}
	for pair := range pairs {
		for _, p := range players {
			// Who did not end in time once need not be asked again.
			if p.err != nil || slices.ContainsFunc(p.turns, func(s contest.Sample) bool { return s.Partial }) {
				continue
			}
			s, err := c.Run(ctx, v.turn(p.Side, c.Name, length))
			fmt.Fprintf(os.Stderr, "%s %d %-14s %d/%d %-26s %10.2f %s\n", v.Name, v.members, c.Name, pair+1, pairs, p.Name, c.Figure(s), told(s, err))
			if p.err = err; err == nil {
				p.turns = append(p.turns, s)
			}
			if ctx.Err() != nil {
				return out
			}
		}
	}
	for _, p := range players {
		e := report.Summarize(c, p.Name, p.turns)
		if p.err != nil {
			e.Error = p.err.Error()
		} else if c.Counts && !e.Partial {
			v.count(ctx, c, p.Side, &e)
		}
		out.Entries = append(out.Entries, e)
	}
	out.Compare()
	return out
}

func told(s contest.Sample, err error) string {
	if err != nil {
		return err.Error()
	}
	return s.Note
}

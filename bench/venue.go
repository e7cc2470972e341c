package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/leader"
	"github.com/coordkit/coordkit/bench/report"
	"github.com/coordkit/coordkit/bench/servers"
	"github.com/coordkit/coordkit/bench/work"
)

// venue is where contests take place.
type venue struct {
	*servers.Store
	addrs   []string // where all clients connect, as host:port: the servers or proxies before them
	members int
	network report.Network
	plan    plan
	sides   []contest.Side
	turns   int
}

// rehearse has the servers, and this process, see what a side does for the first time
// before anybody is measured, or who comes first would be at a disadvantage. Foreign
// sides do so by themselves, in each turn. Whether it succeeds shows when it counts.
func (v *venue) rehearse(ctx context.Context, c work.Case, side contest.Side) {
	length := work.Short
	length.Measured = lengthOf(v.plan.short).Warm
	if side.Foreign == nil {
		_, _ = c.Run(ctx, v.turn(side, c.Name+"-rehearsal", length))
	}
}

// order is that of the sides in a turn: nobody always comes first, or after the same
// one.
func order[T any](sides []T, turn int) []T {
	at := turn / 2 % max(len(sides), 1)
	all := slices.Concat(sides[at:], sides[:at])
	if turn%2 == 1 {
		slices.Reverse(all)
	}
	return all
}

func (v *venue) floor() contest.Side {
	return v.sides[slices.IndexFunc(v.sides, func(s contest.Side) bool { return s.Name == contest.Floor })]
}

func (v *venue) turn(side contest.Side, name string, length work.Length) work.Turn {
	v.turns++
	return work.Turn{
		Side:    side,
		Dial:    contest.Dial{Servers: v.addrs, TTL: work.TTL, TLS: v.TLS},
		Key:     fmt.Sprintf("%s-%d", name, v.turns),
		Length:  length,
		Servers: v.Hosts,
		Synced:  v.Syncs,
		Spawn: func(ctx context.Context, d contest.Dial, side string, keys []string) (func() error, error) {
			return leader.Spawn(ctx, v.Name, d, side, keys)
		},
	}
}

// contest has all sides do a case, in turns.
func (v *venue) contest(ctx context.Context, c work.Case) report.Contest {
	out := report.Contest{Store: v.Name, Members: v.members, Network: v.network, Case: c.Name, About: c.About, Unit: c.Unit, Less: c.Less,
		Unasked: make(map[string]string)}
	type player struct {
		contest.Side
		turns []contest.Sample
		err   error
	}
	var players []*player
	for _, s := range v.sides {
		switch {
		case !begins(s.Name, v.plan.sides):
		case !s.Has(c.Kind):
			out.Absent = append(out.Absent, s.Name)
		case c.Unasked(s) != "":
			out.Unasked[s.Name] = c.Unasked(s)
		default:
			players = append(players, &player{Side: s})
		}
	}
	length, pairs := lengthOf(v.plan.short), v.plan.turns(c)
	for _, p := range players {
		if !c.Once && !c.Cold && (!v.plan.short || p.Name == contest.Floor) {
			v.rehearse(ctx, c, p.Side)
		}
	}
	for pair := range pairs {
		for _, p := range order(players, pair) {
			// Who did not end in time once need not be asked again.
			if p.err != nil || slices.ContainsFunc(p.turns, func(s contest.Sample) bool { return s.Partial }) {
				continue
			}
			runtime.GC() // what the one before has left is not for this one to clear up
			s, err := c.Run(ctx, v.turn(p.Side, c.Name, length))
			fmt.Fprintf(os.Stderr, "%s %d %s %-14s %d/%d %-26s %10.2f %s\n", v.Name, v.members, v.network.Name(), c.Name, pair+1, pairs, p.Name, c.Figure(s), told(s, err))
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
		} else if c.Counts && !e.Partial && v.plan.counts(c, v.network) {
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

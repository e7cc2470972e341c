package work

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/stats"
)

// Failover is the time from the death of a leader's process to its successor's
// election, in TTLs. In one turn several leaders die at once, each of a session
// of its own. They have begun to lead one after the other within a TTL, and die at a
// time that is left to chance, so that some have just kept their sessions alive and
// some are about to, in each turn others.
func Failover(ttl time.Duration) Case {
	return Case{Name: "failover", Kind: contest.Locks, Unit: "TTL", Less: true, Cold: true, Value: true, TTL: ttl,
		Foreign: contest.ForeignCase{Name: contest.Failover, Clients: leaders},
		About:   fmt.Sprintf("a leader's process is killed, with a TTL of %v: time to its successor's election", ttl),
		run: func(ctx context.Context, t Turn) (contest.Sample, error) {
			t.Dial.TTL = ttl
			return failover(ctx, t)
		}}
}

// leaders is how many die.
const leaders = 5

// failoverMost is for how many TTLs a successor waits.
const failoverMost = 4

func failover(ctx context.Context, t Turn) (contest.Sample, error) {
	var names []string
	for i := range leaders {
		names = append(names, fmt.Sprintf("%s-%d", t.Key, i))
	}
	kill, err := t.Spawn(ctx, t.Dial, t.Side.Name, names)
	if err != nil {
		return contest.Sample{}, fmt.Errorf("starting the leaders: %w", err)
	}
	defer func() { _ = kill() }() // again is no harm
	all, end, err := t.programs(ctx, leaders)
	if err != nil {
		return contest.Sample{}, err
	}
	defer func() { _ = end() }() // the store ends what is left
	// A peer may wait for some time after the store has let go: for Consul's
	// lock-delay of 15 s, and its pause of 5 s.
	ctx, cancel := context.WithTimeout(ctx, failoverMost*t.Dial.TTL+25*time.Second)
	defer cancel()
	type election struct {
		at  time.Time
		err error
	}
	elected := make(chan election, leaders)
	var ready sync.WaitGroup
	for i, p := range all {
		lock, err := Candidate(ctx, p, names[i])
		if err != nil {
			return contest.Sample{}, err
		}
		ready.Add(1)
		go func() {
			ready.Done()
			err := lock.Lock(ctx)
			elected <- election{time.Now(), err}
		}()
	}
	ready.Wait()
	settle(ctx)
	Chance(ctx, t.Dial.TTL)
	start := time.Now()
	if err := kill(); err != nil {
		return contest.Sample{}, fmt.Errorf("killing the leaders: %w", err)
	}
	var s contest.Sample
	for range leaders {
		select {
		case e := <-elected:
			if e.err != nil {
				return s, e.err
			}
			s.Ops++
			s.Latencies = append(s.Latencies, e.at.Sub(start))
		case <-ctx.Done():
			s.Partial = true
			s.Value, s.Worst, _ = inTTLs(s.Latencies, t.Dial.TTL)
			s.Seconds = time.Since(start).Seconds()
			s.Note = fmt.Sprintf("%d of %d had a successor within %v", s.Ops, leaders, time.Since(start).Round(time.Second))
			return s, nil
		}
	}
	s.Seconds = time.Since(start).Seconds()
	s.Value, s.Worst, s.Note = inTTLs(s.Latencies, t.Dial.TTL)
	return s, nil
}

// Chance waits for some part of a TTL: more than the time from one renewal to the next.
func Chance(ctx context.Context, ttl time.Duration) {
	select {
	case <-time.After(rand.N(ttl)):
	case <-ctx.Done():
	}
}

// inTTLs is the median of what successors took, the longest, and words that say how far
// they were apart.
func inTTLs(took []time.Duration, ttl time.Duration) (median, longest float64, spread string) {
	if len(took) == 0 {
		return 0, 0, ""
	}
	in := func(d time.Duration) float64 { return float64(d) / float64(ttl) }
	return in(stats.Quantile(took, 0.5)), in(slices.Max(took)), fmt.Sprintf("from %.2f to %.2f TTL", in(slices.Min(took)), in(slices.Max(took)))
}

// Candidate returns what a program can be elected by: its election or else its
// lock.
func Candidate(ctx context.Context, p contest.Program, key string) (contest.Locker, error) {
	if e, ok := p.(contest.Candidates); ok {
		return e.Candidate(ctx, key)
	}
	return p.Locker(ctx, key)
}

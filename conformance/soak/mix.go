package soak

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
)

// mix is what the programs of a round consist of: a part of what there is, chosen by
// the seed. What is rare when everything happens is frequent in some of the rounds,
// and what excuses others is missing in some.
type mix struct {
	recipes []Recipe // in the order in which they are waited for
	steps   []step   // what a holder does
	faults  []Fault  // nil: nothing fails
	entries []Fault  // that happen while others last
	workers []int    // goroutines of each client
	most    int      // steps of a holder
	briefly time.Duration
	long    int           // one hold in so many is kept for long
	bounded int           // one call in so many ends early
	fault   time.Duration // how long a fault lasts at the most
	delays  []time.Duration
}

// How long holders keep what they have: mostly so short that the line moves
// fast, now and then so long that faults meet them.
const longTTLs = 4 // at the most

// mixed chooses the mix of a round.
func (r *run) mixed(rng *rand.Rand, all []Fault) *mix {
	m := &mix{
		most:    1 + rng.IntN(4),
		briefly: pick(rng, time.Millisecond, 20*time.Millisecond, r.h.TTL/5),
		long:    pick(rng, 4, 12, 100),
		bounded: pick(rng, 2, 4, 10),
		fault:   pick(rng, r.h.TTL/8, r.h.TTL, longest*r.h.TTL),
	}
	m.recipes = some(rng, r.o.Recipes)
	m.steps = some(rng, steps)
	if rng.IntN(4) > 0 {
		m.faults, m.entries = some(rng, all), some(rng, r.entryFaults())
	}
	crowd := rng.IntN(8) == 0
	if crowd { // in one line, of one client
		m.recipes = []Recipe{pick(rng, m.recipes...)}
	}
	workers := 1 + rng.IntN(r.o.Workers)
	for i := range r.o.Clients {
		m.workers = append(m.workers, workers)
		m.delays = append(m.delays, pick(rng, 0, r.h.TTL/500, min(r.h.TTL/100, 10*time.Millisecond)))
		if crowd && i == 0 {
			m.workers[i], m.delays[i] = r.o.Crowd, r.h.TTL/500
		}
	}
	return m
}

// some chooses all, or each with a chance, but one at the least. The order stays.
func some[T any](rng *rand.Rand, all []T) (chosen []T) {
	if rng.IntN(3) == 0 || len(all) == 0 {
		return all
	}
	part := 1 + rng.IntN(3) // in four
	for _, one := range all {
		if rng.IntN(4) < part {
			chosen = append(chosen, one)
		}
	}
	if chosen == nil {
		chosen = append(chosen, pick(rng, all...))
	}
	return chosen
}

// pick chooses one.
func pick[T any](rng *rand.Rand, all ...T) T { return all[rng.IntN(len(all))] }

// well is how a client's link is without a fault. That of many has the latency of a
// network, which gives room for what happens in between.
func (r *run) well(c *client) {
	if c.link != nil && r.mix != nil && r.mix.delays[c.index] > 0 {
		c.link.Delay(netfault.Both, r.mix.delays[c.index])
	}
}

// UpTo returns a random time of at least a millisecond and about most at the
// most, for faults.
func UpTo(rng *rand.Rand, most time.Duration) time.Duration {
	return time.Millisecond + time.Duration(rng.Int64N(int64(max(most, time.Millisecond))))
}

// anyTime returns a random time up to most of which the short ones are as likely as
// the long ones: calls end within microseconds, milliseconds or seconds.
func anyTime(rng *rand.Rand, most time.Duration) time.Duration {
	const least = float64(20 * time.Microsecond)
	return time.Duration(least * math.Exp(rng.Float64()*math.Log(float64(most)/least)))
}

// Pause waits, unless ctx ends first, for faults.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select { // whichever comes first: the caller looks at ctx if it matters
	case <-timer.C:
	case <-ctx.Done():
	}
}

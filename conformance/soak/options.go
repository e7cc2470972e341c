package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coordkit/coordkit/conformance/harness"
)

// Options say how long and with what. The zero Options are a minute with all
// recipes and the faults that the harness can make.
type Options struct {
	Duration time.Duration // of all rounds together, without the time to settle; 0 is a minute
	Round    time.Duration // after which all is made well and judged; 0 is ten TTL of the harness
	Pause    time.Duration // between faults, at the most; 0 is half a TTL
	Seed     uint64        // of all choices; 0 is one by chance
	Clients  int           // 0 is 5
	Workers  int           // of each client, at the most; 0 is 3
	Crowd    int           // of one client, in rounds with a crowd; 0 is 24, or 80 if Exact
	Recipes  []Recipe      // nil is Recipes()
	Faults   []Fault       // of the store, beside those of the harness

	Namespace string // used by nobody before; empty is one that is made of the seed

	// Exact says that nothing is slow by itself, as in virtual time, so that
	// whatever takes time or fails without a fault breaks a promise.
	Exact bool
}

// Fault is something that happens to the store.
type Fault struct {
	// Name says what, as "leader killed".
	Name string

	// Do lets it happen, for a random time up to atMost if it has a duration,
	// and has put everything right when it returns, also when ctx has ended.
	Do func(ctx context.Context, rng *rand.Rand, atMost time.Duration) error
}

func (o Options) complete(h harness.Harness) Options {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&o.Duration, time.Minute)
	set(&o.Round, 10*h.TTL)
	set(&o.Pause, h.TTL/2)
	if o.Seed == 0 {
		o.Seed = rand.Uint64() | 1
	}
	if o.Clients == 0 {
		o.Clients = 5
	}
	if o.Workers == 0 {
		o.Workers = 3
	}
	if o.Namespace == "" {
		o.Namespace = fmt.Sprintf("soak/%x", o.Seed)
	}
	if o.Crowd == 0 {
		o.Crowd = 24
		if o.Exact {
			o.Crowd = 80
		}
	}
	if o.Recipes == nil {
		o.Recipes = Recipes()
	}
	return o
}

// late is how much later than it has to a call may return, or a loss be told.
// Drivers have 100 ms (rule B1); a busy machine takes more.
func (o Options) late() time.Duration {
	if o.Exact {
		return 100 * time.Millisecond
	}
	return 2 * time.Second
}

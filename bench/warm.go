package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/coordkit/coordkit/bench/servers"
	"github.com/coordkit/coordkit/bench/work"
)

// Java machines are slow at first, and three of them that share two processors are for
// minutes: locks then take four times as long as later.
const (
	longestWarmUp = 90 * time.Second
	warmRounds    = 3    // without gain, after which the servers are warm
	warmGain      = 1.05 // is more than chance
)

// warmUp has the servers work before anybody is measured: those of ZooKeeper for all
// sides in Go until they are not quicker any more, unless the run is short. What fails
// here shows when it counts.
func (v *venue) warmUp(ctx context.Context) {
	length := work.Length{Measured: 4 * time.Second, Linger: time.Second}
	if v.plan.short {
		length.Measured = 2 * time.Second
	}
	if v.plan.short || v.Name != servers.ZooKeeper {
		_, _ = work.Keys(32).Run(ctx, v.turn(v.floor(), "warm-up", length))
		return
	}
	length.Measured = time.Second
	var rates []float64
	for began := time.Now(); ctx.Err() == nil && !settled(rates) && time.Since(began) < longestWarmUp; {
		rate := 0.0
		for _, side := range v.sides {
			if side.Foreign != nil {
				continue
			}
			// Many at a time, for the servers to do much; and clients of each of them.
			_, _ = work.Keys(64).Run(ctx, v.turn(side, "warm-up", length))
			one, _ := work.Contention(8).Run(ctx, v.turn(side, "warm-up", length))
			rate += one.Rate()
		}
		rates = append(rates, rate)
		fmt.Fprintf(os.Stderr, "%s %d %s warm-up %d: %.0f\n", v.Name, v.members, v.network.Name(), len(rates), rate)
	}
}

// settled reports whether the last rounds have brought nothing.
func settled(rates []float64) bool {
	last := len(rates) - warmRounds
	return last > 0 && slices.Max(rates[last:]) < warmGain*slices.Max(rates[:last])
}

package main

import (
	"context"
	"slices"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/work"
)

// Java machines are slow at first, and three of them that share two processors are for
// minutes: locks then take four times as long as later.
const (
	longestWarmUp = 3 * time.Minute
	warmRounds    = 3    // without gain, after which the servers are warm
	warmGain      = 1.05 // is more than chance
)

// warmUp has the servers work before anybody is measured, until they are not quicker
// any more. A short run has no time for that.
func (v *venue) warmUp(ctx context.Context) error {
	length := work.Length{Measured: 2 * time.Second, Linger: time.Second}
	if v.plan.short {
		_, err := work.Keys(32).Run(ctx, v.turn(v.floor(), "warm-up", length))
		return err
	}
	var rates []float64
	for began := time.Now(); !settled(rates) && time.Since(began) < longestWarmUp; {
		rate := 0.0
		for _, side := range []contest.Side{v.floor(), v.sides[0]} {
			// Many at a time, for the servers to do much; and clients of each of them.
			if _, err := work.Keys(64).Run(ctx, v.turn(side, "warm-up", length)); err != nil {
				return err
			}
			one, err := work.Contention(8).Run(ctx, v.turn(side, "warm-up", length))
			if err != nil {
				return err
			}
			rate += one.Rate()
		}
		rates = append(rates, rate)
	}
	return nil
}

// settled reports whether the last rounds have brought nothing.
func settled(rates []float64) bool {
	last := len(rates) - warmRounds
	return last > 0 && slices.Max(rates[last:]) < warmGain*slices.Max(rates[:last])
}

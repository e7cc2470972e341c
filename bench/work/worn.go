package work

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/stats"
)

// wearers is how many use a lock that is to be worn: each program's entries have
// a name of their own in the store, or many.
const wearers = 50

// Worn is the latency of a lock that was locked many times, as a multiple of what
// it was at first.
func Worn() Case {
	return Case{Name: "worn", Kind: contest.Locks, Unit: "× of a new lock's latency", Less: true, Once: true, Value: true,
		About: "median latency of lock and unlock after many past locks of the key by 50 of one program, beside that of a new key", run: worn}
}

func worn(ctx context.Context, t Turn) (contest.Sample, error) {
	all, end, err := t.programs(ctx, 1)
	if err != nil {
		return contest.Sample{}, err
	}
	defer func() { _ = end() }() // nothing is held
	keys := []string{t.Key + "-worn", t.Key + "-new"}
	if t.Length.Worn, err = wear(ctx, t, all[0], keys[0]); err != nil {
		return contest.Sample{}, err
	}
	const sample = 500
	took, err := sampled(ctx, t, all[0], keys, sample)
	if err != nil {
		return contest.Sample{}, fmt.Errorf("after %d locks: %w", t.Length.Worn, err)
	}
	s := contest.Sample{Ops: sample, Latencies: took[0]}
	old, fresh := stats.Quantile(took[0], 0.5), stats.Quantile(took[1], 0.5)
	s.Value = float64(old) / float64(fresh)
	s.Note = fmt.Sprintf("after %d locks %v, of a new key %v", t.Worn, old.Round(time.Microsecond), fresh.Round(time.Microsecond))
	return s, nil
}

// sampled returns how long so many locks took of each of several keys, which have them
// in turns. Who was interrupted when a key was worn may have left an entry for which a
// lock waits for ever.
func sampled(ctx context.Context, t Turn, p contest.Program, keys []string, n int) ([][]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Most)
	defer cancel()
	var locks []contest.Locker
	var meters []*meter
	for _, key := range keys {
		lock, err := p.Locker(ctx, key)
		if err != nil {
			return nil, err
		}
		m := newMeter(1, 1)
		m.begin()
		locks, meters = append(locks, lock), append(meters, m)
	}
	for range n {
		for i, lock := range locks {
			if err := once(ctx, meters[i], 0, lock); err != nil {
				return nil, err
			}
		}
	}
	var took [][]time.Duration
	for _, m := range meters {
		took = append(took, m.result().Latencies)
	}
	return took, nil
}

// wear locks a key again and again, by many at a time, and returns how often.
func wear(ctx context.Context, t Turn, p contest.Program, key string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*t.Most)
	defer cancel()
	var wg sync.WaitGroup
	m := newMeter(wearers, 1)
	m.begin()
	failed := make(chan error, wearers)
	for who := range wearers {
		lock, err := p.Locker(ctx, key)
		if err != nil {
			return 0, err
		}
		wg.Go(func() {
			for range t.Worn / wearers {
				if err := once(ctx, m, who, lock); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all := make(chan struct{})
	go func() { wg.Wait(); close(all) }()
	select {
	case <-all:
	case <-ctx.Done():
		if !within(all, t.Most) { // not every lock knows a context
			return m.result().Ops, fmt.Errorf("somebody still waits for the lock: %w", context.Cause(ctx))
		}
	}
	done := m.result().Ops
	select {
	case err := <-failed:
		if ctx.Err() == nil {
			return done, err
		}
	default:
	}
	return done, nil
}

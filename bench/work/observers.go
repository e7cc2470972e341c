package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/stats"
)

// Observers is the time from a leader's proclamation to the last of its
// observers seeing it. They are of as many programs as given.
func Observers(observers, programs int) Case {
	return Case{Name: fmt.Sprintf("observers-%d", observers), Kind: contest.Observers, Unit: "ms", Less: true, Value: true,
		About: fmt.Sprintf("from a leader's proclaiming a value to the last of %d observers of %d programs seeing it", observers, programs),
		run: func(ctx context.Context, t Turn) (contest.Sample, error) {
			all, end, err := t.programs(ctx, programs+1)
			if err != nil {
				return contest.Sample{}, err
			}
			s, err := observe(ctx, t, all[0].(contest.Observed), all[1:], observers)
			return s, errors.Join(err, end())
		}}
}

func observe(ctx context.Context, t Turn, leader contest.Observed, programs []contest.Program, observers int) (contest.Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Most)
	defer cancel()
	proclaim, resign, err := leader.Lead(ctx, t.Key)
	if err != nil {
		return contest.Sample{}, err
	}
	watching, stop := context.WithCancel(ctx)
	c := audience{seen: make([]string, observers), changed: make(chan struct{}, 1)}
	var wg sync.WaitGroup
	failed := make(chan error, observers)
	for i := range observers {
		p := programs[i%len(programs)].(contest.Observed)
		wg.Go(func() {
			if err := p.Observe(watching, t.Key, func(v string) { c.see(i, v) }); watching.Err() == nil {
				failed <- fmt.Errorf("an observer ended: %w", err)
			}
		})
	}
	var s contest.Sample
	for n := range t.Changes + 1 {
		value := fmt.Sprint("value ", n)
		c.await(value)
		start := time.Now()
		if err = proclaim(ctx, value); err == nil {
			err = c.all(ctx, failed)
		}
		if err != nil {
			break
		}
		if n > 0 { // the first one shows that all observe
			s.Latencies = append(s.Latencies, c.last.Sub(start))
		}
	}
	stop()
	wg.Wait()
	if err == nil {
		err = resign(ctx)
	}
	s.Ops = len(s.Latencies)
	s.Value = float64(stats.Quantile(s.Latencies, 0.5)) / float64(time.Millisecond)
	return s, err
}

// audience is what the observers have seen.
type audience struct {
	mu      sync.Mutex
	want    string
	seen    []string
	lack    int // how many have not seen it
	last    time.Time
	changed chan struct{} // one may be waiting in it
}

func (c *audience) await(value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want, c.lack = value, len(c.seen)
}

func (c *audience) see(who int, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if value == c.want && c.seen[who] != value {
		c.seen[who] = value
		if c.lack--; c.lack == 0 {
			c.last = time.Now()
			c.changed <- struct{}{}
		}
	}
}

// all returns when everybody has seen what is awaited.
func (c *audience) all(ctx context.Context, failed <-chan error) error {
	select {
	case <-c.changed:
		return nil
	case err := <-failed:
		return err
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		return fmt.Errorf("%d of %d observers did not see %q: %w", c.lack, len(c.seen), c.want, ctx.Err())
	}
}

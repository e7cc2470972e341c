package peers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/foreign"
)

// workers are the processes of a library of another language. The one on the way to
// the servers that was asked for first is kept, since it takes time to become fast.
// Other ways, on which requests are counted, are gone after the case, and a worker
// that was left would try to get back to the servers for ever, at everybody's cost.
type workers struct {
	start func(ctx context.Context, servers []string) (*foreign.Peer, error)

	mu   sync.Mutex
	way  string        // the first
	kept *foreign.Peer // may be nil
	warm map[string]bool
}

// abroad is a side whose locks are such a library's.
func abroad(name string, start func(ctx context.Context, servers []string) (*foreign.Peer, error)) contest.Side {
	w := &workers{start: start, warm: make(map[string]bool)}
	return contest.Side{Name: name, Kinds: []contest.Kind{contest.Locks}, Foreign: w.run, Close: w.close}
}

func (w *workers) run(ctx context.Context, d contest.Dial, c contest.ForeignCase) (_ contest.Sample, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	way := strings.Join(d.Servers, ",")
	if w.way == "" {
		w.way = way
	}
	p := w.kept
	if p == nil || way != w.way {
		if p, err = w.start(ctx, d.Servers); err != nil {
			return contest.Sample{}, err
		}
	}
	s, err := w.measure(ctx, p, way, c)
	if err == nil && way == w.way {
		w.kept = p
		return s, nil
	}
	if w.kept == p { // it may have ended
		w.kept = nil
	}
	return s, errors.Join(err, p.Close())
}

// measure runs a case twice, the first time to warm up: a line that is drained
// only when it is new.
func (w *workers) measure(ctx context.Context, p *foreign.Peer, way string, c contest.ForeignCase) (contest.Sample, error) {
	asked := foreign.Case{Name: c.Name, Clients: c.Clients, Waiters: c.Waiters, Keys: c.Keys, Seconds: c.Warm}
	if name := fmt.Sprint(way, c.Name, c.Clients, c.Keys); c.Name != foreign.Drain || !w.warm[name] {
		if _, err := p.Run(ctx, asked); err != nil {
			return contest.Sample{}, err
		}
		w.warm[name] = true
	}
	asked.Seconds = c.Seconds
	c.Begin()
	r, err := p.Run(ctx, asked)
	c.End()
	if err != nil {
		return contest.Sample{}, err
	}
	s := contest.Sample{Ops: r.Ops, Seconds: r.Seconds, Latencies: durations(r.LatenciesMicros), Handoffs: durations(r.HandoffMicros)}
	if c.Name == foreign.Contention {
		s.PerClient = r.PerClientOps
	}
	return s, nil
}

func durations(micros []int64) []time.Duration {
	var all []time.Duration
	for _, us := range micros {
		all = append(all, time.Duration(us)*time.Microsecond)
	}
	return all
}

func (w *workers) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kept == nil {
		return nil
	}
	err := w.kept.Close()
	w.kept = nil
	return err
}

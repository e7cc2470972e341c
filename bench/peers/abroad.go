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

// workers are the processes of a library of another language, one for each way
// to the servers. They are kept, since it takes them time to become fast.
type workers struct {
	start func(ctx context.Context, servers []string) (*foreign.Peer, error)

	mu   sync.Mutex
	all  map[string]*foreign.Peer // by servers
	warm map[string]bool          // by servers and case
}

// abroad is a side whose locks are such a library's.
func abroad(name string, start func(ctx context.Context, servers []string) (*foreign.Peer, error)) contest.Side {
	w := &workers{start: start, all: make(map[string]*foreign.Peer), warm: make(map[string]bool)}
	return contest.Side{Name: name, Kinds: []contest.Kind{contest.Locks}, Foreign: w.run, Close: w.close}
}

func (w *workers) run(ctx context.Context, d contest.Dial, c contest.ForeignCase) (contest.Sample, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	way := strings.Join(d.Servers, ",")
	p := w.all[way]
	if p == nil {
		var err error
		if p, err = w.start(ctx, d.Servers); err != nil {
			return contest.Sample{}, err
		}
		w.all[way] = p
	}
	s, err := w.measure(ctx, p, way, c)
	if err != nil { // and the worker may have ended
		delete(w.all, way)
		err = errors.Join(err, p.Close())
	}
	return s, err
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
	var errs []error
	for way, p := range w.all {
		errs = append(errs, p.Close())
		delete(w.all, way)
	}
	return errors.Join(errs...)
}

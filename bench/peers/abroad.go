package peers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/foreign"
	"github.com/coordkit/coordkit/bench/work"
	"github.com/coordkit/coordkit/internal/testserver"
)

// workers are the processes of a library of another language. The one on the way to
// the servers that was asked for first is kept, since it takes time to become fast.
// Other ways, on which requests are counted, are gone after the case, and a worker
// that was left would try to get back to the servers for ever, at everybody's cost.
type workers struct {
	start startForeign

	mu      sync.Mutex
	way     string        // the first
	kept    *foreign.Peer // may be nil
	version string        // of the first
	warm    map[string]bool
}

// startForeign starts a worker of the library that is to connect to the servers.
type startForeign func(ctx context.Context, servers []string, tls *testserver.TLSFiles) (*foreign.Peer, error)

// abroad is a side whose locks are such a library's.
func abroad(name string, start startForeign, lacks map[contest.Kind]string) contest.Side {
	w := &workers{start: start, warm: make(map[string]bool)}
	return contest.Side{
		Name:    name,
		Kinds:   []contest.Kind{contest.Locks, contest.Elections, contest.Permits, contest.ReadWrites},
		Lacks:   lacks,
		Foreign: w.run,
		Close:   w.close,
		Version: func() string { w.mu.Lock(); defer w.mu.Unlock(); return w.version },
	}
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
		if p, err = w.start(ctx, d.Servers, d.TLS); err != nil {
			return contest.Sample{}, err
		}
		w.version = p.Version
		if way == w.way {
			if err := w.exercise(ctx, p, d, c); err != nil {
				return contest.Sample{}, errors.Join(err, p.Close())
			}
		}
	}
	var s contest.Sample
	if c.Name == contest.Failover {
		s, err = w.failover(ctx, p, d, c)
	} else {
		s, err = w.measure(ctx, p, d, c)
	}
	if err == nil && way == w.way {
		w.kept = p
		return s, nil
	}
	if w.kept == p { // it may have ended
		w.kept = nil
	}
	return s, errors.Join(err, p.Close())
}

// exercise has a worker that has just been started work for some seconds, as long as
// the servers: a Java machine takes thousands of locks to become fast.
func (w *workers) exercise(ctx context.Context, p *foreign.Peer, d contest.Dial, c contest.ForeignCase) error {
	_, err := p.Run(ctx, foreign.Case{Name: foreign.Keys, Session: d.TTL, Clients: 1, Keys: 32, Seconds: 12 * c.Warm})
	return err
}

// measure runs a case twice, the first time to warm up: a line that is drained
// only when it is new.
func (w *workers) measure(ctx context.Context, p *foreign.Peer, d contest.Dial, c contest.ForeignCase) (contest.Sample, error) {
	asked := foreign.Case{Name: c.Name, Session: d.TTL, Clients: c.Clients, Waiters: c.Waiters, Keys: c.Keys, Limit: c.Limit, Seconds: c.Warm}
	if name := fmt.Sprint(d.Servers, c.Name, c.Clients, c.Keys); c.Name != foreign.Drain || !w.warm[name] {
		if _, err := p.Run(ctx, asked); err != nil {
			return contest.Sample{}, err
		}
		w.warm[name] = true
	}
	asked.Seconds, asked.Begin = c.Seconds, c.Begin
	r, err := p.Run(ctx, asked)
	c.End()
	if err != nil {
		return contest.Sample{}, err
	}
	s := contest.Sample{Ops: r.Ops, Seconds: r.Seconds, Latencies: durations(r.LatenciesMicros), Handoffs: durations(r.HandoffMicros)}
	switch c.Name {
	case foreign.Contention:
		s.PerClient = r.PerClientOps
	case foreign.Semaphore, foreign.ReadWrite:
		s.PerClient = r.PerClientOps
		s.Handoffs = nil // of several holders it is not known who made room for whom
	}
	return s, nil
}

// failover kills leaders, who have a process of their own, and tells how long it took
// until those of p were elected.
func (w *workers) failover(ctx context.Context, p *foreign.Peer, d contest.Dial, c contest.ForeignCase) (s contest.Sample, err error) {
	leaders, err := w.start(ctx, d.Servers, d.TLS)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, leaders.Close()) }()
	asked := foreign.Case{Name: foreign.Lead, Session: d.TTL, Clients: c.Clients, Path: "/failover-" + rand.Text()}
	if _, err := leaders.Run(ctx, asked); err != nil {
		return s, err
	}
	type outcome struct {
		foreign.Result
		err error
	}
	elected := make(chan outcome, 1)
	asked.Name = foreign.Follow
	go func() {
		r, err := p.Run(ctx, asked)
		elected <- outcome{r, err}
	}()
	for i := range c.Clients {
		if err := standing(ctx, d, fmt.Sprintf("%s/%d", asked.Path[1:], i), 2, elected); err != nil {
			return s, err
		}
	}
	work.Chance(ctx, d.TTL)
	start := time.Now()
	if err := leaders.Close(); err != nil {
		return s, err
	}
	o := <-elected
	for _, at := range o.ElectedMicros {
		s.Ops++
		s.Latencies = append(s.Latencies, time.UnixMicro(at).Sub(start))
	}
	return s, o.err
}

// standing waits until n stand in the line of a key, or until what has been begun
// has ended too early.
func standing[T any](ctx context.Context, d contest.Dial, key string, n int, early chan T) error {
	for {
		all, err := zkStanding(ctx, d, key)
		if err != nil || all >= n {
			return err
		}
		select {
		case o := <-early:
			return fmt.Errorf("the followers have ended while there were leaders: %+v", o)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
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

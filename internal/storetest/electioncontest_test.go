package storetest

import (
	"context"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

const (
	candidates = 4  // processes
	observers  = 50 // over the clients of
	followers  = 5  // programs
)

// contest is an election of processes, with those who follow it.
type contest struct {
	t         *testing.T
	ctx       context.Context
	s         *store
	name      string
	election  *election.Election // for looks at the line
	knows     func(i int) []string
	running   []*process
	following sync.WaitGroup

	mu        sync.Mutex
	changed   sync.Cond // tells of each change of what follows
	terms     []*reign
	observers []*observer
}

// reign is a term with whose it is and what was done to that.
type reign struct {
	term
	by             *process
	killed, frozen bool
}

// newContest starts an election with observers on clients and with candidates,
// of which the i-th is given the endpoints that knows returns.
func newContest(t *testing.T, s *store, name string, clients []*coord.Client, knows func(i int) []string) *contest {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	c := &contest{t: t, ctx: ctx, s: s, name: name, knows: knows, election: election.New(clients[0], name)}
	c.changed.L = &c.mu
	t.Cleanup(func() {
		cancel()
		c.following.Wait()
	})
	for i := range observers {
		c.follow(election.New(clients[i%len(clients)], name))
	}
	for i := range candidates {
		c.start(i)
	}
	return c
}

// start starts the i-th candidate.
func (c *contest) start(i int) {
	c.t.Helper()
	p := startProcess(c.t, "candidate", c.name, c.s.url(hosts(c.knows(i)...)...), c.s.ttl, func(p *process, ends pipes) error {
		return hearTerms(ends, func(told term) { c.hear(p, told) })
	})
	if i == len(c.running) {
		c.running = append(c.running, nil)
	}
	c.running[i] = p
}

// hear takes what a candidate tells.
func (c *contest) hear(p *process, told term) {
	c.note(func() {
		i := slices.IndexFunc(c.terms, func(r *reign) bool { return r.Token == told.Token })
		switch {
		case i < 0 && !told.Over:
			c.terms = append(c.terms, &reign{term: told, by: p})
		case i >= 0 && told.Over && c.terms[i].by == p && !c.terms[i].Over:
			c.terms[i].term = told
		default:
			c.t.Errorf("candidate %d tells of %+v; known: %s", p.Pid, told, c.state())
		}
	})
}

// note changes what await looks at.
func (c *contest) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	c.changed.Broadcast()
}

// await waits until holds, which is called with the lock held.
func (c *contest) await(what string, holds func() bool) {
	c.t.Helper()
	stop := context.AfterFunc(c.ctx, func() { c.note(func() {}) })
	defer stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !holds() {
		if c.ctx.Err() != nil {
			c.t.Fatalf("%v before %s; %s", c.ctx.Err(), what, c.state())
		}
		c.changed.Wait()
	}
}

// replace starts another candidate in the place of one that was killed.
func (c *contest) replace(p *process) {
	c.t.Helper()
	<-p.done
	if err := p.complaint(); err != nil {
		c.t.Error(err)
	}
	c.start(slices.Index(c.running, p))
}

// stop ends the candidates as services are ended.
func (c *contest) stop() {
	c.t.Helper()
	for _, p := range c.running {
		must(c.t, "stopping a candidate", p.Signal(syscall.SIGTERM))
	}
	for _, p := range c.running {
		select {
		case <-p.done:
		case <-c.ctx.Done():
			c.t.Fatalf("candidate %d does not end", p.Pid)
		}
		if p.err != nil {
			c.t.Errorf("candidate %d ended with %v", p.Pid, p.err)
		}
		if err := p.complaint(); err != nil {
			c.t.Error(err)
		}
	}
}

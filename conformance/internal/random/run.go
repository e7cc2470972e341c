package random

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance/harness"
	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/coord/driver"
)

// Run makes a program run, in directories whose names begin with prefix, and returns
// what happened. The error says that the store could not be reached without a fault,
// or that the harness failed.
//
// When the waves are over all faults are ended, and Run waits for what must happen
// then: late requests have landed, nodes of sessions that have ended are gone, waits
// for what is gone return, watches show what is there.
func Run(ctx context.Context, st Store, p Program, prefix string) (*model.History, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{
		st: st, p: p, prefix: prefix, ctx: ctx, start: time.Now(),
		sessions: make(map[int]*session), nodes: make(map[int]driver.Node), lists: make(map[int][]driver.Node),
		busy: make(map[string]chan struct{}),
	}
	for _, wave := range p.Waves {
		for _, s := range wave {
			r.last = max(r.last, s.ID)
		}
	}
	r.waits, r.quit = context.WithCancel(ctx)
	r.h.TTL = st.TTL
	for i := range p.Dirs {
		r.h.Dirs = append(r.h.Dirs, r.dir(Step{Dir: i}))
	}
	if err := r.open(); err != nil {
		r.close()
		return nil, err
	}
	for _, wave := range p.Waves {
		r.wave(wave)
		if r.broken() {
			break
		}
	}
	if !r.broken() {
		r.settle()
	}
	cancel()
	r.close()
	h := r.finish()
	return h, r.failed
}

// run is a program under way.
type run struct {
	st      Store
	p       Program
	prefix  string
	ctx     context.Context
	start   time.Time
	cancels []context.CancelFunc // for what the connections were opened under
	conns   []*client            // the first has no link, and no session
	waits   context.Context      // of what stays
	quit    context.CancelFunc

	background sync.WaitGroup // what stays

	mu       sync.Mutex
	h        model.History
	stamp    model.Stamp
	last     int                   // the ID of the last step, for those at the end
	sessions map[int]*session      // by the number that the program gives them
	nodes    map[int]driver.Node   // returned, by step
	lists    map[int][]driver.Node // likewise
	kept     []kept
	busy     map[string]chan struct{} // held by the Create or Abandon of a slot
	quitAt   time.Duration            // when quit was called
	ended    bool                     // what returns from now on is not recorded
	hopeless bool                     // a call hangs
	failed   error                    // of the harness
}

// client is a connection, with its link if it has one.
type client struct {
	conn    driver.Conn
	link    harness.Link
	broken  bool // by a fault that is in force
	release func()
	since   time.Time // when the last fault began or ended
}

// open connects.
func (r *run) open() error {
	for _, linked := range r.p.Links {
		c := &client{since: r.start}
		ctx, cancel := context.WithCancel(r.ctx)
		r.cancels = append(r.cancels, cancel)
		var err error
		if linked {
			c.conn, c.link, err = r.st.OpenLink(ctx, r.st.Namespace)
		} else {
			c.conn, err = r.st.Open(ctx, r.st.Namespace)
		}
		if r.p.Seed%2 == 0 { // it bounds the opening only (B2)
			cancel()
		}
		if err != nil {
			return fmt.Errorf("opening a connection: %w", err)
		}
		r.conns = append(r.conns, c)
	}
	r.h.Caps = r.conns[0].conn.Caps()
	return nil
}

// close closes what is open. Of a call that hangs nothing is waited for.
func (r *run) close() {
	for _, cancel := range r.cancels {
		cancel()
	}
	for _, c := range r.conns {
		if c.link != nil {
			_ = c.link.Heal() // it failed the run before, if it fails
		}
		_ = c.conn.Close()
		if l, ok := c.link.(io.Closer); ok {
			_ = l.Close() // of no interest any more
		}
	}
}

// wave runs steps at the same time, until they have returned.
func (r *run) wave(steps []Step) {
	var running sync.WaitGroup
	for _, s := range steps {
		group := &running
		if s.Stays && s.Op != model.OpenSession {
			group = &r.background
		}
		group.Go(func() {
			r.sleep(s.After)
			r.step(s)
		})
	}
	if !r.wait(&running, 4*r.st.TTL+10*time.Second) {
		r.hang("it has not returned")
	}
}

// wait waits for a group for a while, and reports whether it has ended.
func (r *run) wait(group *sync.WaitGroup, d time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		group.Wait()
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select { // if both are ready it was in time
	case <-done:
		return true
	case <-timer.C:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// hang notes what has not returned, but for what stays, and ends the program.
func (r *run) hang(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hopeless = true
	for _, c := range r.h.Calls {
		if c.End == 0 && !r.stays(c) && c.Missing == "" {
			c.Missing, c.Lacks = what, "B1"
		}
	}
}

func (r *run) stays(c *model.Call) bool {
	return c.Op == model.Watch || c.Op == model.WaitDelete || c.Op == model.WaitAny
}

// broken reports whether it is of no use to go on.
func (r *run) broken() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hopeless || r.failed != nil || r.ctx.Err() != nil
}

// fails notes that the harness has failed.
func (r *run) fails(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
}

// sleep lets time pass, or less if ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select { // if both are ready it is all the same
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (r *run) sleep(d time.Duration) { sleep(r.ctx, d) }

func (r *run) now() time.Duration { return time.Since(r.start) }

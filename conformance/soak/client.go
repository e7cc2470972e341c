package soak

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance/harness"
	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// client is a program of its own.
type client struct {
	*coord.Client
	name    string
	index   int
	link    harness.Link    // nil: it cannot be broken
	life    context.Context // ends when it is killed
	end     context.CancelFunc
	workers sync.WaitGroup

	mu   sync.Mutex
	own  *coord.Session           // which some of the workers use
	runs map[string]*atomic.Int32 // functions of services that run, by recipe

	looks     []look
	onlookers sync.WaitGroup
}

// open opens the client of that number. Its session is opened too, for a program
// learns at its start whether it has a store.
func (r *run) open(ctx context.Context, i int) error {
	c := &client{index: i, name: r.nameOf(i)}
	brief, cancel := context.WithTimeout(ctx, r.patience()) // which bounds the opening and nothing else
	defer cancel()
	conn, link, err := r.dial(brief)
	if err != nil {
		return fmt.Errorf("opening a connection: %w", err)
	}
	c.link = link
	r.well(c)
	c.Client, err = coord.New(conn, coord.Config{SessionTTL: coord.Duration(r.h.TTL), Owner: coord.Owner{Name: c.name}})
	if err != nil {
		_ = conn.Close() // the other error is the news
		return err
	}
	c.life, c.end = context.WithCancel(ctx)
	r.onlook(c)
	if i < len(r.clients) {
		r.clients[i] = c
	} else {
		r.clients = append(r.clients, c)
	}
	if _, err := c.Session(ctx); err != nil {
		return fmt.Errorf("opening a session: %w", err)
	}
	return nil
}

// nameOf names a client: "A", and after it was killed "A2".
func (r *run) nameOf(i int) string {
	letter := string(rune('A' + i))
	if i >= len(r.clients) {
		return letter
	}
	var n int
	if _, err := fmt.Sscanf(r.clients[i].name, letter+"%d", &n); err != nil {
		n = 1
	}
	return fmt.Sprintf("%s%d", letter, n+1)
}

func (r *run) dial(ctx context.Context) (conn driver.Conn, link harness.Link, err error) {
	if r.h.OpenLink != nil {
		return r.h.OpenLink(ctx, r.ns)
	}
	conn, err = r.h.Open(ctx, r.ns)
	return conn, nil, err
}

// sequence numbers the sequences of choices of a run's workers.
func sequence(client string, round, worker int) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, client, ".", worker, ".", round)
	return h.Sum64()
}

// employ lets the client's workers work, until stop is closed or it is killed.
// ctx is that of the calls.
func (r *run) employ(ctx context.Context, c *client, stop <-chan struct{}) {
	for j := range r.mix.workers[c.index] {
		// Every worker of every round and life has a sequence of its own.
		rng := rand.New(rand.NewPCG(r.o.Seed, sequence(c.name, r.result.Rounds, j)))
		w := &worker{run: r, mix: r.mix, client: c, name: fmt.Sprintf("%s.%d", c.name, j), own: rng.IntN(5) == 0, rng: rng, stop: stop}
		c.workers.Go(func() {
			calls, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(c.life, cancel)()
			w.work(calls)
		})
	}
}

// ownSession is a session that the client's recipes do not share, or nil if there is
// none to be had.
func (c *client) ownSession(ctx context.Context) *coord.Session {
	c.mu.Lock()
	own := c.own
	c.mu.Unlock()
	if own != nil && own.Err() == nil {
		return own
	}
	own, err := c.NewSession(ctx, 0)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own = own // of several that were opened at a time one stays in use
	return own
}

// running counts the functions of services that run with a recipe.
func (c *client) running(recipe string) *atomic.Int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs == nil {
		c.runs = make(map[string]*atomic.Int32)
	}
	if c.runs[recipe] == nil {
		c.runs[recipe] = new(atomic.Int32)
	}
	return c.runs[recipe]
}

// kill kills a client, as SIGKILL kills a program. What it has left behind in the
// store is there until it expires.
func (r *run) kill(c *client, rng *rand.Rand) {
	defer r.history.Trouble(c.name, "killed")()
	r.history.Killed(c.name)
	if rng.IntN(2) == 0 {
		c.link.Cut()
	} else {
		c.link.Freeze(netfault.Both)
	}
	c.end()
	r.ended("a call of a recipe", &c.workers)
	r.ended("a watch of "+c.name, &c.onlookers)
	limit := r.h.TTL / 5
	brief, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	began := time.Now()
	_ = c.Close(brief) // the store cannot be reached
	if took := time.Since(began); took > limit+r.o.late() {
		r.history.Violated(history.Closing, "", "closing client %s, which cannot reach the store, took %v", c.name, took)
	}
	closeLink(c.link)
}

// closeClient closes a client, which may be in use, as programs do at their end.
func (r *run) closeClient(c *client) {
	ctx, cancel := context.WithTimeout(context.Background(), r.patience())
	defer cancel()
	r.history.Closing(c.name)
	if err := c.Close(ctx); err != nil {
		r.history.Violated(history.Closing, "", "closing client %s: %v", c.name, err)
	}
	if !finished(ctx, &c.onlookers) {
		r.history.Violated(history.Closing, "", "client %s is closed, and it still watches", c.name)
	}
	c.end() // what Close has not ended
	r.ended("a watch of "+c.name, &c.onlookers)
	closeLink(c.link)
}

// closeSession closes the session of a client while it is in use: nothing of it
// may be left in the store, and the client goes on with another.
func (r *run) closeSession(ctx context.Context, c *client) error {
	s, err := c.Session(ctx)
	if err != nil {
		return err
	}
	r.history.ClosingSession(c.name)
	// The calm that follows is no reason to give up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.patience())
	defer cancel()
	for range 2 { // closing again changes nothing
		if err := s.Close(ctx); err != nil {
			r.history.Violated(history.Closing, "", "%s closes its session: %v", c.name, err)
		}
	}
	for _, recipe := range r.o.Recipes {
		nodes, err := r.observer.List(ctx, recipe.Dir)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if n.Session == s.ID() {
				r.history.Violated(history.Closing, recipe.Name, "%s has closed its session, and its entry %s is still there", c.name, n.Key)
			}
		}
	}
	return nil
}

// ended waits for goroutines whose ctx has ended. Calls that ignore their ctx must not
// stop the run, which has to tell of them.
func (r *run) ended(what string, all *sync.WaitGroup) {
	ctx, cancel := context.WithTimeout(context.Background(), r.patience())
	defer cancel()
	if !finished(ctx, all) {
		r.history.Violated(history.Deadline, "", "%s has not returned %v after its ctx ended", what, r.patience())
	}
}

// finished waits until goroutines have ended, or ctx has.
func finished(ctx context.Context, all *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }() // stays only if they never end
	select {                                // if both are ready they have ended late
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

func closeLink(l harness.Link) {
	if l, ok := l.(io.Closer); ok {
		_ = l.Close() // of no interest any more
	}
}

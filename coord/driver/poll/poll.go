package poll

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/sessions"
)

// Question is what the connection's goroutines wait for.
type Question struct {
	Nodes []driver.Node // each once
	Dirs  []string      // each once
}

// Answer is what the store says to a Question.
type Answer struct {
	// Gone holds the indexes of the nodes in Question.Nodes that do not exist any more.
	Gone []int

	// Stamps has a stamp for each directory in Question.Dirs, in the same order. The stamp
	// of a directory is another one after each change in it.
	Stamps []string

	// Expired: a session is due that one of the nodes or directories belongs to. If it still
	// is after Reap, as others have it locked, the Poll looks at its own pace.
	Expired bool

	// Next is how long it takes until the next such session is due. 0 is not known.
	Next time.Duration
}

// Look asks the store once. It classifies its errors as attempt.Op.Do does. After one that
// is driver.Transient the Poll looks again, more and more rarely, up to once a second. Any
// other error ends the waits that were asked for.
type Look func(ctx context.Context, q Question) (Answer, error)

// Config describes a Poll. Store, Keeper and Look are required.
type Config struct {
	Store  string           // the scheme of the store
	Keeper *sessions.Keeper // runs the goroutine
	Look   Look

	// Reap deletes the sessions that are due, with their nodes. nil: the store does.
	Reap func(ctx context.Context) error

	// Shortest and Longest bound the pause between two looks. Zero is 2 ms and 100 ms.
	Shortest, Longest time.Duration
}

// Poll serves the waits and watches of one connection. Its methods are safe for concurrent
// use.
type Poll struct {
	cfg   Config
	kick  chan struct{} // has one: something was added since the last look
	lists atomic.Uint64 // that were begun

	mu       sync.Mutex
	running  bool
	longest  time.Duration
	watching bool      // the last look was for a directory too
	active   time.Time // when something happened last
	waits    map[*wait]struct{}
}

// New returns the poll of a connection.
func New(cfg Config) *Poll {
	if cfg.Shortest == 0 {
		cfg.Shortest = 2 * time.Millisecond
	}
	if cfg.Longest == 0 {
		cfg.Longest = 100 * time.Millisecond
	}
	return &Poll{cfg: cfg, kick: make(chan struct{}, 1), longest: cfg.Longest, waits: make(map[*wait]struct{})}
}

// Relax sets the longest pause while no directory is watched: what a store tells by itself
// are deletions. Zero is Config.Longest.
func (p *Poll) Relax(longest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.longest = longest; longest == 0 {
		p.longest = p.cfg.Longest
	}
}

// Soon makes the Poll look as soon as Config.Shortest allows, and often from then on.
func (p *Poll) Soon() {
	p.mu.Lock()
	p.active = time.Now()
	p.mu.Unlock()
	p.look()
}

// look ends the pause before the next look.
func (p *Poll) look() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// run looks for as long as anybody waits.
func (p *Poll) run() {
	ctx := p.cfg.Keeper.Life()
	expired := false // in the last answer
	for failures := 0; ; {
		select {
		case <-p.kick: // this look is for it
		default:
		}
		asked := p.asked()
		if asked == nil {
			return
		}
		began := time.Now()
		answer, err := p.cfg.Look(ctx, asked.question)
		if ctx.Err() != nil {
			p.stop(context.Cause(ctx))
			return
		}
		switch {
		case err == nil:
			p.answered(asked, answer)
			if answer.Expired && p.cfg.Reap != nil {
				err = p.cfg.Reap(ctx)
			}
		case !driver.Transient(err):
			p.end(asked.waits(), err)
		}
		if failures++; err == nil || !driver.Transient(err) {
			failures = 0
		}
		last := expired
		expired = answer.Expired
		answer.Expired = expired && !last // what cannot be reaped is not tried all the time
		p.pause(ctx, began, failures, answer)
	}
}

// pause waits until the next look is due.
func (p *Poll) pause(ctx context.Context, began time.Time, failures int, a Answer) {
	// A slow store is not asked all the time.
	least := max(p.cfg.Shortest, min(time.Since(began), p.cfg.Longest))
	wait := p.quiet()
	switch {
	case failures > 0:
		wait = min(20*time.Millisecond<<min(failures, 10), time.Second)
		wait = wait/2 + rand.N(wait/2)
		least = wait
	case a.Expired:
		wait = p.cfg.Shortest
	case a.Next > 0:
		wait = min(wait, a.Next)
	}
	timer := time.NewTimer(max(wait, least))
	defer timer.Stop()
	select {
	case <-timer.C:
		return
	case <-ctx.Done():
		return
	case <-p.kick:
		p.look() // it is for the next look
	}
	timer.Reset(least)
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// quiet returns the pause that fits the time for which nothing has happened.
func (p *Poll) quiet() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	longest := p.longest
	if p.watching {
		longest = p.cfg.Longest
	}
	return min(max(time.Since(p.active)/8, p.cfg.Shortest), longest)
}

// inquiry is a question with those who asked it.
type inquiry struct {
	question Question
	nodes    [][]place // by index of Question.Nodes
	dirs     [][]*wait // by index of Question.Dirs
}

// place is a node of a wait.
type place struct {
	wait  *wait
	index int
}

func (q *inquiry) waits() (all []*wait) {
	for _, places := range q.nodes {
		for _, place := range places {
			all = append(all, place.wait)
		}
	}
	for _, waits := range q.dirs {
		all = append(all, waits...)
	}
	return all
}

// identity is what makes two nodes the same (see driver.Node.Same).
type identity struct {
	key   string
	token uint64
}

// asked collects what is waited for. It returns nil, and the goroutine ends, if that is
// nothing.
func (p *Poll) asked() *inquiry {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waits) == 0 {
		p.running = false
		return nil
	}
	q := new(inquiry)
	nodes, dirs := make(map[identity]int), make(map[string]int)
	for w := range p.waits {
		for i, n := range w.nodes {
			at, known := nodes[identity{n.Key, n.Token}]
			if !known {
				at = len(nodes)
				nodes[identity{n.Key, n.Token}] = at
				q.question.Nodes, q.nodes = append(q.question.Nodes, n), append(q.nodes, nil)
			}
			q.nodes[at] = append(q.nodes[at], place{w, i})
		}
		if w.dir == "" {
			continue
		}
		at, known := dirs[w.dir]
		if !known {
			at = len(dirs)
			dirs[w.dir] = at
			q.question.Dirs, q.dirs = append(q.question.Dirs, w.dir), append(q.dirs, nil)
		}
		q.dirs[at] = append(q.dirs[at], w)
	}
	p.watching = len(dirs) > 0
	return q
}

// answered ends the waits that an answer ends.
func (p *Poll) answered(q *inquiry, a Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range a.Gone {
		for _, place := range q.nodes[i] {
			p.endLocked(place.wait, place.index, nil)
		}
	}
	for i, stamp := range a.Stamps {
		for _, w := range q.dirs[i] {
			if w.stamp != stamp {
				p.endLocked(w, 0, nil)
			}
		}
	}
}

// end ends waits with an error.
func (p *Poll) end(waits []*wait, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range waits {
		p.endLocked(w, 0, err)
	}
}

// stop ends all waits, as the goroutine ends.
func (p *Poll) stop(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = false
	for w := range p.waits {
		p.endLocked(w, 0, err)
	}
}

func (p *Poll) endLocked(w *wait, gone int, err error) {
	if _, waiting := p.waits[w]; !waiting {
		return
	}
	delete(p.waits, w)
	w.gone, w.err = gone, err
	close(w.ended)
	p.active = time.Now()
}

// errNothing: a wait for nothing.
var errNothing = errors.New("no nodes to wait for")

package history

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Kind says what may be held together with what.
type Kind string

// The kinds of holds. Holds of different objects never conflict.
const (
	Exclusive Kind = "exclusive" // a mutex, a leadership, a lock for writing: with nothing else
	Shared    Kind = "shared"    // a lock for reading: with others of its kind
	Permits   Kind = "permits"   // of a semaphore: with others up to the object's limit
)

// Hold is what an acquire gave: of package coord's Hold, what is judged.
type Hold interface {
	Context() context.Context
	Token() uint64
}

// Options say what to expect of time.
type Options struct {
	// TTL is that of the clients' sessions: how long a loss may take to be told.
	TTL time.Duration

	// Late is how much later than it has to a call may return, or a loss be
	// told: what the contract grants and what a busy machine adds.
	Late time.Duration

	// Exact says that nothing is slow or fails but for a fault that the history
	// was told of, as in virtual time.
	Exact bool
}

// History is what happened. It is safe for concurrent use.
type History struct {
	o     Options
	start time.Time

	mu         sync.Mutex
	step       int // counts what was recorded
	log        []event
	violations []Violation
	excused    []Violation
	broken     chan struct{} // closed with the first violation
	objects    map[string]*object
	open       map[*Op]struct{}         // called, and neither failed nor released
	ending     map[string]*excuse       // by session
	lastEnding map[string]time.Duration // of a session, by client
	troubles   map[string][]trouble     // by client, "" for all
	killed     map[string]bool          // clients
	closing    map[string]bool          // clients that closed their session, or are closed
	closed     map[string]bool          // clients
	mayEnd     string                   // why the store may end any session, if it may
	counts     Counts
}

// New begins a history.
func New(o Options) *History {
	return &History{
		o:          o,
		start:      time.Now(),
		broken:     make(chan struct{}),
		objects:    make(map[string]*object),
		open:       make(map[*Op]struct{}),
		ending:     make(map[string]*excuse),
		lastEnding: make(map[string]time.Duration),
		troubles:   make(map[string][]trouble),
		killed:     make(map[string]bool),
		closing:    make(map[string]bool),
		closed:     make(map[string]bool),
	}
}

// Elapsed is the time since the beginning.
func (h *History) Elapsed() time.Duration { return time.Since(h.start) }

// Holders returns the clients that hold something, each once for each hold, in
// the order of names.
func (h *History) Holders() (clients []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.objects {
		for op := range o.holds {
			clients = append(clients, op.client)
		}
	}
	slices.Sort(clients) // so that a seed repeats what is chosen of them
	return clients
}

// Counts says how much there was to judge.
func (h *History) Counts() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts
}

// Unresolved judges the calls that are still open: each should have come to an
// end by now.
func (h *History) Unresolved() {
	h.mu.Lock()
	defer h.mu.Unlock()
	var open []*Op
	for op := range h.open {
		open = append(open, op)
	}
	slices.SortFunc(open, func(a, b *Op) int { return a.calledStep - b.calledStep })
	for _, op := range open {
		if op.hold != nil {
			h.breach(Resolution, op.name, "%s: the release of %s with token %d does not come to an end", op.who, op.wanted(), op.token)
		} else {
			h.breach(Resolution, op.name, "%s: the call for %s, made at %v, does not come to an end", op.who, op.wanted(), op.called)
		}
	}
}

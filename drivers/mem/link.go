package mem

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// Link is what lies between one Conn and its store, for tests: its methods make
// it misbehave. Without a fault, calls go to the store directly and the link
// costs an atomic load; with one, each call is a message that travels up and
// a reply that travels down, in order, like bytes on a TCP connection.
//
// All methods are safe for concurrent use. A verb is in force when it returns.
// The verbs, and what they mean, are those of package conformance/netfault;
// what that package cannot do because it sees bytes and not requests comes on
// top: choosing the kind of request, LoseNextRequest and Hold.
type Link struct {
	store  *Store
	faulty atomic.Bool                   // calls have to take the long way
	turned atomic.Pointer[chan struct{}] // closed when the connection is reset or comes back

	mu         sync.Mutex // guards the rest; taken before the store's
	cut        bool
	lossy      bool // a message got lost in silence: only a reset helps
	up, down   pipe
	flying     map[*message]struct{} // sent, and the sender does not know its fate
	lose, drop []ops
	holds      []*HeldRequest
	counting   bool // requests are to be counted, so that they take the long way
	requests   int64
	waiters    []chan struct{} // closed at the next change
}

// pipe is one direction of a link.
type pipe struct {
	frozen, holed bool
	delay         time.Duration
	queue         []*message
	timer         *time.Timer // set for when the first in the queue is due; nil at first
}

// message is a request with its reply, or an event, which is a reply that
// nobody asked for.
type message struct {
	call  call
	apply func()    // runs at the store
	sent  time.Time // into the pipe that it is in
	done  chan struct{}
	ended bool
	fate  error // once done: nil if the reply arrived
}

func newLink(st *Store) *Link {
	l := &Link{store: st, flying: make(map[*message]struct{})}
	l.turn()
	return l
}

// send sends a request on its way.
func (l *Link) send(c call, apply func()) *message {
	m := &message{call: c, apply: apply, done: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	if l.cut || take(&l.lose, c.op) {
		l.end(m, &driver.Error{Op: string(c.op), Store: scheme, Key: c.key, Kind: driver.ErrUnavailable, Err: errRefused})
	} else if l.flying[m] = struct{}{}; !l.catch(m) {
		l.put(&l.up, m)
	}
	l.flow()
	return m
}

// deliver brings an event that has just happened at the store to the client
// and returns nil when it is there.
func (l *Link) deliver(ctx context.Context, c call) error {
	if !l.faulty.Load() {
		return nil
	}
	m := &message{call: c, done: make(chan struct{})}
	l.mu.Lock()
	if l.cut {
		l.end(m, l.resetError(m))
	} else {
		l.flying[m] = struct{}{}
		l.put(&l.down, m)
	}
	l.flow()
	l.mu.Unlock()
	return m.wait(ctx)
}

// The methods below run with the lock held.

// put lets m enter a pipe.
func (l *Link) put(p *pipe, m *message) {
	m.sent = time.Now()
	p.queue = append(p.queue, m)
}

// flow moves on what can move: requests to the store, replies and events to the
// client. It is called after every change.
func (l *Link) flow() {
	now := time.Now()
	for m := l.next(&l.up, now); m != nil; m = l.next(&l.up, now) {
		l.land(m)
	}
	for m := l.next(&l.down, now); m != nil; m = l.next(&l.down, now) {
		l.end(m, nil)
	}
	l.faulty.Store(l.counting || l.cut || l.up.faulty() || l.down.faulty() || len(l.lose)+len(l.drop)+len(l.holds) > 0)
	for _, w := range l.waiters {
		close(w)
	}
	l.waiters = nil
}

func (p *pipe) faulty() bool { return p.frozen || p.holed || p.delay > 0 || len(p.queue) > 0 }

// next takes the message that now comes out of p, or returns nil.
func (l *Link) next(p *pipe, now time.Time) *message {
	if p.holed {
		l.lossy = l.lossy || len(p.queue) > 0
		p.queue = nil
	}
	if p.frozen || len(p.queue) == 0 {
		return nil
	}
	m := p.queue[0]
	if due := m.sent.Add(p.delay); now.Before(due) {
		p.wake(due.Sub(now), l.tick)
		return nil
	}
	p.queue[0] = nil
	p.queue = p.queue[1:]
	return m
}

func (p *pipe) wake(d time.Duration, f func()) {
	if p.timer == nil {
		p.timer = time.AfterFunc(d, f)
	} else {
		p.timer.Reset(d)
	}
}

// tick takes the lock itself: a timer calls it.
func (l *Link) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flow()
}

// land applies a request and sends the reply, also of one whose sender is told
// nothing any more.
func (l *Link) land(m *message) {
	m.apply()
	switch {
	case m.ended:
	case take(&l.drop, m.call.op):
		l.reset()
	default:
		l.put(&l.down, m)
	}
}

// end tells the sender of m its fate.
func (l *Link) end(m *message, fate error) {
	delete(l.flying, m)
	if !m.ended {
		m.ended, m.fate = true, fate
		close(m.done)
	}
}

// reset resets the connection: nobody who waits gets a reply, and what is on
// its way is thrown away, except for requests that Hold has caught.
func (l *Link) reset() {
	for m := range l.flying {
		l.end(m, l.resetError(m))
	}
	l.up.queue, l.down.queue, l.lossy = nil, nil, false
	l.turn()
}

// turn tells those whose request for a watch was lost or refused that they can ask again.
func (l *Link) turn() {
	next := make(chan struct{})
	if last := l.turned.Swap(&next); last != nil {
		close(*last)
	}
}

func (l *Link) resetError(m *message) error {
	return &driver.Error{Op: string(m.call.op), Store: scheme, Key: m.call.key, Kind: driver.ErrUncertain, Err: errReset}
}

// ops are the kinds of requests that a fault is meant for.
type ops []Op

func (o ops) has(op Op) bool {
	if len(o) == 0 {
		return op != OpRenew // which comes by itself, at any time
	}
	return slices.Contains(o, op)
}

// take reports whether one of the faults is meant for op, and uses it up.
func take(faults *[]ops, op Op) bool {
	i := slices.IndexFunc(*faults, func(o ops) bool { return o.has(op) })
	if i < 0 {
		return false
	}
	*faults = slices.Delete(*faults, i, i+1)
	return true
}

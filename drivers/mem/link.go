package mem

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// noLimit is for attempts that only ctx and the session bound.
const noLimit = 10000 * time.Hour

// Op is a kind of request.
type Op string

// The kinds of requests. A Create and a CreateList are both OpCreate, a WaitDelete
// and a WaitAny both OpWait. OpWatch is what Watch sends for each state.
const (
	OpOpen    Op = "open session"
	OpRenew   Op = "renew" // the keepalive of a session
	OpCreate  Op = "create"
	OpAbandon Op = "abandon"
	OpList    Op = "list"
	OpWait    Op = "wait"
	OpWatch   Op = "watch"
	OpUpdate  Op = "update"
	OpDelete  Op = "delete"
	OpClose   Op = "close session"
)

// call says what a call is and what bounds it beside its ctx.
type call struct {
	op    Op
	key   string          // what it is about, for errors
	limit time.Duration   // of an attempt
	quit  <-chan struct{} // closed when the session or connection ends; may be nil
	over  func() error    // why that has ended, or nil; nil: the call is made all the same
}

// ready says why the call cannot be made, or nil.
func (c call) ready(ctx context.Context) error {
	if c.over == nil {
		return nil
	}
	if err := c.over(); err != nil {
		return err
	}
	if err := driver.ContextError(ctx); err != nil {
		return c.failed(driver.ErrUnavailable, err) // it had no effect
	}
	return nil
}

// failed is the error of the call.
func (c call) failed(kind, cause error) error {
	return &driver.Error{Op: string(c.op), Store: scheme, Key: c.key, Kind: kind, Err: cause}
}

// Link is the network between one Conn and its store. Its methods are faults, for
// tests. Without a fault, calls go to the store directly. With one, each call is a
// message that travels up and a reply that travels down, in order.
//
// All methods are safe for concurrent use. A fault is in force when its method
// returns. The names, and what they mean, are those of package
// conformance/netfault, which has no faults for a kind of request.
type Link struct {
	store  *Store
	faulty atomic.Bool   // calls have to be messages
	sent   atomic.Uint64 // how many requests were sent: each has a number

	mu       sync.Mutex // guards the rest; taken before the store's
	cut      bool
	healed   chan struct{} // closed at the next Heal
	up, down pipe
	traps    []trap
	waiting  map[*message]bool // whose senders have not heard of them
}

// pipe is one direction of a link.
type pipe struct {
	frozen, lossy bool
	delay         time.Duration
	queue         []*message
	timer         *time.Timer // set for when the first in the queue is due; nil at first
}

// message is a request with its reply, or the news that a watch has fired.
type message struct {
	call  call
	serve func()        // runs at the store; not for news
	put   time.Time     // into the pipe that it is in
	done  chan struct{} // closed when its sender hears of it
	fate  error         // once done is closed: nil if the message or its reply arrived
}

// trap is a fault that is meant for the next request of some kinds.
type trap struct {
	what  string       // lose, drop or hold
	kinds []Op         // none: any but OpRenew, which comes by itself
	held  *HeldRequest // for hold
}

const (
	lose = "lose" // the request is refused
	drop = "drop" // the connection is reset in place of the reply
	hold = "hold" // the request lands when it is released
)

// HeldRequest is the one request that Link.Hold keeps from landing.
type HeldRequest struct {
	link   *Link
	caught chan struct{}
	m      *message // nil before it is caught and after it is released
}

func newLink(st *Store) *Link {
	return &Link{store: st, waiting: make(map[*message]bool), healed: make(chan struct{})}
}

// ask sends a request and returns its reply. serve runs at the store, under the
// store's lock, perhaps after ask has returned. Its argument numbers the requests
// of the link in the order in which they were sent.
func ask[R any](ctx context.Context, l *Link, c call, serve func(number uint64) (R, error)) (R, error) {
	var nothing R
	if err := c.ready(ctx); err != nil {
		return nothing, err
	}
	if !l.faulty.Load() {
		l.store.mu.Lock()
		defer l.store.mu.Unlock()
		return serve(l.sent.Add(1)) // at once: ctx does not matter
	}
	var reply struct {
		value R
		err   error
	}
	if err := l.send(ctx, c, func(number uint64) { reply.value, reply.err = serve(number) }); err != nil {
		return nothing, err
	}
	return reply.value, reply.err
}

// send sends a request and waits until its reply has arrived.
func (l *Link) send(ctx context.Context, c call, serve func(number uint64)) error {
	m := &message{call: c, done: make(chan struct{})}
	l.change(func() {
		number := l.sent.Add(1)
		m.serve = func() { serve(number) }
		l.waiting[m] = true
		if l.cut || l.take(lose, m) != nil {
			l.finish(m, c.failed(driver.ErrUnavailable, errors.New("connection refused")))
		} else if t := l.take(hold, m); t != nil {
			t.held.m = m
			close(t.held.caught)
		} else {
			l.up.add(m)
		}
	})
	return m.wait(ctx)
}

// news waits until the news that a watch has fired has arrived, or is lost.
func (l *Link) news(ctx context.Context, c call) {
	m := &message{call: c, done: make(chan struct{})}
	l.change(func() {
		l.waiting[m] = true
		l.down.add(m)
		if l.cut {
			l.reset()
		}
	})
	_ = m.wait(ctx) // either way the client asks again
}

// wait returns nil when the message has arrived, and an error when ctx or quit
// ends, or the attempt has lasted for its limit.
func (m *message) wait(ctx context.Context) error {
	timer := time.NewTimer(m.call.limit)
	defer timer.Stop()
	why := errors.New("no reply in time")
	select {
	case <-m.done:
	case <-timer.C:
	case <-m.call.quit:
	case <-ctx.Done():
		why = driver.ContextError(ctx)
	}
	if m.call.over != nil && m.call.over() != nil {
		return m.call.over() // after the end of its session no call succeeds
	}
	select {
	case <-m.done: // a reply that is there counts, whatever else has ended
		return m.fate
	default:
		return m.call.failed(driver.ErrUncertain, why)
	}
}

// change changes the link and moves on what can move then: requests to the
// store, replies and news to the client.
func (l *Link) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	now := time.Now()
	for m := l.next(&l.up, now); m != nil; m = l.next(&l.up, now) {
		l.land(m)
	}
	for m := l.next(&l.down, now); m != nil; m = l.next(&l.down, now) {
		l.finish(m, nil)
	}
	l.faulty.Store(l.cut || l.up.faulty() || l.down.faulty() || len(l.traps) > 0)
}

func (p *pipe) faulty() bool { return p.frozen || p.lossy || p.delay > 0 || len(p.queue) > 0 }

func (p *pipe) add(m *message) {
	m.put = time.Now()
	p.queue = append(p.queue, m)
}

// next takes the message that now comes out of p, or returns nil.
func (l *Link) next(p *pipe, now time.Time) *message {
	if p.lossy {
		p.queue = nil
	}
	if p.frozen || len(p.queue) == 0 {
		return nil
	}
	m := p.queue[0]
	if due := m.put.Add(p.delay); now.Before(due) {
		if p.timer == nil {
			p.timer = time.AfterFunc(due.Sub(now), func() { l.change(func() {}) })
		}
		p.timer.Reset(due.Sub(now))
		return nil
	}
	p.queue = p.queue[1:]
	return m
}

// land applies a request and sends the reply, if the connection is still there.
func (l *Link) land(m *message) {
	l.store.mu.Lock()
	m.serve()
	l.store.mu.Unlock()
	switch {
	case !l.waiting[m]:
	case l.take(drop, m) != nil:
		l.reset()
	default:
		l.down.add(m)
	}
}

// finish tells the sender of m its fate.
func (l *Link) finish(m *message, fate error) {
	delete(l.waiting, m)
	m.fate = fate
	close(m.done)
}

// reset resets the connection: no sender gets a reply, and what is on its way
// is thrown away, except for requests that Hold has caught.
func (l *Link) reset() {
	for m := range l.waiting {
		l.finish(m, m.call.failed(driver.ErrUncertain, errors.New("connection reset")))
	}
	l.up.queue, l.down.queue = nil, nil
}

// take returns the first trap that is meant for m, and removes it, or returns nil.
func (l *Link) take(what string, m *message) *trap {
	for i, t := range l.traps {
		if t.what == what && (slices.Contains(t.kinds, m.call.op) || len(t.kinds) == 0 && m.call.op != OpRenew) {
			l.traps = slices.Delete(l.traps, i, i+1)
			return &t
		}
	}
	return nil
}

package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// Entry is a place in the line, from the creation of its node until the node is surely
// gone from the store. All methods are safe for concurrent use.
type Entry struct {
	queue    *Queue
	session  *coord.Session
	local    *local
	dir      string
	slot     int
	node     driver.Node
	token    uint64 // of its holds: the node's, or that of the entry it has replaced
	since    time.Time
	replaces *place
	gateOf   *Entry // the entry whose gate it is; nil: it is no gate
	waited   bool   // its value is Request.Waiting; set before the caller has the entry

	life    context.Context // ends with the session, and when the entry is left or gone
	endLife context.CancelFunc
	gone    chan struct{} // closed when the node is surely not in the store any more
	writing chan struct{} // has room for one: the call that writes the entry's value

	// local.mu guards these.
	pinned bool // the entry's gate, which has the same slot, may be in the store
	left   bool // the node is gone for good, or was never made

	mu        sync.Mutex
	leaving   bool
	asking    bool          // the store is, or was, asked why the node is gone
	granted   bool          // the entry holds, or has held
	guard     *time.Timer   // starts the watch of the own node; nil: not guarded
	isGone    bool          // gone is closed
	removed   error         // why the node is gone, if this process did not delete it
	holds     []*coord.Hold // that have not ended
	released  bool          // the last of the holds was released, and was not lost
	successor *Entry        // that has replaced it
}

// Node returns the entry's node as it was created.
func (e *Entry) Node() driver.Node { return e.node }

// Waited reports whether the entry came to hold with Request.Waiting as its value.
func (e *Entry) Waited() bool { return e.waited }

// Session returns the session that the entry is bound to.
func (e *Entry) Session() *coord.Session { return e.session }

// Err is nil until the entry is known to be lost, and then Is coord.ErrNotHeld and says why.
func (e *Entry) Err() error {
	if err := e.lost(); err != nil {
		return e.queue.fail("enter", notHeld(err))
	}
	return nil
}

func notHeld(why error) error { return fmt.Errorf("%w: %w", coord.ErrNotHeld, why) }

// lost says why the entry cannot hold any more, or nil.
func (e *Entry) lost() error {
	if err := e.session.Err(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.removed
}

// markGone ends the entry, whose node is gone; why is nil if this process deleted it. Holds
// end before gone is closed, so before another waiter of this process is granted.
func (e *Entry) markGone(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isGone {
		return
	}
	e.removed = why
	for _, h := range e.holds {
		h.End(why)
	}
	e.stopLocked()
	if !e.asking {
		e.local.forget(e)
	}
	e.isGone = true
	close(e.gone)
}

// stop ends what runs for the entry, and reports whether the caller is the first to leave.
func (e *Entry) stop() (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stopLocked()
}

func (e *Entry) stopLocked() (first bool) {
	first, e.leaving = !e.leaving, true
	if e.guard != nil {
		e.guard.Stop()
	}
	e.endLife()
	return first
}

// awaitGone waits, within ctx, and reports whether the node is surely gone.
func (e *Entry) awaitGone(ctx context.Context) bool {
	select { // what has ended is looked at below, and by the caller
	case <-e.gone:
	case <-e.session.Done():
	case <-ctx.Done():
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.isGone
}

// whyEnded says what has ended a call for the entry: the session, an operator, ctx; or nil.
func (e *Entry) whyEnded(ctx context.Context) error {
	if lost := e.lost(); lost != nil {
		return lost
	}
	return driver.ContextError(ctx)
}

// pause waits about 100 ms before what did not help is done again.
func (e *Entry) pause(ctx context.Context) error {
	const about = 100 * time.Millisecond
	select {
	case <-time.After(about/2 + rand.N(about)):
	case <-e.session.Done():
	case <-ctx.Done():
	}
	return e.whyEnded(ctx)
}

// within returns a context that ends with ctx, with the session, and with the entry.
func (e *Entry) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(e.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// local is what this process knows of the entries of one session.
type local struct {
	mu      sync.Mutex
	slots   map[string]*slots             // by directory
	entries map[string]*Entry             // by the node's Key
	awaited map[*Entry]func(added *Entry) // by the waiter
}

// slots are the numbers in the ids of a directory (see slotID).
type slots struct {
	used int   // how many are out
	free []int // those that came back; with those that are out, all below used+len(free)
}

type localKey struct{}

func localOf(s *coord.Session) *local {
	return s.Local(localKey{}, func() any {
		return &local{slots: make(map[string]*slots), entries: make(map[string]*Entry), awaited: make(map[*Entry]func(*Entry))}
	}).(*local)
}

// take reserves a slot of a directory, until the entry that has it is forgotten.
func (l *local) take(dir string) (slot int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.slots[dir]
	if s == nil {
		s = new(slots)
		l.slots[dir] = s
	}
	slot = s.used
	if last := len(s.free) - 1; last >= 0 {
		slot, s.free = s.free[last], s.free[:last]
	}
	s.used++
	return slot
}

// add makes an entry known to waiters of the same session.
func (l *local) add(e *Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries[e.node.Key] = e
	for _, tell := range l.awaited {
		tell(e)
	}
}

// await returns the entry of a node, if the session has it. If that entry's Create has not
// returned yet, await calls known when it has, unless giveUp is called before.
func (l *local) await(n driver.Node, waiter *Entry, known func()) *Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.entries[n.Key]; e != nil && e.node.Same(n) {
		return e
	}
	if n.Session == waiter.node.Session {
		l.awaited[waiter] = func(added *Entry) {
			if added.node.Same(n) {
				known()
			}
		}
	}
	return nil
}

func (l *local) giveUp(waiter *Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.awaited, waiter)
}

// pin keeps the slot of an entry from others until its gate, which is about to be made, is
// forgotten. It reports false if the entry has left.
func (l *local) pin(e *Entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.pinned = !e.left
	return e.pinned
}

// forget frees the slot of an entry whose node is gone for good, when its gate is too.
func (l *local) forget(e *Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries[e.node.Key] == e {
		delete(l.entries, e.node.Key)
	}
	e.left = true
	if e.gateOf != nil {
		e = e.gateOf
		e.pinned = false
	}
	if !e.left || e.pinned {
		return
	}
	s := l.slots[e.dir]
	s.free = append(s.free, e.slot)
	if s.used--; s.used == 0 {
		delete(l.slots, e.dir)
	}
}

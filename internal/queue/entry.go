package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// Entry is a place in the line, from the joining until the node is surely gone
// from the store.
type Entry struct {
	queue   *Queue
	session *coord.Session
	roster  *roster
	dir     string
	slot    int
	node    driver.Node
	token   uint64 // of its holds: the node's, or that of the entry it stands in for
	since   time.Time
	place   *place // that it stands in; nil: its own
	gateOf  *Entry // whose gate it is; nil: nobody's
	waited  bool   // for its grant; set before anybody else has the entry
	hurried bool   // it joined right after a release by its session

	// granted: this entry has held. Those behind it who see it gone know then
	// that nothing is left ahead of it.
	granted atomic.Bool

	// guarding is the entry's place among those to be watched.
	guarding guarding

	// The roster's lock guards them.
	pinned bool // a gate that names the slot is on its way
	left   bool // the node is gone for good

	mu        sync.Mutex
	gone      latch              // the node is surely not in the store any more: a delete was acknowledged, or it was seen
	guards    *guards            // among whom it is watched when that is due, or was; nil: nobody
	interrupt context.CancelFunc // ends the guard
	wake      context.CancelFunc // ends the wait for another entry, if one is under way
	leaving   bool
	probing   bool          // the store is being asked why the node is gone
	removed   error         // why the node is gone without our doing
	released  bool          // left by its last hold, which was not lost
	standIn   *Entry        // it was traded for this one; nil: it was not
	writing   chan struct{} // held by who writes the entry's value; made when it is first needed
	holds     []*coord.Hold
	one       [1]*coord.Hold // holds, at first
}

// Node is the entry's node.
func (e *Entry) Node() driver.Node { return e.node }

// Waited reports whether the entry was not granted at once.
func (e *Entry) Waited() bool { return e.waited }

// Session is the session that the entry is bound to.
func (e *Entry) Session() *coord.Session { return e.session }

// vanishUnasked ends an entry that was seen to be gone without our doing. Was
// it removed, or has the store ended the session, which we would hear of with
// the next renewal? Who is told will act on the difference, so the store is
// asked: a write for the session fails if there is none. Giving up the create
// of what is gone is such a write, and changes nothing. The answer has to come
// within a second, or half of a short TTL.
//
// While it is asked the slot is not used again, also when the entry leaves in
// the meantime: the question must not hit whoever has the slot next.
func (e *Entry) vanishUnasked() {
	e.mu.Lock()
	if e.leaving || e.probing {
		e.mu.Unlock()
		return // whoever is at it knows better
	}
	e.probing = true
	e.mu.Unlock()

	ctx, cancel := context.WithTimeout(e.session.Context(), min(e.session.TTL()/2, time.Second))
	err := e.session.Driver().Abandon(ctx, e.dir, e.node.ID)
	cancel()
	why := coord.ErrRemoved
	if errors.Is(err, coord.ErrSessionLost) || errors.Is(err, coord.ErrClosed) {
		why = err
	}
	e.vanish(why)
	if errors.Is(e.wasRemoved(), coord.ErrRemoved) {
		e.queue.client.Logger().Warn("entry was removed from the store by somebody else",
			zap.String("entry", e.queue.what), zap.Bool("held", e.granted.Load()),
			zap.String("key", e.node.Key), zap.Uint64("token", e.token))
	}

	e.mu.Lock()
	defer e.mu.Unlock()
	e.probing = false
	e.roster.leave(e)
}

// vanish ends the entry, whose node is gone: by our own doing if why is nil.
// Holds end before gone is closed, so before any waiter in this process is
// granted what they held.
func (e *Entry) vanish(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone.set {
		return
	}
	if why != nil && !e.leaving {
		e.removed = why
	}
	for _, h := range e.holds {
		h.End(why)
	}
	e.stopLocked()
	if e.wake != nil {
		e.wake()
	}
	if !e.probing {
		e.roster.leave(e)
	}
	e.gone.close()
}

// stopLocked ends what runs for the entry. Once it leaves, nothing is begun any more.
func (e *Entry) stopLocked() {
	if e.leaving {
		return
	}
	e.leaving = true
	if e.guards != nil {
		e.guards.leave(e)
	}
	if e.interrupt != nil {
		e.interrupt()
	}
}

// Err is nil while the entry is not known to be lost, and then an error that Is
// coord.ErrNotHeld.
func (e *Entry) Err() error {
	if err := e.over(); err != nil {
		return e.queue.fail("enter", notHeld(err))
	}
	return nil
}

// over says why the entry cannot hold any more, or nil.
func (e *Entry) over() error {
	if err := e.session.Err(); err != nil {
		return err
	}
	return e.wasRemoved()
}

func (e *Entry) wasRemoved() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.removed
}

// Leave deletes the entry's node and returns when that is certain. When ctx
// ends before, or the store refuses, the error says so and the deleting goes on
// in the background, for as long as it takes or the session lives; calling
// again waits for that. Only the very node is deleted, so a late call frees
// nobody else's place. It is idempotent.
func (e *Entry) Leave(ctx context.Context) error {
	e.mu.Lock()
	first := !e.leaving
	e.stopLocked()
	e.mu.Unlock()
	if first {
		err := e.delete(ctx)
		if err == nil {
			e.vanish(nil)
			return nil
		}
		if !e.persistLeaving() {
			return err // the session is over, and with it the node
		}
		if !driver.Transient(err) {
			return fmt.Errorf("%w: %w", errGoesOn, err)
		}
	}
	gone := e.whenGone()
	select {
	case <-gone: // whatever else has ended since
		return nil
	default:
	}
	select {
	case <-gone:
		return nil
	case <-e.session.Done(): // the store removes the node
		return e.session.Err()
	case <-ctx.Done(): // the caller's time is up; the deleting goes on
		return fmt.Errorf("%w: %w", errGoesOn, driver.ContextError(ctx))
	}
}

var errGoesOn = errors.New("not confirmed yet; it goes on in the background")

func (e *Entry) delete(ctx context.Context) error {
	if ctx.Err() != nil {
		return driver.ContextError(ctx)
	}
	return e.session.Driver().Delete(ctx, e.node)
}

// persistLeaving deletes the node in the background. It reports false when the
// session is over, and with it the node.
func (e *Entry) persistLeaving() bool {
	return e.session.Go(func(ctx context.Context) {
		if persist(ctx, e.queue.client, e.delete) {
			e.vanish(nil)
		}
	})
}

// discard leaves in the background, for a caller that has no time left.
func (e *Entry) discard() {
	e.mu.Lock()
	first := !e.leaving
	e.stopLocked()
	e.mu.Unlock()
	if first {
		e.persistLeaving()
	}
}

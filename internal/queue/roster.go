package queue

import (
	"maps"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// roster is what this process knows of the entries of one session: which slots
// are taken in each line, and which entries are its own, so that a waiter whose
// predecessor is in the same process hears from it directly.
type roster struct {
	mu      sync.Mutex
	slots   map[string]slots     // by directory
	entries map[string]*Entry    // by the node's Key
	left    map[string]time.Time // when holds in a directory were last released, if not long ago
	prune   int                  // how many of these there may be before the old ones are forgotten

	holding, waiting guards // have their own locks
}

type rosterKey struct{}

func rosterOf(s *coord.Session) *roster {
	return s.Local(rosterKey{}, func() any {
		return &roster{
			slots: make(map[string]slots), entries: make(map[string]*Entry), left: make(map[string]time.Time),
			holding: guards{delay: guardDelay, patrols: true}, waiting: guards{delay: max(s.TTL(), guardDelay)},
		}
	}).(*roster)
}

// slots hands out the smallest numbers it can: the names of entries are used
// again, because stores keep the names of what was deleted for a while, and a
// line of ever new names gets slower with every entry it ever had.
type slots struct {
	used int   // how many are out
	next int   // the smallest that was never out
	free []int // those that came back
}

// take reserves a slot in dir until give returns it.
func (r *roster) take(dir string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.slots[dir] // the zero slots, if none is out
	slot := s.next
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
	} else {
		s.next++
	}
	s.used++
	r.slots[dir] = s
	return slot
}

// give returns the slot of an entry that was not made, once none can appear.
func (r *roster) give(e *Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.gateOf != nil {
		r.unpinLocked(e.gateOf)
		return
	}
	r.giveLocked(e.dir, e.slot)
}

func (r *roster) giveLocked(dir string, slot int) {
	s := r.slots[dir]
	if s.used--; s.used == 0 {
		delete(r.slots, dir)
		return
	}
	s.free = append(s.free, slot)
	r.slots[dir] = s
}

// enter makes e known to those who come behind it.
func (r *roster) enter(e *Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[e.node.Key] = e
}

// leave forgets e and returns its slot, unless that is pinned: its node is gone
// for good.
func (r *roster) leave(e *Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries[e.node.Key] == e {
		delete(r.entries, e.node.Key)
	}
	e.left = true
	switch {
	case e.gateOf != nil:
		r.unpinLocked(e.gateOf)
	case !e.pinned:
		r.giveLocked(e.dir, e.slot)
	}
}

// pin keeps the slot of an entry from others, also when it leaves, until its gate,
// which is about to be made, is gone or surely never will be there. It reports
// false if the entry has left.
func (r *roster) pin(e *Entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.pinned = !e.left
	return e.pinned
}

// unpinLocked ends what pin has begun.
func (r *roster) unpinLocked(e *Entry) {
	if e.pinned = false; e.left {
		r.giveLocked(e.dir, e.slot)
	}
}

// find returns this process's entry behind a node, or nil.
func (r *roster) find(key string, token uint64) *Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[key]; e != nil && e.node.Token == token {
		return e
	}
	return nil
}

// letGo takes note that a hold in a directory was released.
func (r *roster) letGo(dir string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if len(r.left) >= r.prune {
		maps.DeleteFunc(r.left, func(_ string, at time.Time) bool { return now.Sub(at) >= hurry })
		r.prune = max(leastPruned, 2*len(r.left))
	}
	r.left[dir] = now
}

// leastPruned keeps the forgetting from being done for each of a few.
const leastPruned = 64

// letGoSince reports whether a hold in a directory was released after a time.
func (r *roster) letGoSince(dir string, t time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left[dir].After(t)
}

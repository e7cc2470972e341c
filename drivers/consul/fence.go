package consul

import (
	"maps"
	"strconv"
	"sync"
)

// fence is what a session knows of its fence: a key of its own, held by the
// session, that exists once something had to be fenced off. Every request that
// makes a node asks for the fence to stand where the session last saw it, told
// by its modification index, and Abandon moves it. Indexes never come back, so
// a request from before the move does nothing, however late it arrives.
//
// Moving the fence makes the session's other creates that are on their way
// fail. They learn the new position and try again.
type fence struct {
	mu    sync.Mutex
	stood uint64 // where it was last seen; 0: it did not exist

	// doubtful are the slots of which a request may still be on its way, with the
	// last position that one has asked for: one to make the node, which would come
	// back to life after it was deleted, or one to abandon it, which would remove a
	// node made in the meantime. So the fence has to be moved from there before such
	// a slot is used again.
	doubtful map[slot]uint64

	// deleted: somebody has deleted the fence, and requests from the session's
	// beginning would find it as they ask for it. It has to be made again
	// before any slot is used.
	deleted bool
}

// slot is what Create and Abandon are about.
type slot struct{ dir, id string }

// position returns where the fence is believed to stand, and whether it has to
// be moved before a node is made in the slot.
func (f *fence) position(of slot) (stood uint64, move bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, doubt := f.doubtful[of]
	return f.stood, doubt || f.deleted
}

// doubt takes note of a request of unknown outcome that asked for a position.
func (f *fence) doubt(of slot, stood uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if stood < f.stood { // moved since: the request comes too late
		return
	}
	if f.doubtful == nil {
		f.doubtful = make(map[slot]uint64)
	}
	f.doubtful[of] = max(f.doubtful[of], stood)
}

// saw takes note of a position. Replies overtake each other, so an older one
// does not count. That the fence is gone settles no doubt: by the time of this reply
// it may stand again, made by another call.
func (f *fence) saw(stands uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case stands == 0 && f.stood > 0:
		f.stood, f.deleted = 0, true
	case stands > f.stood:
		f.stood, f.deleted = stands, false
		maps.DeleteFunc(f.doubtful, func(_ slot, asked uint64) bool { return asked < stands })
	}
}

// wentBack takes note that the fence stands before where it was believed to stand:
// the store was restored from a snapshot. Requests that asked for that position may
// be on their way, so it is moved before any slot is used.
func (f *fence) wentBack(believed, stands uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stood == believed && 0 < stands && stands < believed {
		f.stood, f.deleted = stands, true
	}
}

// mark is the value of a fence that is moved from a position. It differs from
// the one before, for the index moves only if the value changes.
func mark(from uint64) []byte { return strconv.AppendUint(nil, from, 10) }

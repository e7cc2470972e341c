package etcd

import "sync"

// fence is what a session knows of its fence: a key of its own, bound to the
// lease, that exists once something was abandoned. Every request that makes a
// node asks for the fence to stand where the session last saw it, told by its
// modification revision, and Abandon moves it. Revisions never come back while the
// store lives, so a request from before the move does nothing, however late it arrives.
//
// Moving the fence makes the session's other creates that are on their way
// fail their comparison. They learn the new position and try again.
type fence struct {
	mu    sync.Mutex
	stood int64 // where it was last seen; 0: it did not exist

	// unsettled is the last position that a Create, Update or Abandon of unknown
	// outcome asks for. While the fence stands there that request may still
	// come: it would make a node that nobody knows of any more, bring back data
	// that was replaced, or remove what was created in the meantime. So before
	// the next change, the fence has to be moved.
	unsettled int64
}

// settled is less than every position.
const settled = -1

func newFence() *fence { return &fence{unsettled: settled} }

// position returns where the fence is believed to stand, and whether it has to
// be moved before a node is made or changed.
func (f *fence) position() (stood int64, move bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stood, f.stood <= f.unsettled
}

// pending takes note of a request of unknown outcome that asks for the fence to
// stand at a position.
func (f *fence) pending(stood int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unsettled = max(f.unsettled, stood)
}

// found takes note of where the fence stands, after a request which believed that it
// stands elsewhere was refused, and whether it is bound to the session there. Replies
// overtake each other, so an older position does not count, nor that there is none. Only
// if nothing was heard since that request was sent, one of these has happened:
//
//   - The fence is gone: somebody has deleted it, and it stands again where requests
//     from the session's beginning ask for it to stand. So it has to be moved. What is
//     unsettled stays so: by the time of this reply the fence may stand again, made by
//     another call.
//   - It went back: the store was restored from a backup. No revision of before that is
//     to be waited for. What the last one asked for is not known, so it has to be moved
//     as well.
//
// And so it has to be if somebody has written over it, as it would outlive the session.
func (f *fence) found(believed, stands int64, bound bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch latest := f.stood == believed; {
	case latest && stands == 0:
		f.stood, f.unsettled = 0, max(f.unsettled, 0)
	case latest && stands < believed:
		f.stood, f.unsettled = stands, stands
	default:
		f.stood = max(f.stood, stands)
	}
	if !bound && stands > 0 {
		f.unsettled = max(f.unsettled, stands)
	}
}

// raised takes note that the fence was moved to a position. Nobody has asked for it
// before this process knew of it, so what is unsettled there or beyond, if this is the
// first news of it, is of the store's earlier life.
func (f *fence) raised(to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if to > f.stood {
		f.stood, f.unsettled = to, min(f.unsettled, to-1)
	}
}

package zk

import (
	"sync"
	"time"
)

// watches are the paths that users of a link watch: nodes for their deletion, directories
// for every change. The wire makes watches of all reads of these paths.
type watches struct {
	takeBack func(path string) // has the server remove the watches of a path that is not wanted
	linger   time.Duration     // how long a watch outlives its last user, who often comes back at once

	mu    sync.Mutex
	paths map[string]*watchedPath
}

// watchedPath is a path that is watched. For directories only users is in use.
type watchedPath struct {
	path  string
	users map[chan struct{}]struct{} // each is woken at every change
	busy  bool                       // a user asks for the watch
	ended bool                       // what was asked for may have ended since
	armed bool                       // the server has the watch of a node that was there
	gone  bool                       // the node is gone, or is none
}

// wanted reports whether reads of a path set watches.
func (h *watches) wanted(path string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.paths[path]
	return w != nil && len(w.users) > 0
}

// join begins to use the watch of a path, and leave ends that.
func (h *watches) join(path string, wake chan struct{}) *watchedPath {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.paths[path]
	if w == nil {
		w = &watchedPath{path: path, users: make(map[chan struct{}]struct{})}
		h.paths[path] = w
	}
	w.users[wake] = struct{}{}
	return w
}

func (h *watches) leave(w *watchedPath, wake chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(w.users, wake)
	unused := func() bool { return len(w.users) == 0 && h.paths[w.path] == w }
	if !unused() {
		return
	}
	time.AfterFunc(h.linger, func() {
		h.mu.Lock()
		over := unused()
		if over {
			delete(h.paths, w.path)
		}
		h.mu.Unlock()
		if over {
			h.takeBack(w.path)
		}
	})
}

// claim reports whether the node is gone or, if not, whether to ask for the watch, and finish.
func (h *watches) claim(w *watchedPath) (ask, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.gone || w.armed || w.busy {
		return false, w.gone
	}
	w.busy, w.ended = true, false
	return true, false
}

func (h *watches) finish(w *watchedPath, armed, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.busy, w.armed, w.gone = false, armed && !w.ended, w.gone || gone
	w.wake()
	if gone && !armed && h.paths[w.path] == w { // the server has no watch
		delete(h.paths, w.path)
	}
}

// fired takes the event of a watch.
func (h *watches) fired(path string, deleted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.paths[path]
	if w == nil {
		return
	}
	w.end()
	_, base := cut(path)
	if _, node := parseName(base); deleted && node {
		w.gone = true
		delete(h.paths, path)
	}
}

// moved takes note that another connection is in use, whose server has no watches.
func (h *watches) moved() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.paths {
		w.end()
	}
}

// end takes note that the server has the watch no more. The caller holds the lock.
func (w *watchedPath) end() {
	w.armed, w.ended = false, true
	w.wake()
}

func (w *watchedPath) wake() {
	for wake := range w.users {
		select {
		case wake <- struct{}{}:
		default: // it has not looked yet
		}
	}
}

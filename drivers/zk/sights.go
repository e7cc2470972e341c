package zk

import "sync"

// sights are the directories that are looked at by a link, each by any number of
// observers. Requests for a directory that is looked at set watches: the wire
// sees to that, for the reason given at watches. A server keeps one watch for a
// path, a kind and a connection, however often it is asked for. So whoever asks
// sets it for all, and what is left is to take it back after the last.
type sights struct {
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	wire   *wire // the connection whose server has the watches
	all    map[string]map[*eye]struct{}
}

// eye is one observer of one directory.
type eye struct {
	// news has room for one: there is something to see that was not there when
	// it was last emptied.
	news chan struct{}
}

func (e *eye) open() {
	select {
	case e.news <- struct{}{}:
	default: // it has not looked yet
	}
}

// join opens an eye on a directory. Who calls it looks next.
func (h *sights) join(path string) *eye {
	e := &eye{news: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = make(map[string]map[*eye]struct{})
	}
	if h.all[path] == nil {
		h.all[path] = make(map[*eye]struct{})
	}
	h.all[path][e] = struct{}{}
	return e
}

// leave ends to look. After the last, the watches are taken back.
func (h *sights) leave(path string, e *eye) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all[path], e)
	if len(h.all[path]) > 0 {
		return
	}
	delete(h.all, path)
	if on := h.wire; on != nil && !h.closed {
		h.running.Go(func() { on.overlook(h, path) }) // it may have to wait for its turn to write
	}
}

// wants reports whether a directory is looked at.
func (h *sights) wants(path string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all[path]) > 0
}

// fired takes the event of a watch.
func (h *sights) fired(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for e := range h.all[path] {
		e.open()
	}
}

// moved has all looked at anew, on another connection, which has no watches yet.
func (h *sights) moved(w *wire) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wire = w
	for _, eyes := range h.all {
		for e := range eyes {
			e.open()
		}
	}
}

// close keeps what is to be waited for from growing.
func (h *sights) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
}

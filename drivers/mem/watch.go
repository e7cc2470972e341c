package mem

import "github.com/coordkit/coordkit/coord/driver"

// watch waits at the store for the first of some nodes to go. The client makes
// it, so that giving up is one step also while the request for it is on its
// way: what was ended before it arrived is never set.
type watch struct {
	by    *lessee
	fired chan int // holds the index of a node that is gone, or sessionEnded
	hooks []hook
	one   [1]hook // hooks, for the usual single node
	set   bool    // guarded by the store's lock, as hooks is
	ended bool    // likewise
}

// sessionEnded is what fires a watch of a session that the store has ended: to
// such a client it says nothing about nodes any more.
const sessionEnded = -1

// hook is a watch's place in the list of one node's watches.
type hook struct {
	watch      *watch
	node       *node
	prev, next *hook
}

func newWatch(by *lessee) *watch { return &watch{by: by, fired: make(chan int, 1)} }

// watching is a request to set a watch.
type watching struct {
	watch     *watch
	namespace string
	nodes     []driver.Node
}

// notGone is the answer to watching when the watch was set.
const notGone = -1

// watch sets a watch, unless one of the nodes is gone: then it answers with
// that one's index.
func (st *Store) watch(r watching) (int, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	w := r.watch
	if w.by.ended {
		return 0, errNoSession
	}
	if w.ended {
		return 0, nil // nobody listens any more
	}
	if w.hooks = w.one[:]; len(r.nodes) > 1 {
		w.hooks = make([]hook, len(r.nodes))
	}
	for i, n := range r.nodes {
		found := st.find(exact{place{r.namespace, n.Dir}, n.Key, n.Token})
		if found == nil {
			return i, nil
		}
		w.hooks[i] = hook{watch: w, node: found}
	}
	for i := range w.hooks {
		w.hooks[i].insert()
	}
	w.set = true
	st.stats.Watches++
	return notGone, nil
}

// unwatch ends a watch, whether it is set, fired, or still to be asked for.
func (st *Store) unwatch(w *watch) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.unwatchLocked(w)
}

func (st *Store) unwatchLocked(w *watch) {
	if w.set && !w.ended {
		for i := range w.hooks {
			w.hooks[i].remove()
		}
		st.stats.Watches--
	}
	w.ended = true
}

// fireLocked ends every watch on n, which is gone, and tells it.
func (st *Store) fireLocked(n *node) {
	for n.hooks != nil { // ending a watch takes its hooks out of the list
		h := n.hooks
		st.unwatchLocked(h.watch)
		event := h.watch.first()
		if h.watch.by.ended {
			event = sessionEnded
		}
		h.watch.fired <- event // has room: a watch fires once
	}
}

// first returns the index of the first node that is gone, or is going with the
// one that fired the watch.
func (w *watch) first() int {
	for i := range w.hooks {
		if n := w.hooks[i].node; n.gone || n.doomed {
			return i
		}
	}
	panic("mem: a watch was fired and none of its nodes is gone")
}

func (h *hook) insert() {
	h.next = h.node.hooks
	if h.next != nil {
		h.next.prev = h
	}
	h.node.hooks = h
}

func (h *hook) remove() {
	if h.prev != nil {
		h.prev.next = h.next
	} else {
		h.node.hooks = h.next
	}
	if h.next != nil {
		h.next.prev = h.prev
	}
}

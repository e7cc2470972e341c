package watch

import (
	"context"
	"errors"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/sessions"
)

// Hub serves the waits and watches of one connection. Its methods are safe for concurrent
// use.
type Hub struct {
	store  string
	keeper *sessions.Keeper
	follow Follow

	mu   sync.Mutex
	dirs map[string]*directory // in which somebody waits
}

// NewHub returns the hub of a connection to a store, which is named by its scheme. Its
// goroutines are the keeper's.
func NewHub(store string, keeper *sessions.Keeper, follow Follow) *Hub {
	return &Hub{store: store, keeper: keeper, follow: follow, dirs: make(map[string]*directory)}
}

// directory is one in which there are waits.
type directory struct {
	stop context.CancelFunc // ends the Follow

	// The hub's lock guards them.
	last  *List // the newest one
	waits map[identity]map[*wait]struct{}
	users int
}

// identity is what makes two nodes the same (see driver.Node.Same).
type identity struct {
	key   string
	token uint64
}

func identify(n driver.Node) identity { return identity{n.Key, n.Token} }

// wait is a Wait under way.
type wait struct {
	nodes []driver.Node
	ended chan struct{} // closed when one of the nodes is gone or err is set
	gone  int           // which
	err   error
}

// Wait returns the index of one of the nodes that is gone as soon as there is one. The
// nodes are of one directory. It returns an error when ctx ends, and what Follow ends with
// otherwise; a caller makes it by sessions.Session.Do, with an Op without a limit, which
// ends it with the session. To wait for no nodes is an error that Is driver.ErrInvalid.
func (h *Hub) Wait(ctx context.Context, nodes ...driver.Node) (int, error) {
	if len(nodes) == 0 {
		return 0, &driver.Error{Op: "wait", Store: h.store, Kind: driver.ErrInvalid, Err: errors.New("no nodes to wait for")}
	}
	w := &wait{nodes: nodes, ended: make(chan struct{})}
	d, err := h.join(nodes[0].Dir, w)
	if err != nil {
		return 0, err
	}
	defer h.leave(nodes[0].Dir, d, w)
	select {
	case <-w.ended: // if ctx has ended too, an answer is worth more
		return w.gone, w.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// join adds a wait, and begins to follow its directory if it is the first.
func (h *Hub) join(dir string, w *wait) (*directory, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.dirs[dir]
	if d == nil {
		ctx, stop := context.WithCancel(h.keeper.Life())
		d = &directory{stop: stop, waits: make(map[identity]map[*wait]struct{})}
		if !h.keeper.Go(func() { h.serve(ctx, dir, d) }) {
			stop()
			return nil, &driver.Error{Op: "wait", Store: h.store, Key: dir, Kind: driver.ErrClosed}
		}
		h.dirs[dir] = d
	}
	d.users++
	for _, n := range w.nodes {
		same := d.waits[identify(n)]
		if same == nil {
			same = make(map[*wait]struct{})
			d.waits[identify(n)] = same
		}
		same[w] = struct{}{}
	}
	if d.last != nil {
		there := d.last.identities()
		for i, n := range w.nodes {
			if d.last.lacks(there, n) {
				d.end(w, i, nil)
				break
			}
		}
	}
	return d, nil
}

// leave removes a wait, and stops following the directory if it was the last.
func (h *Hub) leave(dir string, d *directory, w *wait) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d.remove(w)
	if d.users--; d.users == 0 {
		d.stop()
		if h.dirs[dir] == d {
			delete(h.dirs, dir)
		}
	}
}

// serve follows a directory until the last wait has left.
func (h *Hub) serve(ctx context.Context, dir string, d *directory) {
	err := h.follow.Heal(ctx, dir, func(l List) { h.show(d, l) })
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dirs[dir] == d {
		delete(h.dirs, dir) // later waits begin anew
	}
	for _, same := range d.waits {
		for w := range same {
			d.end(w, 0, err)
		}
	}
}

// show ends the waits for nodes that are gone.
func (h *Hub) show(d *directory, l List) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d.last != nil && l.At < d.last.At {
		return
	}
	d.last = &l
	there := l.identities()
	for _, same := range d.waits {
		for w := range same {
			for i, n := range w.nodes {
				if l.lacks(there, n) {
					d.end(w, i, nil)
					break
				}
			}
		}
	}
}

func (l *List) identities() map[identity]struct{} {
	there := make(map[identity]struct{}, len(l.Nodes))
	for _, n := range l.Nodes {
		there[identify(n)] = struct{}{}
	}
	return there
}

// lacks reports whether the list shows that the node is gone.
func (l *List) lacks(there map[identity]struct{}, n driver.Node) bool {
	_, ok := there[identify(n)]
	return !ok && n.Version <= l.At
}

// end ends a wait.
func (d *directory) end(w *wait, gone int, err error) {
	w.gone, w.err = gone, err
	d.remove(w)
	close(w.ended)
}

func (d *directory) remove(w *wait) {
	for _, n := range w.nodes {
		delete(d.waits[identify(n)], w)
		if len(d.waits[identify(n)]) == 0 {
			delete(d.waits, identify(n))
		}
	}
}

package mem

import "github.com/coordkit/coordkit/coord/driver"

// observer waits at the store for the next change of a directory. As with
// watch, the client makes it, so that what was ended before its request arrived
// is never set.
type observer struct {
	conn  *Conn
	at    place
	fired chan struct{} // has room for the one event
	set   bool          // guarded by the store's lock
	ended bool          // likewise
}

func newObserver(c *Conn, dir string) *observer {
	return &observer{conn: c, at: place{c.namespace, dir}, fired: make(chan struct{}, 1)}
}

// observe sets an observer and answers with the line: in one step, so that the
// next change after that line fires it.
func (st *Store) observe(o *observer) ([]driver.Node, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	// Close closes the channel before it comes here for the observers. So it
	// either finds this one or is seen by it.
	select {
	case <-o.conn.closed:
		return nil, errQuit
	default:
	}
	if o.ended {
		return nil, errQuit // nobody listens any more
	}
	o.set = true
	all := st.observers[o.at]
	if all == nil {
		all = make(map[*observer]struct{})
		st.observers[o.at] = all
	}
	all[o] = struct{}{}
	st.stats.Watches++
	d := st.dirs[o.at]
	if d == nil {
		return nil, nil
	}
	return d.snapshot(), nil
}

// unobserve ends an observer, whether it is set, fired, or still to be asked
// for.
func (st *Store) unobserve(o *observer) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.unobserveLocked(o)
}

func (st *Store) unobserveLocked(o *observer) {
	if o.set && !o.ended {
		all := st.observers[o.at]
		if delete(all, o); len(all) == 0 {
			delete(st.observers, o.at)
		}
		st.stats.Watches--
	}
	o.ended = true
}

// changedLocked fires every observer of a directory, in which a node was
// created, updated or removed.
func (st *Store) changedLocked(at place) {
	for o := range st.observers[at] {
		st.unobserveLocked(o)
		o.fired <- struct{}{} // has room: an observer fires once
	}
}

// forsake ends the observers of a connection that is closed, also those whose
// consumers are busy and will hear of it later.
func (st *Store) forsake(c *Conn) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, all := range st.observers {
		for o := range all {
			if o.conn == c {
				st.unobserveLocked(o)
			}
		}
	}
}

package mem

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
)

// scheme is what URLs of this store begin with, and its name in errors.
const scheme = "mem"

// Store holds the nodes and sessions of any number of connections. It needs no
// closing. All methods are safe for concurrent use.
//
// The unexported methods but lapse are called with the lock held.
type Store struct {
	mu      sync.Mutex
	last    uint64 // the last number given to a node, a session or an update
	conns   int    // that are open
	leases  map[string]*storeLease
	dirs    map[place]*directory // those with a node or a foreign key
	watches watches
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{leases: make(map[string]*storeLease), dirs: make(map[place]*directory), watches: make(watches)}
}

// What the store answers, beside success.
var (
	errNoSession = errors.New("the store knows no such session")
	errOvertaken = errors.New("a later request has landed") // never leaves the package
)

// storeLease is a session as the store has it.
type storeLease struct {
	id       string
	ttl      time.Duration
	deadline time.Time // when the store ends the session, unless it is renewed
	timer    *time.Timer
	notify   func() (news bool) // see lapse; nil until the client has the session
	ended    bool
	slots    map[slot]*node
	void     uint64 // Creates and Abandons with a smaller number are refused
}

// grant opens a session whose lease runs for ttl from now on.
func (st *Store) grant(ttl time.Duration) *storeLease {
	st.last++
	l := &storeLease{id: strconv.FormatUint(st.last, 16), ttl: ttl, deadline: time.Now().Add(ttl), slots: make(map[slot]*node)}
	l.timer = time.AfterFunc(ttl, func() { st.lapse(l) })
	st.leases[l.id] = l
	return l
}

// renew extends a lease that has not lapsed. The timer may be late.
func (st *Store) renew(l *storeLease) error {
	now := time.Now()
	if l.ended || !now.Before(l.deadline) {
		return errNoSession
	}
	l.deadline = now.Add(l.ttl)
	l.timer.Reset(l.ttl)
	return nil
}

// lapse ends a session whose time has run out.
//
// The client's deadline is earlier by a margin. But after a pause of the process
// both timers are due at once. So the store makes the client look at the clock
// first. If the client did not know, it gets the margin to stop its work.
func (st *Store) lapse(l *storeLease) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if time.Now().Before(l.deadline) { // renewed in this moment, which has set the timer again
		return
	}
	if l.notify != nil && l.notify() {
		l.timer.Reset(lease.Margin(l.ttl)) // lapse is called again then
		return
	}
	st.end(l)
}

// end ends a session and removes its nodes. It is idempotent.
func (st *Store) end(l *storeLease) {
	l.ended = true
	l.timer.Stop()
	for _, n := range l.slots {
		st.remove(n)
	}
	delete(st.leases, l.id)
}

// create makes the node of a slot at the end of the line, or finds it.
func (st *Store) create(l *storeLease, at place, id string, data []byte) driver.Node {
	name := slot{at.dir, id}
	if n := l.slots[name]; n != nil {
		return n.Node
	}
	st.last++
	n := &node{at: at, Node: driver.Node{
		Dir: at.dir, ID: id, Session: l.id, Data: data,
		Key: at.namespace + "/" + at.dir + "/" + l.id + "-" + id,
		Seq: st.last, Token: st.last, Version: st.last,
	}}
	l.slots[name] = n
	st.directory(at).add(n)
	st.watches.fire(topic{at: at})
	return n.Node
}

// update replaces the data of the very node, unless a later update has landed.
func (st *Store) update(at place, very driver.Node, data []byte, number uint64) (driver.Node, error) {
	n := st.find(at, very)
	if n == nil {
		return driver.Node{}, &driver.Error{Op: "update", Store: scheme, Key: very.Key, Kind: driver.ErrGone}
	}
	if number > n.updated {
		st.last++
		n.updated, n.Version, n.Data = number, st.last, data
		st.dirs[at].stale = true
		st.watches.fire(topic{at: at})
	}
	return n.Node, nil
}

// find returns the very node, or nil if it is gone.
func (st *Store) find(at place, very driver.Node) *node {
	if d := st.dirs[at]; d != nil {
		return d.nodes[very.Token]
	}
	return nil
}

// directory returns a directory, which it makes if need be.
func (st *Store) directory(at place) *directory {
	if st.dirs[at] == nil {
		st.dirs[at] = &directory{nodes: make(map[uint64]*node), foreign: make(map[string]bool)}
	}
	return st.dirs[at]
}

// remove removes a node, and tells those who wait for that.
func (st *Store) remove(n *node) {
	delete(st.leases[n.Session].slots, slot{n.Dir, n.ID})
	st.dirs[n.at].remove(n)
	st.tidy(n.at)
	st.watches.fire(topic{token: n.Token})
	st.watches.fire(topic{at: n.at})
}

// tidy drops a directory if nothing is left in it.
func (st *Store) tidy(at place) {
	if d := st.dirs[at]; len(d.nodes)+len(d.foreign) == 0 {
		delete(st.dirs, at)
	}
}

package mem

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
)

// Store holds the nodes and sessions of any number of connections. It needs no
// closing. All methods are safe for concurrent use.
type Store struct {
	mu       sync.Mutex
	seq      uint64 // the last number given to a node, a session or a change
	dirs     map[place]*dir
	sessions map[string]*lessee
	stats    Stats  // kept up to date, but for Dirs and Sessions
	onLeft   func() // called, without the lock, when a Conn has closed; may be nil; set once at the start

	observers map[place]map[*observer]struct{} // that are set

	idle *dir // the last that became empty, which is kept, and may be in use again; or nil
}

// node is a node as the store has it.
type node struct {
	driver.Node
	dir     *dir
	owner   *lessee
	attempt uint64 // the latest attempt at creating it that found or made it
	updated uint64 // its owner's latest attempt at updating it
	gone    bool
	doomed  bool  // goes in the same step as another
	hooks   *hook // the watches on it
}

// newNode returns a node for a creation. Its place in the line is the store's to
// give.
func newNode(owner *lessee, at place, id string, data []byte) (*node, error) {
	if err := fits(OpCreate, at.dir, data); err != nil {
		return nil, err
	}
	n := &node{owner: owner}
	n.Dir, n.ID, n.Session = at.dir, id, owner.id
	n.Data = bytes.Clone(data) // the caller may go on using it
	n.Key = at.namespace + "/" + at.dir + "/" + owner.id + "-" + id
	return n, nil
}

// exact names one node, and no earlier or later one that has its name.
type exact struct {
	at    place
	key   string
	token uint64
}

// slot is what Create, Abandon and their repetitions are about.
type slot struct{ dir, id string }

// What the store answers, beside success.
var (
	errNoSession = errors.New("the store knows no such session")
	errNoNode    = errors.New("the store knows no such node")
	errVoid      = errors.New("the attempt was declared void")
)

// NewStore returns an empty store.
func NewStore() *Store { return newStore(0) }

// newStore returns an empty store that numbers from seq on.
func newStore(seq uint64) *Store {
	return &Store{
		seq:       seq,
		dirs:      make(map[place]*dir),
		sessions:  make(map[string]*lessee),
		observers: make(map[place]map[*observer]struct{}),
	}
}

// creation is a request to create a node, or to find it if it exists. As every
// request and answer it is small: each waiter in a long line comes back to a
// stack that has left the processor's caches, so what is copied from frame to
// frame is paid for by the cache line.
type creation struct {
	node    *node // the store's to keep
	at      place
	attempt uint64 // numbers the creations of a session as they are sent
	void    uint64 // earlier attempts up to this one must not land any more
	list    bool   // the answer shall hold the line
}

type created struct {
	line []driver.Node // or the node alone
	own  int           // the node's index
}

func (st *Store) create(r creation) (created, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	by := r.node.owner
	switch {
	case by.ended:
		return created{}, errNoSession
	case r.attempt <= by.void:
		return created{}, errVoid
	}
	by.void = max(by.void, r.void)
	name := slot{r.at.dir, r.node.ID}
	n := by.slots[name]
	if n == nil {
		n = r.node
		by.slots[name] = n
		st.addLocked(n, r.at)
	}
	n.attempt = max(n.attempt, r.attempt)
	if !r.list {
		return created{line: []driver.Node{n.Node}}, nil
	}
	line := n.dir.snapshot()
	own := len(line) - 1
	if n != r.node { // it may stand anywhere
		own, _ = slices.BinarySearchFunc(line, n.Seq, func(m driver.Node, seq uint64) int { return cmp.Compare(m.Seq, seq) })
	}
	return created{line, own}, nil
}

// addLocked puts a new node at the end of a line.
func (st *Store) addLocked(n *node, at place) {
	st.seq++
	n.Seq, n.Token, n.Version = st.seq, st.seq, st.seq
	n.dir = st.dirLocked(at)
	n.dir.add(n)
	st.stats.Nodes++
	st.changedLocked(at)
}

// abandoning is a request to undo every creation of a slot up to an attempt.
//
// One number per session stands for all its slots, because a number per slot
// would have to be kept for as long as a request may be on its way, and nobody
// knows how long that is. So other creations that were sent earlier and land
// later become void as well: the session sends them again.
type abandoning struct {
	by   *lessee
	name slot
	upTo uint64
}

func (st *Store) abandon(r abandoning) (struct{}, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if r.by.ended {
		return struct{}{}, errNoSession
	}
	r.by.void = max(r.by.void, r.upTo)
	if n := r.by.slots[r.name]; n != nil && n.attempt <= r.upTo {
		st.removeLocked(n)
	}
	return struct{}{}, nil
}

// listing is a request for a line. by is nil for an observer.
type listing struct {
	by *lessee
	at place
}

func (st *Store) list(r listing) ([]driver.Node, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if r.by != nil && r.by.ended {
		return nil, errNoSession
	}
	d := st.dirs[r.at]
	if d == nil {
		return nil, nil
	}
	return d.snapshot(), nil
}

// change is a request about the very node given.
type change struct {
	by   *lessee
	node exact
}

// update is a change that replaces the node's data.
type update struct {
	change
	data    []byte // the store's to keep
	attempt uint64 // numbers the updates of a session as they are sent
}

func (st *Store) update(r update) (driver.Node, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if r.by.ended {
		return driver.Node{}, errNoSession
	}
	n := st.find(r.node)
	if n == nil {
		return driver.Node{}, errNoNode
	}
	if r.attempt < n.updated {
		return n.Node, nil // a later one has overtaken it, and stays
	}
	n.updated = r.attempt
	st.seq++
	n.Version, n.Data = st.seq, r.data
	n.dir.changed()
	st.changedLocked(n.dir.at)
	return n.Node, nil
}

func (st *Store) delete(r change) (struct{}, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if r.by.ended {
		return struct{}{}, errNoSession
	}
	if n := st.find(r.node); n != nil {
		st.removeLocked(n)
	}
	return struct{}{}, nil
}

// dirLocked returns the directory, which it makes if need be.
func (st *Store) dirLocked(at place) *dir {
	d := st.dirs[at]
	if d == nil {
		if d = st.dropIdleLocked(); d == nil {
			d = new(dir)
		}
		d.at = at
		st.dirs[at] = d
	}
	return d
}

// find returns the very node, or nil if it is gone.
func (st *Store) find(n exact) *node {
	if d := st.dirs[n.at]; d != nil {
		return d.find(n.key, n.token)
	}
	return nil
}

func (st *Store) removeLocked(n *node) {
	delete(n.owner.slots, slot{n.Dir, n.ID})
	n.dir.remove(n)
	st.stats.Nodes--
	st.tidyLocked(n.dir)
	st.fireLocked(n)
	st.changedLocked(n.dir.at)
}

// tidyLocked is told of a directory that may have become empty. A store keeps nothing of
// names that are not in use, but for the last: it is the likeliest to be used next.
func (st *Store) tidyLocked(d *dir) {
	if d.empty() {
		d.clear()
		if d != st.idle {
			st.dropIdleLocked()
		}
		st.idle = d
	}
}

// dropIdleLocked removes the directory that is kept though it is empty, and returns it,
// or nil if there is none.
func (st *Store) dropIdleLocked() *dir {
	d := st.idle
	st.idle = nil
	if d == nil || !d.empty() {
		return nil
	}
	delete(st.dirs, d.at)
	return d
}

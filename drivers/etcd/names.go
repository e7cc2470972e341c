package etcd

import (
	"errors"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
)

// names is what a session knows of the keys of its nodes, so that it can delete
// one by its key alone. To ask for the revision at which it was created, which
// tells it from a later one of the same key, makes the deletion a transaction, and
// that takes three hundredths of a lock and unlock.
//
// A deletion of unknown outcome may come late, and nothing can fence it off. So its
// key is never made again: the slot goes on with a key of the next generation, and a
// deletion that comes late finds nothing. As long as all is well names are used again
// and again, which keeps ranges fast.
//
// What is known of a slot is forgotten when its node is gone, but for names that
// were given up: a deletion may come at any time while the session lives.
//
// It only holds while a request is sent once. conn.do sees to that, but a client of
// the program's own may have interceptors that send two at a time: see conn.direct.
type names struct {
	mu    sync.Mutex
	known map[string]*name // by the key of the first generation, if it is not the zero name
}

// name is what is known of the key of a slot.
type name struct {
	generation int
	token      uint64 // of the node of this generation; 0: there is none, or it is not known
	deleting   int    // deletions by this key that are under way
	doubted    uint64 // token of a node whose deletion by its token may come late; 0: none
	former     string // the key of the generation before, if its node may still be there
}

func newNames() *names { return &names{known: make(map[string]*name)} }

// next returns the key by which the node of a slot is to be created, or found, and
// the key of a former one that is to go with that, if there is one. What is known of
// the node does not count any more: somebody may have removed it, and then there
// will be another one.
func (t *names) next(first string) (key, former string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.known[first]
	if n == nil {
		return first, ""
	}
	if n.deleting > 0 {
		n.retire(first)
	}
	n.token = 0
	t.tidy(first, n)
	return keyOf(first, n.generation), n.former
}

// made takes note of the node that was created, or found. Of a slot there is one
// create at a time. The former node has gone with it, or before. It reports false if
// a deletion of that node may still come: then its key is given up, and the Create is to be
// made again.
func (t *names) made(first string, token uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.known[first]
	if n == nil {
		n = new(name)
		t.known[first] = n
	}
	if n.doubted == token {
		n.retire(first)
		return false
	}
	n.token, n.former = token, ""
	if n.doubted < token {
		n.doubted = 0 // that node is gone
	}
	return true
}

// current returns the keys that the node of a slot may have.
func (t *names) current(first string) (key, former string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.known[first]; n != nil {
		return keyOf(first, n.generation), n.former
	}
	return first, ""
}

// abandoned takes note that a slot has no node under any of its keys.
func (t *names) abandoned(first string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.known[first]; n != nil {
		n.token, n.doubted, n.former = 0, 0, ""
		t.tidy(first, n)
	}
}

// deleting reports whether a node can be deleted by its key alone: it is the last
// that was created by this key, and nobody is about to create another one. (What
// somebody else writes under the key goes with it.) If so, deleted is called
// afterwards.
func (t *names) deleting(first string, node driver.Node) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.known[first]
	if n == nil || n.token != node.Token || keyOf(first, n.generation) != node.Key {
		return false
	}
	n.deleting++
	return true
}

// deleted takes note of what came of a deletion.
func (t *names) deleted(first string, node driver.Node, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.known[first]
	if n == nil || keyOf(first, n.generation) != node.Key {
		return // the key is not used any more
	}
	n.deleting--
	switch {
	case err == nil:
		n.token, n.doubted = 0, 0
	case errors.Is(err, driver.ErrUncertain): // which one that Is ErrDenied may be as well
		n.retire(first)
	case errors.Is(err, driver.ErrUnavailable), errors.Is(err, driver.ErrDenied): // it was not done, and will not be
	default:
		n.retire(first)
	}
	t.tidy(first, n)
}

// doubted takes note of what came of a deletion that asked for the node's token. If
// that is not known it may come late, when a Create has found the node again. So a
// Create that finds it retires the key. Another node, which the deletion spares, stays.
func (t *names) doubted(first string, node driver.Node, err error) {
	if !errors.Is(err, driver.ErrUncertain) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.known[first]
	if n == nil {
		n = new(name)
	}
	if keyOf(first, n.generation) == node.Key && n.token <= node.Token {
		n.doubted = max(n.doubted, node.Token)
		t.known[first] = n
	}
}

// retire gives up a key for good.
func (n *name) retire(first string) {
	*n = name{generation: n.generation + 1, former: keyOf(first, n.generation)}
}

// tidy forgets a name of which there is nothing to know. The caller holds the lock.
func (t *names) tidy(first string, n *name) {
	if *n == (name{}) {
		delete(t.known, first)
	}
}

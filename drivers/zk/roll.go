package zk

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
)

// roll is the line of a directory by names alone, as it was listed last. Those
// who wait list long lines again and again, of which little has changed: what is
// left is not taken apart and put in order each time, nor copied.
type roll struct {
	mu     sync.Mutex
	seed   maphash.Seed
	parent int64 // czxid of the directory
	latest int64 // pzxid of the directory when it was listed last
	line   line

	// foreign are names that look like those of nodes and are not: what somebody
	// else put there under such a name would outlive the session that it tells,
	// and is not the session's. It takes a look at the node to find out.
	foreign map[string]struct{}
}

// call returns the nodes of a listing without data, in the order of Seq. It
// reports false if the names do not tell: the sequence is exhausted, or two have
// the same, of which one is foreign.
func (r *roll) call(c *conn, dir string, ls listing) ([]driver.Node, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance(ls)
	known := r.line
	late := ls.stat.Czxid != r.parent || ls.stat.Pzxid < r.latest
	if late { // than another's, which stays what is remembered
		known = known.clip()
	}
	there := make([]bool, len(known.nodes))
	first, end, found := len(there), 0, 0
	var fresh line
	for _, base := range ls.names {
		at := r.sign(base, ls.stat.Czxid)
		if i, ok := known.find(at); ok {
			there[i] = true
			first, end, found = min(first, i), max(end, i+1), found+1
			continue
		}
		if ls.shared {
			base = strings.Clone(base)
		}
		n, ok := parseName(base)
		if !ok || r.isForeign(base) {
			continue
		}
		if at == (sign{}) {
			return nil, false
		}
		fresh.add(c.asNode(dir, base, n, remembered{}, ls.stat), at)
	}
	// Mostly what is gone was ahead of all others, and what is new is behind.
	left := known.part(min(first, end), end)
	if found < end-first {
		left = known.those(there)
	}
	left, ok := left.and(fresh)
	if !ok {
		return nil, false
	}
	if !late {
		r.line, r.latest = left, ls.stat.Pzxid
	}
	return slices.Clip(left.nodes), true
}

// sign returns what a name is recognized by, or the zero sign if it is not
// numbered.
func (r *roll) sign(base string, parent int64) sign {
	sequence, ok := trailing(base)
	if !ok || strings.HasSuffix(base[:len(base)-sequenceLength], "--") { // a negative one has eleven characters
		return sign{}
	}
	seq, ok := number(parent, sequence)
	if !ok {
		return sign{}
	}
	return sign{seq, maphash.String(r.seed, base)}
}

// strike takes note that a name is foreign.
func (r *roll) strike(base string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.foreign == nil {
		r.foreign = make(map[string]struct{})
	}
	r.foreign[base] = struct{}{}
	keep := make([]bool, len(r.line.nodes))
	for i, n := range r.line.nodes {
		_, listed := cut(n.Key)
		keep[i] = listed != base
	}
	r.line = r.line.those(keep)
}

// strike takes note that a path is that of no node.
func (c *conn) strike(path string) {
	dir, base := cut(path)
	_, dir = cut(dir)
	c.cache.directory(dir).roll.strike(base)
}

// parse takes the names of a listing apart, without those that are foreign.
func (r *roll) parse(ls listing) (names []name, bases []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance(ls)
	names, bases = make([]name, 0, len(ls.names)), make([]string, 0, len(ls.names))
	for _, base := range ls.names {
		if ls.shared {
			base = strings.Clone(base)
		}
		if n, ok := parseName(base); ok && !r.isForeign(base) {
			names, bases = append(names, n), append(bases, base)
		}
	}
	return names, bases
}

// advance makes the roll one of a listing's directory, if that is a later one.
// What is foreign is forgotten when it is not listed any more. The caller holds
// the lock.
func (r *roll) advance(ls listing) {
	if ls.stat.Czxid > r.parent {
		r.parent, r.latest, r.line = ls.stat.Czxid, 0, line{}
	}
	if len(r.foreign) == 0 {
		return
	}
	still := make(map[string]struct{})
	for _, base := range ls.names {
		if r.isForeign(base) {
			still[strings.Clone(base)] = struct{}{}
		}
	}
	r.foreign = still
}

// isForeign is for callers that hold the lock.
func (r *roll) isForeign(base string) bool {
	_, foreign := r.foreign[base]
	return foreign
}

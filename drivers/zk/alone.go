package zk

import "sync"

// alone is what a session knows of directories that it has to itself, most of the
// time. Its last node there was the only one, and it has deleted that: if the next
// one has the next number of the sequence, nobody has made any in between, so it is
// the only one as well, and there is nothing to list.
//
// The sequence begins anew with the directory, which the servers remove when it is
// empty: the next number may be one that others have come to, in another directory
// of that name. But each of theirs takes a zxid of its own. So it is looked at how
// many were given out since. (As with the order of nodes, see number, a foreign
// transaction that makes many children of a directory at once takes one for all. It
// could do harm only in a directory that was removed and made again a moment ago.)
type alone struct {
	mu   sync.Mutex
	dirs map[string]spell
}

// spell is the last time that a session had a directory to itself.
type spell struct {
	base     string // its node
	parent   int64  // czxid of the directory
	sequence int32  // of the node
	left     uint64 // the zxid by which the node was deleted; 0 if it is not known to be
	told     bool   // what the next one brings is likely to be told by its number: that was so for this one
}

// goesOn reports whether a node with the sequence, and which was there at the zxid,
// is certain to be the only one.
func (p spell) goesOn(sequence int32, at uint64) bool {
	// To come to that number in another directory takes sequence + 2 zxids at least.
	// An answer may tell of a later zxid than its own, if others' changes are made
	// before it is sent, so half of that is what counts.
	return p.left != 0 && sequence == p.sequence+1 && at >= p.left && at-p.left <= uint64(sequence)/2
}

// likely reports whether the next node in a directory is likely to need no list.
func (a *alone) likely(dir string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.dirs[dir]
	return p.told && p.left != 0
}

// only reports whether a node that was just made without a list is certain to be the
// only one, and if so the czxid of its directory.
func (a *alone) only(dir string, sequence int32, at uint64) (parent int64, certain bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.dirs[dir]
	return p.parent, p.goesOn(sequence, at)
}

// made takes note of a node of the session's own, whether a list, or its number, has
// shown that it is the only one, and of a zxid at which it was there.
func (a *alone) made(dir string, now spell, only bool, at uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !only {
		delete(a.dirs, dir)
		return
	}
	before, known := a.dirs[dir]
	if now.told = before.goesOn(now.sequence, at); before.base == now.base {
		now.told = before.told
	}
	if a.dirs == nil {
		a.dirs = make(map[string]spell)
	}
	if !known && len(a.dirs) >= mostDirs {
		for other := range a.dirs { // any: it costs a list
			delete(a.dirs, other)
			break
		}
	}
	a.dirs[dir] = now
}

// left takes note that the session has deleted a node by the zxid.
func (a *alone) left(dir, base string, at uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, ok := a.dirs[dir]; ok && p.base == base {
		p.left = at
		a.dirs[dir] = p
	}
}

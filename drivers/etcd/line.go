package etcd

import (
	"maps"

	"github.com/coordkit/coordkit/coord/driver"
)

// line is a directory as it was at a revision, but for what is known to have gone
// from its beginning. Nothing that came later is ahead of what is in it.
type line struct {
	nodes []standing
	at    uint64
	least uint64 // what the line must be of to count

	// ours are deletions that this process has made, by key, and the watch has not
	// told of yet. What the watch tells comes in order, which waits rely on.
	ours map[string]uint64
}

// standing is a node in a line.
type standing struct {
	key   string
	token uint64
}

func newLine() line { return line{ours: make(map[string]uint64)} }

// listed takes note of a list, unless there is a later one.
func (l *line) listed(nodes []driver.Node, revision uint64) {
	if revision <= l.at {
		return
	}
	l.nodes, l.at = make([]standing, 0, len(nodes)), revision
	for i := range nodes {
		l.nodes = append(l.nodes, standing{nodes[i].Key, nodes[i].Token})
	}
}

// outdated takes note that lists of before a revision do not count any more.
func (l *line) outdated(revision uint64) { l.least = max(l.least, revision) }

// deleted takes note of a deletion that this process has made, and the watch has
// not told of.
func (l *line) deleted(key string, revision uint64) { l.ours[key] = max(l.ours[key], revision) }

// told takes note that the watch has told of a deletion.
func (l *line) told(key string, revision uint64) {
	if l.ours[key] <= revision {
		delete(l.ours, key)
	}
}

// caughtUp takes note that a watch tells of everything after a revision, and that
// no earlier list counts any more.
func (l *line) caughtUp(revision uint64) {
	maps.DeleteFunc(l.ours, func(_ string, deleted uint64) bool { return deleted <= revision })
}

// first reports whether a node is the first, if that is known: it was in the line.
// gone are the deletions since.
func (l *line) first(n driver.Node, gone map[string]uint64) (first, known bool) {
	if l.at < n.Token {
		return false, false
	}
	for len(l.nodes) > 0 && max(gone[l.nodes[0].key], l.ours[l.nodes[0].key]) > l.nodes[0].token {
		l.nodes = l.nodes[1:]
	}
	return len(l.nodes) > 0 && l.nodes[0] == standing{n.Key, n.Token}, true
}

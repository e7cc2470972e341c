package etcd

import (
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// Where a connection has few of many nodes, most of what a watch of the directory
// tells is of no use to it, and each deletion is told to everybody. Then the next
// in line costs less if it watches a single key, though that takes two messages
// and often a read for each wait. That read costs the server the more the longer
// the line is, and what a directory's feed costs grows with the number of
// connections; so it is the number of nodes for each of them that decides.
const (
	crowd     = 12          // nodes for each of the connection's own
	few       = 8           // of its own, or more: no crowd
	crowdedAs = time.Minute // how long that is remembered
)

// gathering is what is remembered of a directory that is crowded, or was. It is listed
// by keys alone where that does, which leaves open what is a node and what only looks
// like one. Who waits for such a thing finds out: by the read that most waits begin
// with, or by one a little later. From then on the directory is listed in full for a
// while.
type gathering struct {
	crowded bool
	found   time.Time // when it was found so last
	guessed uint64    // the last revision of which it was listed by keys that did not tell their leases
	strange time.Time // when something was found last that only looked like a node
}

// listed takes note of a list of a directory as it was at a revision, and of whether
// it is a guess what of it are nodes.
func (h *feeds) listed(dir span, nodes []driver.Node, session string, revision uint64, guessed bool) {
	ours := 0
	for i := range nodes {
		if nodes[i].Session == session {
			ours++
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.crowds[dir]
	switch crowded := ours < few && len(nodes) > crowd*max(ours, 1); {
	case crowded && g == nil:
		g = new(gathering)
		h.crowds[dir] = g
		fallthrough
	case crowded:
		g.crowded, g.found = true, time.Now()
	case g != nil:
		g.crowded = false
	}
	if guessed && g != nil {
		g.guessed = max(g.guessed, revision)
	}
	if f := h.all[dir]; f != nil {
		f.line.listed(nodes, revision)
	}
}

// crowded reports whether a directory was found crowded. The caller holds the
// lock.
func (h *feeds) crowded(dir span) bool {
	g := h.crowds[dir]
	return g != nil && g.crowded
}

// byKeys reports whether keys alone do for a list of a directory.
func (h *feeds) byKeys(dir span) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.crowded(dir) && time.Since(h.crowds[dir].strange) > crowdedAs
}

// guessed reports whether somebody waits for what may not be a node. The caller holds
// the lock.
func (h *feeds) guessed(dir span, w *wait) bool {
	g := h.crowds[dir]
	if g == nil || w.told {
		return false
	}
	for _, t := range w.targets {
		if t.token <= g.guessed {
			return true
		}
	}
	return false
}

// met takes note that something was read that only looks like a node. The caller
// holds the lock.
func (h *feeds) met(dir span) {
	if g := h.crowds[dir]; g != nil {
		g.strange = time.Now()
	}
}

// disperse forgets the crowds of long ago. The caller holds the lock.
func (h *feeds) disperse(now time.Time) {
	for dir, g := range h.crowds {
		if now.Sub(g.found) > crowdedAs {
			delete(h.crowds, dir)
		}
	}
}

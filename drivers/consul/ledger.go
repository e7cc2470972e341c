package consul

import (
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
)

// ledger is what a session knows of its own nodes in the store. It tells
// whether a list is recent enough: a leader that was deposed and does not know
// it yet answers too, with what it has, unless it is asked to make sure that it
// leads, which costs a round of messages among the servers.
type ledger struct {
	mu     sync.Mutex
	live   map[string]map[string]entry // by directory and id
	newest uint64                      // the greatest token that was acknowledged
}

// entry is a node that was acknowledged to exist.
type entry struct {
	token   uint64
	version uint64 // when it was last changed
	ahead   int    // how many nodes were ahead of it when it was made, as far as is known

	// behind is the last of these.
	behind driver.Node
}

// wrote takes note that a node was acknowledged to be as n says.
func (l *ledger) wrote(n driver.Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live == nil {
		l.live = make(map[string]map[string]entry)
	}
	if l.live[n.Dir] == nil {
		l.live[n.Dir] = make(map[string]entry)
	}
	known := l.live[n.Dir][n.ID]
	if n.Token > known.token {
		known = entry{token: n.Token}
	}
	known.version = max(n.Version, known.version)
	l.live[n.Dir][n.ID] = known
	l.newest = max(l.newest, n.Token)
}

// joined takes note of the line as it was when a node was made.
func (l *ledger) joined(n driver.Node, line []driver.Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.live[n.Dir][n.ID]
	if i := slices.IndexFunc(line, n.Same); i > 0 && known.token == n.Token {
		known.ahead, known.behind = i, driver.Node{Key: line[i-1].Key, Token: line[i-1].Token}
		l.live[n.Dir][n.ID] = known
	}
}

// place returns how many nodes were ahead of a node when it was made, or 0 if
// that is not known, and the last of them.
func (l *ledger) place(n driver.Node) (ahead int, behind driver.Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.live[n.Dir][n.ID]; known.token == n.Token {
		return known.ahead, known.behind
	}
	return 0, driver.Node{}
}

// dropped takes note that a node, or an earlier one in its slot, is gone.
func (l *ledger) dropped(dir, id string, token uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.live[dir][id]; !ok || known.token > token {
		return
	}
	delete(l.live[dir], id)
	if len(l.live[dir]) == 0 {
		delete(l.live, dir)
	}
}

// missing takes note of a linearizable list, asked for after the page was taken: what
// it does not show is gone, whoever did that.
func (l *ledger) missing(dir string, p page, nodes []driver.Node) {
	for id, known := range p.live {
		if !slices.ContainsFunc(nodes, func(n driver.Node) bool { return n.ID == id && n.Token == known.token }) {
			l.dropped(dir, id, known.token)
		}
	}
}

// abandoned takes note that a slot is empty, whatever was made in it before a
// position of the fence.
func (l *ledger) abandoned(dir, id string, fence uint64) {
	l.dropped(dir, id, math.MaxUint64)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest = max(l.newest, fence)
}

// version returns when a node was last changed, as far as is known.
func (l *ledger) version(n driver.Node) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.live[n.Dir][n.ID]; known.token == n.Token {
		return max(known.version, n.Version)
	}
	return n.Version
}

// page is what the ledger holds of a directory at a time.
type page struct {
	live   map[string]entry
	newest uint64
}

func (l *ledger) page(dir string) page {
	l.mu.Lock()
	defer l.mu.Unlock()
	return page{maps.Clone(l.live[dir]), l.newest}
}

// empty reports whether nothing can be told by the page.
func (p page) empty() bool { return len(p.live) == 0 }

// shown reports whether a list certainly holds what was acknowledged to the
// session before the page was taken.
func (p page) shown(session string, nodes []driver.Node) bool {
	missing := len(p.live)
	for _, n := range nodes {
		if n.Session != session {
			continue
		}
		known, ok := p.live[n.ID]
		switch {
		case ok && n.Token == known.token && n.Version >= known.version:
			missing--
		case n.Token > p.newest: // made since
		default: // as it was before it was deleted or updated
			return false
		}
	}
	return missing == 0
}

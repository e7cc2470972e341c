package mem

import (
	"slices"
	"time"
)

// Direction says which way a message goes. Its values combine with |, and are
// those of netfault.Direction, so that one converts to the other.
type Direction uint8

const (
	Up   Direction   = 1 << iota // from the client to the store: requests
	Down                         // from the store to the client: replies and news
	Both = Up | Down             // in either direction
)

// Freeze stops direction d: what is sent is neither delivered nor lost. Thaw or
// Heal delivers it, in order, also what no caller waits for any more.
func (l *Link) Freeze(d Direction) { l.each(d, func(p *pipe) { p.frozen = true }) }

// Thaw ends Freeze for direction d and leaves every other fault alone.
func (l *Link) Thaw(d Direction) { l.each(d, func(p *pipe) { p.frozen = false }) }

// Blackhole silently discards what is sent in direction d, and what is held in it.
// Calls get no reply until Heal, which then resets the connection.
func (l *Link) Blackhole(d Direction) { l.each(d, func(p *pipe) { p.lossy = true }) }

// DropReplies is Blackhole(Down): requests are applied, no reply comes back.
func (l *Link) DropReplies() { l.Blackhole(Down) }

// Delay delivers each message of direction d no sooner than delay after it was
// sent, in order; zero or less ends it. It applies to what is on its way too.
func (l *Link) Delay(d Direction, delay time.Duration) { l.each(d, func(p *pipe) { p.delay = delay }) }

// each changes the pipes of a direction.
func (l *Link) each(d Direction, f func(*pipe)) {
	l.change(func() {
		for way, p := range map[Direction]*pipe{Up: &l.up, Down: &l.down} {
			if d&way != 0 {
				f(p)
			}
		}
	})
}

// DropNextReply lets the next request of some kinds be applied, and then resets
// the connection in place of the reply: the call fails at once with
// driver.ErrUncertain. Without kinds, any but OpRenew is meant. Calling it n times
// is meant for n requests.
func (l *Link) DropNextReply(kinds ...Op) { l.trap(trap{drop, kinds, nil}) }

// LoseNextRequest refuses the next request of some kinds, as for DropNextReply: it
// is not applied and fails at once with driver.ErrUnavailable.
func (l *Link) LoseNextRequest(kinds ...Op) { l.trap(trap{lose, kinds, nil}) }

func (l *Link) trap(t trap) { l.change(func() { l.traps = append(l.traps, t) }) }

// Cut resets the connection, as DropConnections does, and refuses every request
// with driver.ErrUnavailable until Heal.
func (l *Link) Cut() { l.change(func() { l.cut = true; l.reset() }) }

// DropConnections resets the connection: calls that wait for a reply fail with
// driver.ErrUncertain, and what is on its way is lost. The next call gets through.
func (l *Link) DropConnections() { l.change(l.reset) }

// Heal ends every fault. After Blackhole it resets the connection; otherwise what
// was held is delivered before Heal returns. What Hold has caught stays caught. The
// error is always nil, and there for likeness with package netfault.
func (l *Link) Heal() error {
	l.change(func() {
		if l.up.lossy || l.down.lossy {
			l.reset()
		}
		l.cut, l.traps = false, nil
		for _, p := range []*pipe{&l.up, &l.down} {
			p.frozen, p.lossy, p.delay = false, false, 0
		}
		close(l.healed)
		l.healed = make(chan struct{})
	})
	return nil
}

// Requests returns how many requests were sent, also those that were refused.
func (l *Link) Requests() int64 { return int64(l.sent.Load()) }

// Hold catches the next request of some kinds, as for DropNextReply, on its way to
// the store. Later requests overtake it, its sender waits or gives up, and only
// Release lets it land: so it may land as late as a test likes.
func (l *Link) Hold(kinds ...Op) *HeldRequest {
	h := &HeldRequest{link: l, caught: make(chan struct{})}
	l.trap(trap{hold, kinds, h})
	return h
}

// Caught is closed when a request was caught.
func (h *HeldRequest) Caught() <-chan struct{} { return h.caught }

// Release lets the request land, whatever state the link is in, and returns
// when it has. The reply goes the usual way, if the sender still waits. If none
// was caught yet, none will be.
func (h *HeldRequest) Release() {
	h.link.change(func() {
		h.link.traps = slices.DeleteFunc(h.link.traps, func(t trap) bool { return t.held == h })
		if h.m != nil {
			h.link.land(h.m)
			h.m = nil
		}
	})
}

// Stats counts what a store holds. The zero value means that nothing is left.
type Stats struct {
	Conns    int // connections that are open
	Sessions int // sessions that the store has not ended
	Watches  int // waits and observers that the store has to tell something one day
	Dirs     int // directories with a node or a foreign key
	Nodes    int
	Foreign  int // keys put by PutForeign
}

// Stats returns the counts, all taken at one moment.
func (st *Store) Stats() Stats {
	st.mu.Lock()
	defer st.mu.Unlock()
	s := Stats{Conns: st.conns, Sessions: len(st.leases), Watches: len(st.watches.all()), Dirs: len(st.dirs)}
	for _, d := range st.dirs {
		s.Nodes += len(d.nodes)
		s.Foreign += len(d.foreign)
	}
	return s
}

// Expire ends a session at once, as an operator might: the nodes vanish, and the
// client hears of it with its next call or renewal. It reports whether there was
// such a session.
func (st *Store) Expire(sessionID string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	l := st.leases[sessionID]
	if l != nil {
		st.end(l)
	}
	return l != nil
}

// Remove deletes a node, as an operator might. key is the node's Key, or what
// PutForeign was given. It reports whether there was such a node.
func (st *Store) Remove(namespace, dir, key string) bool {
	return st.removeIf(func(at place, k string) bool { return at == place{namespace, dir} && k == key })
}

// RemoveDir deletes a directory with all that is in it. It reports whether there
// was one.
func (st *Store) RemoveDir(namespace, dir string) bool {
	return st.removeIf(func(at place, _ string) bool { return at == place{namespace, dir} })
}

// RemoveNamespace deletes all directories of a namespace.
func (st *Store) RemoveNamespace(namespace string) {
	st.removeIf(func(at place, _ string) bool { return at.namespace == namespace })
}

// removeIf removes keys in one step. It reports whether there were any.
func (st *Store) removeIf(meant func(at place, key string) bool) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	removed := false
	for at, d := range st.dirs {
		for key := range d.foreign {
			if meant(at, key) {
				delete(d.foreign, key)
				removed = true
			}
		}
		st.tidy(at)
		for _, n := range d.nodes {
			if meant(at, n.Key) {
				st.remove(n)
				removed = true
			}
		}
	}
	return removed
}

// PutForeign puts a key into a directory that no driver has made.
func (st *Store) PutForeign(namespace, dir, key string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.directory(place{namespace, dir}).foreign[key] = true
}

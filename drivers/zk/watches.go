package zk

import (
	"context"
	"sync"
	"time"
)

// watches are what a link watches: nodes that somebody waits for, each with one
// watch, however many wait. A watch costs no goroutine while it stands.
//
// It is a watch of the node's children, which it cannot have, as ephemeral
// nodes have none: the server fires it when the node is deleted and not when
// its data change, and sets none if the node does not exist. The library knows
// nothing of it. So what to watch on another connection, and what not any more,
// is decided here.
//
// The answer also tells whom a node belongs to. If that is not the session that
// its name tells, it is foreign, and the wait is told that there is no such node.
//
// A watch outlives its last wait by a while and is then taken back.
type watches struct {
	link    *link
	foreign func(path string) // is told of what is foreign; set before the first wait
	running sync.WaitGroup
	ctx     context.Context // ends with the link
	cancel  context.CancelFunc

	mu     sync.Mutex
	closed bool
	wire   *wire // the connection whose server has the watches
	all    map[string]*watch
	sweep  *time.Timer

	news []*wait // that have something to hear, see tell
}

// watch is the watch of one node.
type watch struct {
	path    string
	owner   int64 // whom the name tells it belongs to
	state   watchState
	foreign bool // it belongs to somebody else
	targets []*target
	idle    time.Time // since when nobody waits
}

type watchState int

const (
	arming   watchState = iota // being asked for
	armed                      // the server has it
	dropping                   // being taken back
)

func newWatches(l *link) *watches {
	h := &watches{link: l, all: make(map[string]*watch)}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// join has the wait told when one of its nodes is gone.
func (h *watches) join(w *wait) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return // the session's end ends the wait
	}
	var unarmed []*watch
	for _, t := range w.targets {
		v := h.all[t.path]
		if v == nil {
			v = &watch{path: t.path, owner: t.owner}
			h.all[t.path] = v
			unarmed = append(unarmed, v)
		}
		v.targets = append(v.targets, t)
		t.alive, t.gone = v.state == armed, v.foreign
		if t.gone {
			h.news = append(h.news, w)
		}
	}
	if len(unarmed) > 0 {
		h.armLocked(unarmed...)
	}
	h.tellLocked()
}

// leave ends the wait.
func (h *watches) leave(w *wait) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.told = true
	for _, t := range w.targets {
		v := h.all[t.path]
		if v == nil {
			continue
		}
		for i, other := range v.targets {
			if other == t {
				last := len(v.targets) - 1
				v.targets[i], v.targets[last] = v.targets[last], nil
				v.targets = v.targets[:last]
				break
			}
		}
		if len(v.targets) == 0 && v.state == armed {
			h.unused(v)
		}
	}
}

// moved has the watches set anew on another connection.
func (h *watches) moved(w *wire) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wire = w
	for path, v := range h.all {
		switch {
		case v.state == arming: // arm does it
		case len(v.targets) == 0:
			delete(h.all, path)
		default:
			for _, t := range v.targets {
				t.alive = false
			}
			h.armLocked(v)
		}
	}
}

// fired takes the event of a watch.
func (h *watches) fired(path string, deleted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch v := h.all[path]; {
	case v == nil:
	case deleted:
		h.vanished(v)
	case v.state == armed: // what is foreign can have children: look again
		h.armLocked(v)
	}
}

// vanished takes note that a node is gone. The caller holds the lock.
func (h *watches) vanished(v *watch) {
	delete(h.all, v.path)
	for _, t := range v.targets {
		t.gone = true
		h.news = append(h.news, t.wait)
	}
}

// close ends everything. The waits end with their session.
func (h *watches) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.cancel()
	if h.sweep != nil {
		h.sweep.Stop()
	}
}

package zk

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/dial"
)

// WaitDelete implements driver.Session.
func (s *session) WaitDelete(ctx context.Context, n driver.Node) error {
	_, err := s.WaitAny(ctx, []driver.Node{n})
	return err
}

// WaitAny implements driver.AnyWaiter.
func (s *session) WaitAny(ctx context.Context, nodes []driver.Node) (gone int, err error) {
	o := s.Read("wait", "")
	o.Limit = 0
	if len(nodes) == 0 {
		return 0, invalid(o, "no nodes to wait for")
	}
	o.Key = nodes[0].Dir
	for _, n := range nodes {
		if err := s.tree.check(n); err != nil {
			return 0, o.Failed(nil, err)
		}
		if n.Dir != o.Key {
			return 0, invalid(o, "node %s is not in directory %q", n.Key, o.Key)
		}
	}
	if ctx.Err() != nil {
		return 0, o.Failed(nil, driver.ContextError(ctx))
	}
	err = s.Do(ctx, o, func(ctx context.Context) (err error) {
		gone, err = s.wait(ctx, nodes)
		return answered(o, err)
	})
	if _, ok := errors.AsType[*driver.Error](err); ok && ctx.Err() != nil && driver.Transient(err) {
		err = o.Failed(nil, driver.ContextError(ctx)) // of a wait nothing is uncertain
	}
	return gone, err
}

// wait returns the index of a node that is gone. All waits of a session for a node share a
// watch: of the node's children, of which it can have none, so that it fires for nothing but
// the deletion, and is not set if there is no node.
func (s *session) wait(ctx context.Context, nodes []driver.Node) (int, error) {
	wake := make(chan struct{}, 1)
	all := make([]*watchedPath, len(nodes))
	for i, n := range nodes {
		all[i] = s.link.watches.join(n.Key, wake)
		defer s.link.watches.leave(all[i], wake)
	}
	for pause := dial.Least; ctx.Err() == nil; {
		var arming sync.WaitGroup
		errs := make([]error, len(nodes))
		for i, w := range all {
			if mine, gone := s.link.watches.begin(w); gone {
				arming.Wait()
				return i, nil
			} else if mine {
				arming.Go(func() { errs[i] = answered(s.Read("wait", w.path), s.arm(ctx, w, nodes[i])) })
			}
		}
		arming.Wait()
		for _, err := range errs {
			if _, refused := errors.AsType[*driver.Error](err); refused {
				return 0, err
			}
		}
		if errors.Join(errs...) != nil {
			select {
			case <-time.After(pause/2 + rand.N(pause)):
			case <-ctx.Done():
			}
			pause = min(2*pause, time.Second)
			continue
		}
		select {
		case <-wake:
		case <-ctx.Done():
		}
	}
	return 0, ctx.Err()
}

// arm asks for the watch of a node. Its answer tells whether the node is there, and to whom
// it belongs.
func (s *session) arm(ctx context.Context, w *watchedPath, n driver.Node) error {
	ctx, cancel := context.WithTimeout(ctx, s.TTL()/3)
	defer cancel()
	start := s.link.watches.now(w)
	ls, err := children(ctx, s.link, w.path)
	if errors.Is(err, gozk.ErrNoNode) && int64(n.Version) > s.link.seen.Load() {
		// The server may not have heard of the node yet.
		if err = agree(ctx, s.link); err == nil {
			s.link.saw(int64(n.Version))
			ls, err = children(ctx, s.link, w.path)
		}
	}
	gone := errors.Is(err, gozk.ErrNoNode)
	if err == nil {
		_, base := cut(w.path)
		if parsed, _ := parseName(base); ls.stat.EphemeralOwner != parsed.owner { // another client has made it
			s.tree.directory(n.Dir).strike(base)
			gone = true
		}
	}
	s.link.watches.finish(w, start, err == nil, gone)
	if gone {
		return nil
	}
	return err
}

// watches are the paths that users of a link watch: nodes for their deletion, directories
// for every change. The wire makes watches of all reads of these paths.
type watches struct {
	link   *link
	linger time.Duration

	mu    sync.Mutex
	paths map[string]*watchedPath
}

// watchedPath is a path that is watched.
type watchedPath struct {
	path  string
	users map[chan struct{}]struct{} // each is woken at every change
	armed bool                       // the server has the watch of a node that was there
	busy  bool                       // somebody asks for the watch, or takes it back
	gone  bool                       // the node is gone, or is none
	state int                        // counts what may have ended the server's watch
}

// linger is how long a watch outlives its last user, who often comes back at once.
const linger = time.Second

func newWatches(l *link) *watches {
	return &watches{link: l, linger: linger, paths: make(map[string]*watchedPath)}
}

// wanted reports whether reads of a path set watches.
func (h *watches) wanted(path string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.paths[path]
	return w != nil && len(w.users) > 0
}

// join begins to use the watch of a path, and leave ends that.
func (h *watches) join(path string, wake chan struct{}) *watchedPath {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.paths[path]
	if w == nil {
		w = &watchedPath{path: path, users: make(map[chan struct{}]struct{})}
		h.paths[path] = w
	}
	w.users[wake] = struct{}{}
	return w
}

func (h *watches) leave(w *watchedPath, wake chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(w.users, wake)
	if len(w.users) == 0 && h.paths[w.path] == w {
		time.AfterFunc(h.linger, func() { h.takeBack(w) })
	}
}

// takeBack has the server remove a watch that nobody uses. Who comes meanwhile waits until
// that is written: what it asks for then comes later.
func (h *watches) takeBack(w *watchedPath) {
	h.mu.Lock()
	if len(w.users) > 0 || w.busy || h.paths[w.path] != w {
		h.mu.Unlock()
		return
	}
	w.armed, w.busy = false, true
	h.mu.Unlock()
	h.link.current().takeBack(w.path) // if it is lost, so is the connection, and the watch
	h.mu.Lock()
	defer h.mu.Unlock()
	w.busy = false
	w.wake()
	if len(w.users) == 0 && h.paths[w.path] == w {
		delete(h.paths, w.path)
	}
}

// begin reports whether the caller has to ask for the watch, and calls finish then, and
// whether the node is gone.
func (h *watches) begin(w *watchedPath) (mine, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.gone || w.armed || w.busy {
		return false, w.gone
	}
	w.busy = true
	return true, false
}

// now returns the state of the watch, which changes when the server's watch may have ended.
func (h *watches) now(w *watchedPath) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return w.state
}

// finish takes the answer to a request for the watch, which was made in the given state.
func (h *watches) finish(w *watchedPath, state int, armed, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.busy = false
	w.armed = armed && w.state == state
	w.gone = w.gone || gone
	w.wake()
	switch {
	case h.paths[w.path] != w:
	case gone && !armed: // the server has no watch
		delete(h.paths, w.path)
	case len(w.users) == 0:
		time.AfterFunc(h.linger, func() { h.takeBack(w) })
	}
}

// fired takes the event of a watch.
func (h *watches) fired(path string, deleted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.paths[path]
	if w == nil {
		return
	}
	w.ended()
	_, base := cut(path)
	if _, node := parseName(base); deleted && node {
		w.gone = true
		delete(h.paths, path)
	}
}

// moved takes note that another connection is in use, whose server has no watches.
func (h *watches) moved() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.paths {
		w.ended()
	}
}

// ended takes note that the server has the watch no more. The caller holds the lock.
func (w *watchedPath) ended() {
	w.armed = false
	w.state++
	w.wake()
}

func (w *watchedPath) wake() {
	for wake := range w.users {
		select {
		case wake <- struct{}{}:
		default: // it has not looked yet
		}
	}
}

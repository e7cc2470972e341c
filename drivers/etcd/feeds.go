package etcd

import (
	"context"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/coordkit/coordkit/coord/driver"
)

// feedTiming is every duration that feeds choose.
type feedTiming struct {
	linger time.Duration // how long a feed outlives its last wait
	quiet  time.Duration // after how much silence the server is asked for a sign of life
	answer time.Duration // how long it may take to answer
	verify time.Duration // how often waits are checked against the store, about
	tick   time.Duration // how often all of these are looked at
}

var defaultFeedTiming = feedTiming{
	linger: time.Second,
	quiet:  3 * time.Second,
	answer: 2 * time.Second,
	verify: 30 * time.Second,
	tick:   500 * time.Millisecond,
}

// feeds are the feeds of a connection, for those who wait, and its views, for
// those who observe. All their watches share one stream, so that a wait costs
// neither a goroutine nor a stream; the stream is open while there are any. A
// feed is for a range of keys: a directory, whatever number of its nodes is waited
// for, or a single key in a crowded one. A view is one observer's.
type feeds struct {
	conn   *conn
	client pb.WatchClient
	timing feedTiming

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	wake    chan struct{} // has room for one; the stream has something to send

	mu      sync.Mutex
	closed  bool
	serving bool // the goroutine that owns the stream runs
	all     map[span]*feed
	crowds  map[span]time.Time // directories that were found crowded, and when last
	resting map[span]*feed     // of single keys that somebody waited for last, by directory
	views   map[*view]struct{}
	link    link // the state of the stream
}

func newFeeds(c *conn, client pb.WatchClient, t feedTiming) *feeds {
	h := &feeds{
		conn:    c,
		client:  client,
		timing:  t,
		wake:    make(chan struct{}, 1),
		all:     make(map[span]*feed),
		crowds:  make(map[span]time.Time),
		resting: make(map[span]*feed),
		views:   make(map[*view]struct{}),
	}
	h.ctx, h.cancel = context.WithCancel(c.ctx)
	return h
}

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

// listed takes note of a list of a directory.
func (h *feeds) listed(dir span, nodes []driver.Node, session string) {
	ours := 0
	for i := range nodes {
		if nodes[i].Session == session {
			ours++
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if ours < few && len(nodes) > crowd*max(ours, 1) {
		h.crowds[dir] = time.Now()
	} else {
		delete(h.crowds, dir)
	}
}

// crowded reports whether a directory was found crowded. The caller holds the
// lock.
func (h *feeds) crowded(dir span) bool {
	_, yes := h.crowds[dir]
	return yes
}

// join makes w wait on the feed that covers its nodes, which are in dir.
func (h *feeds) join(o op, dir span, w *wait) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return failed(o, driver.ErrClosed, nil)
	}
	s := dir
	if key := w.targets[0].key; len(w.targets) == 1 && h.crowded(dir) {
		s = spanOf(key)
	}
	f := h.all[s]
	if f == nil {
		f = newFeed(s, dir)
		f.ctx = h.ctx
		h.all[s] = f
		h.add(f)
	}
	if f.join(w) {
		h.readIfDoubtful(f)
	}
	return nil
}

// add has the watch of a new subject opened. The caller holds the lock.
func (h *feeds) add(s subject) {
	s.state().verify = h.nextVerify(time.Now())
	h.link.want = append(h.link.want, s)
	h.poke()
	if !h.serving {
		h.serving = true
		h.running.Go(h.serve)
	}
}

// leave ends w's waiting.
func (h *feeds) leave(w *wait) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := w.feed
	if f == nil {
		return
	}
	f.leave(w, time.Now())
	switch {
	case f.waiting > 0 || !h.has(f):
	case f.span != f.dir:
		h.rest(f)
	case h.crowded(f.dir):
		h.remove(f)
		h.poke()
	}
}

// rest keeps the watch of a single key for a while, if it is the last of its
// directory: who comes back soon often finds the same one ahead, and then has
// nothing to ask for. More of them would be told too much of what is of no use.
// The caller holds the lock.
func (h *feeds) rest(f *feed) {
	last := h.resting[f.dir]
	h.resting[f.dir] = f
	if last != nil && last != f && last.waiting == 0 && h.has(last) {
		h.remove(last)
		h.poke()
	}
}

// close ends every wait and returns when nothing of the feeds runs any more.
func (h *feeds) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.running.Wait()
}

// poke wakes the goroutine that sends.
func (h *feeds) poke() {
	select {
	case h.wake <- struct{}{}:
	default: // it has been woken already and will see everything
	}
}

// nextVerify spreads the checks, so that those of many clients which began to
// wait together do not come together.
func (h *feeds) nextVerify(now time.Time) time.Time {
	return now.Add(h.timing.verify*3/4 + rand.N(h.timing.verify/2))
}

// subjects are all feeds and views. The caller holds the lock.
func (h *feeds) subjects() iter.Seq[subject] {
	return func(yield func(subject) bool) {
		for _, f := range h.all {
			if !yield(f) {
				return
			}
		}
		for v := range h.views {
			if !yield(v) {
				return
			}
		}
	}
}

// has reports whether s is among the subjects. The caller holds the lock.
func (h *feeds) has(s subject) bool {
	switch s := s.(type) {
	case *feed:
		return h.all[s.span] == s
	case *view:
		_, ok := h.views[s]
		return ok
	default:
		return false
	}
}

// empty reports whether there are no subjects. The caller holds the lock.
func (h *feeds) empty() bool { return len(h.all)+len(h.views) == 0 }

// remove ends a subject's watch. The caller holds the lock.
func (h *feeds) remove(s subject) {
	w := s.state()
	if w.open {
		delete(h.link.watches, w.id)
		h.link.drop = append(h.link.drop, w.id)
	}
	h.forget(s)
}

// forget takes a subject out that has no watch any more. The caller holds the
// lock.
func (h *feeds) forget(s subject) {
	switch s := s.(type) {
	case *feed:
		delete(h.all, s.span)
		if h.resting[s.dir] == s {
			delete(h.resting, s.dir)
		}
	case *view:
		delete(h.views, s)
	}
	s.broken()
}

// fail ends a subject with an error. The caller holds the lock.
func (h *feeds) fail(s subject, err error) {
	s.fail(err)
	h.remove(s)
}

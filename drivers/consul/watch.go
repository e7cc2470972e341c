package consul

import (
	"context"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// watchTiming is every duration that watches choose.
type watchTiming struct {
	// wait is how long the store lets a query wait for news. A query that
	// nobody needs any more is not canceled but left to lapse: its connection
	// would stay taken for as long at the agent's side.
	wait  time.Duration
	grace time.Duration // how much longer the answer may take
	later time.Duration // after how long the less likely of several nodes are watched
	rest  time.Duration // how long a broad query rests, for each key of its answer
	nap   time.Duration // likewise, if eyes see what is likely to go next
	meek  time.Duration // for how long there are fewer queries after an agent had too many
}

var defaultWatchTiming = watchTiming{
	wait:  7 * time.Second,
	grace: 2 * time.Second,
	later: time.Second,
	rest:  50 * time.Microsecond,
	nap:   500 * time.Microsecond,
	meek:  time.Minute,
}

// How many queries wait at a time. Each takes one of the 200 connections that
// an agent grants to all processes of a client's address together.
const (
	maxEyes     = 32 // queries for single keys
	maxLineEyes = 4  // of these, in one directory
	maxBroad    = 4  // queries for whole directories; instead of more, one for the whole namespace
	maxScans    = 3  // likewise, on behalf of those who watch directories
)

// watches are the waits of a connection. Consul can be asked to answer when a
// key changes, or when anything below a prefix does, each at the cost of a
// connection.
//
// Nodes that are waited for are watched by eyes, each a query for one key that
// all who wait for the key share: the nodes with the lowest tokens first, as
// lines move up from the front. There are only so many eyes. What they do not
// see a broad query does, of the directory or, if there are too many of those,
// of the namespace. Its answers are long where lines are, and come each time
// anything changes, so it rests after each.
type watches struct {
	conn   *conn
	timing watchTiming

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	clock  uint64 // orders joins and requests
	lines  map[string]*line
	eyes   int
	most   int       // how many eyes there may be at present
	meek   time.Time // until when that is less than maxEyes
	broad  map[string]*broad
	scans  map[string]*scan // by prefix
}

func newWatches(c *conn, t watchTiming) *watches {
	h := &watches{
		conn:   c,
		timing: t,
		lines:  make(map[string]*line),
		most:   maxEyes,
		broad:  make(map[string]*broad),
		scans:  make(map[string]*scan),
	}
	h.ctx, h.cancel = context.WithCancel(c.ctx)
	return h
}

// join makes w wait.
func (h *watches) join(o op, w *wait) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return failed(o, driver.ErrClosed, nil)
	}
	l := h.lines[w.prefix]
	if l == nil {
		l = &line{prefix: w.prefix, spots: make(map[string]*spot), waits: make(map[*wait]struct{})}
		h.lines[w.prefix] = l
	}
	h.clock++
	l.add(w, h.clock)
	for _, b := range h.over(l) {
		b.remind(w)
	}
	if w.told {
		return nil
	}
	if w.pair > 0 && h.eyes < h.most {
		h.eyes++
		h.running.Go(func() { h.watchPair(l, w) })
		return nil
	}
	w.likeliest().due = true
	if len(w.targets) > 1 {
		w.later = time.AfterFunc(h.timing.later, func() { h.watchAll(l, w) })
	}
	h.cover(l)
	return nil
}

// watchAll has the nodes watched which were less likely to be gone first. Most
// waits have come to their end by then.
func (h *watches) watchAll(l *line, w *wait) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, waiting := l.waits[w]; waiting {
		w.allDue()
		h.cover(l)
	}
}

// leave ends w's waiting.
func (h *watches) leave(w *wait) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.later != nil {
		w.later.Stop()
	}
	if l := h.lines[w.prefix]; l != nil {
		l.drop(w)
		h.tidy(l)
	}
}

// gone tells those who wait for a node that this process has deleted it.
func (h *watches) gone(n driver.Node) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.lines[h.conn.dir(n.Dir)]; l != nil {
		l.removed(n)
	}
}

// yield makes do with fewer eyes for a while: the agent has refused a
// connection, because this process and others have too many.
func (h *watches) yield() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.most = h.eyes / 2
	h.meek = time.Now().Add(h.timing.meek)
}

// tidy forgets a line of which nothing is left. There may be another one of its
// directory by now.
func (h *watches) tidy(l *line) {
	if len(l.spots) == 0 && h.lines[l.prefix] == l {
		delete(h.lines, l.prefix)
	}
}

// cover sees to it that all nodes of a line are watched that have to be. The
// caller holds the lock, as for all that follows.
func (h *watches) cover(l *line) {
	if h.closed {
		return
	}
	if h.most < maxEyes && time.Now().After(h.meek) {
		h.most = maxEyes
	}
	if len(h.over(l)) > 0 && (l.eyes >= maxLineEyes || h.eyes >= h.most) {
		return // spares looking at all of a long line
	}
	for l.eyes < maxLineEyes && h.eyes < h.most {
		s := l.next()
		if s == nil {
			break
		}
		s.eye = true
		l.eyes++
		h.eyes++
		h.running.Go(func() { h.watchSpot(l, s) })
	}
	if len(h.over(l)) > 0 || !l.blind() {
		return
	}
	prefix := l.prefix
	if len(h.broad) >= maxBroad {
		prefix = h.conn.all()
	}
	b := &broad{watches: h, prefix: prefix}
	h.broad[prefix] = b
	h.running.Go(b.watch)
}

// over returns the broad queries that see a line.
func (h *watches) over(l *line) (list []*broad) {
	for _, prefix := range []string{l.prefix, h.conn.all()} {
		if b := h.broad[prefix]; b != nil {
			list = append(list, b)
		}
	}
	return list
}

// closeEye takes note that the query for a spot has ended, and gives its place
// to another spot.
func (h *watches) closeEye(l *line, s *spot) {
	s.eye = false
	l.eyes--
	l.tidy(s)
	h.free(l)
}

// free makes room for another eye.
func (h *watches) free(l *line) {
	full := h.eyes >= h.most
	h.eyes--
	h.tidy(l)
	h.cover(l)
	if !full {
		return
	}
	for _, other := range h.lines {
		if h.eyes >= h.most {
			return
		}
		h.cover(other)
	}
}

// close ends every wait and returns when nothing of the watches runs any more.
func (h *watches) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.running.Wait()
}

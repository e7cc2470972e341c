package consul

import (
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

// scan is a query for all keys that begin with a prefix, of one directory or of
// the namespace, on behalf of those who watch it.
//
// Its requests are linearizable and made one after the other. So no answer is
// older than the one before, whichever agent or leader gives it; the indexes
// that come with answers do not prove it, for they go back when Consul forgets
// what was deleted. Nor is an answer older than what a view has read, if it was
// asked for afterwards. Where that is not so, it is asked for once more.
type scan struct {
	*watches
	prefix string
	views  map[*view]struct{}
	last   uint64 // when the last answer came, see watches.clock
	rest   time.Duration
}

// How long a scan rests after an answer, so that a busy store is not asked all
// the time: for the time of its own, and for each key of the answer. It rests
// longer when answers bring no news, as when the namespace is busy elsewhere, or
// when the directory is empty: then Consul answers whenever anything changes.
const (
	restAtLeast = 2 * time.Millisecond
	restPerKey  = 10 * time.Microsecond // about what the agent takes to answer with it
	restAtMost  = 100 * time.Millisecond
)

// now reads the clock.
func (h *watches) now() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	return h.clock
}

// show has a view shown what changes after it joins. It reports whether its scan has
// had an answer since the view began to read: then what that answer tells, which the
// read may have missed, is not told again.
func (h *watches) show(v *view, began uint64) (behind bool, _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false, failed(v.op, driver.ErrClosed, nil)
	}
	limit := maxScans
	if h.most < maxEyes && time.Now().Before(h.meek) {
		limit = 1
	}
	prefix := h.conn.dir(v.key)
	if h.scans[prefix] == nil && len(h.scans) >= limit {
		prefix = h.conn.all()
	}
	s := h.scans[prefix]
	if s == nil {
		s = &scan{watches: h, prefix: prefix, views: make(map[*view]struct{})}
		h.scans[prefix] = s
		h.running.Go(s.watch)
	}
	h.clock++
	v.since, v.scan = h.clock, s
	s.views[v] = struct{}{}
	return s.last > began, nil
}

// renew gives a view that was behind what it has read after it joined, unless its scan
// has shown it something: there is no telling which of the two is older, and the scan
// goes on from its own. It returns what is to be shown first.
func (h *watches) renew(v *view, nodes []driver.Node) []driver.Node {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !v.shown {
		h.clock++
		v.since, v.last = h.clock, nodes
		return nodes
	}
	select {
	case nodes = <-v.news:
	default: // what was shown is what it had
		nodes = v.last
	}
	return nodes
}

// hide ends it.
func (h *watches) hide(v *view) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(v.scan.views, v)
}

// watch asks for as long as somebody watches.
func (s *scan) watch() {
	q := &query{watches: s.watches, key: s.prefix, linearizable: true}
	for {
		var kvs api.KVPairs
		found, ok, err := q.once(func(a *agent, o *api.QueryOptions) (meta *api.QueryMeta, err error) {
			kvs, meta, err = listAll(a, s.prefix, o)
			return meta, err
		})
		s.mu.Lock()
		news, late := false, false
		if err != nil {
			s.fail(err)
		} else if ok {
			news, late = s.take(kvs, found)
		}
		if err != nil || len(s.views) == 0 {
			delete(s.scans, s.prefix)
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		if !ok || late || found.at < q.index {
			q.index = 0 // what there is, at once
			continue
		}
		q.index = found.at
		s.sleep(s.pause(len(kvs), news))
	}
}

// pause returns how long to rest after an answer.
func (s *scan) pause(keys int, news bool) time.Duration {
	least := min(restAtLeast+time.Duration(keys)*restPerKey, longestPause)
	if news {
		s.rest = least
	} else {
		s.rest = max(least, min(2*s.rest, restAtMost))
	}
	return s.rest
}

// take shows an answer to all who watch. It reports whether that was news to
// anybody, and whether somebody may have read a later state than this one. The
// caller holds the lock, as for all that follows.
func (s *scan) take(kvs api.KVPairs, found answer) (news, late bool) {
	s.clock++
	s.last = s.clock
	dirs := make(map[string][]*api.KVPair) // by prefix
	for _, kv := range kvs {
		dir := kv.Key[:strings.LastIndexByte(kv.Key, '/')+1]
		dirs[dir] = append(dirs[dir], kv)
	}
	states := make(map[string][]driver.Node) // by directory
	for v := range s.views {
		if v.since > found.asked {
			late = true
			continue
		}
		nodes, done := states[v.key]
		if !done {
			nodes = s.conn.nodes(v.key, dirs[s.conn.dir(v.key)])
			states[v.key] = nodes
		}
		v.shown = true
		news = v.see(nodes) || news
	}
	return news, late
}

// fail ends all who watch with an error.
func (s *scan) fail(err error) {
	for v := range s.views {
		v.failed <- err // has room: the scan ends here
	}
	clear(s.views)
}

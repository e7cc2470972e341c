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

// show has a view shown what changes after it was made.
func (h *watches) show(v *view) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return failed(v.op, driver.ErrClosed, nil)
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
	return nil
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

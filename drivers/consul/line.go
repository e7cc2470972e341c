package consul

import (
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

// line is the waiting for nodes of one directory. It and what belongs to it is
// plain state; watches guards it with a lock and does the talking.
type line struct {
	prefix string
	spots  map[string]*spot // by key
	waits  map[*wait]struct{}
	eyes   int // spots that are watched one by one
}

// spot is a key that is waited for, or was until a moment ago.
type spot struct {
	key     string
	targets []*target
	eye     bool   // a query for this very key is under way
	newest  uint64 // the greatest token that this key is known to have had
	version uint64 // likewise for its last change
}

// wait is one call that waits for any of some nodes.
type wait struct {
	prefix  string
	targets []*target
	told    bool
	result  chan outcome // has room for the one outcome
	later   *time.Timer  // makes all targets due; may be nil

	// pair is not 0 if the nodes are one's own and the only one that was ahead
	// of it, and both were there at that index.
	pair uint64
}

type outcome struct {
	index int
	ours  bool // this process has deleted it
	err   error
}

// target is one node that a wait waits for.
type target struct {
	wait    *wait
	index   int
	spot    *spot
	token   uint64
	version uint64
	key     string
	since   uint64 // when it was added, see watches.clock
	due     bool   // it is to be watched
	own     bool   // it is of the session that waits
}

func newWait(prefix, session string, nodes []driver.Node) *wait {
	w := &wait{prefix: prefix, result: make(chan outcome, 1)}
	for i, n := range nodes {
		w.targets = append(w.targets, &target{
			wait: w, index: i, key: n.Key, token: n.Token, version: max(n.Version, n.Token), own: n.Session == session,
		})
	}
	return w
}

func (w *wait) tell(o outcome) {
	if !w.told {
		w.told = true
		w.result <- o
	}
}

func (w *wait) allDue() {
	for _, t := range w.targets {
		t.due = true
	}
}

// likeliest is the target that will be gone first, as far as one can tell: lines
// move up from the front, and who waits does not delete what is its own.
func (w *wait) likeliest() *target {
	found := w.targets[0]
	for _, t := range w.targets[1:] {
		if t.own != found.own && found.own || t.own == found.own && t.token < found.token {
			found = t
		}
	}
	return found
}

// add puts a wait into the line.
func (l *line) add(w *wait, since uint64) {
	l.waits[w] = struct{}{}
	for _, t := range w.targets {
		s := l.spots[t.key]
		if s == nil {
			s = &spot{key: t.key}
			l.spots[t.key] = s
		}
		t.spot, t.since = s, since
		s.targets = append(s.targets, t)
		s.version = max(s.version, t.version)
		s.had(t.token)
	}
}

// had takes note that the key was created at token: whatever node it was before
// is gone.
func (s *spot) had(token uint64) {
	s.newest = max(s.newest, token)
	for _, t := range s.targets {
		if t.token < s.newest {
			t.wait.tell(outcome{index: t.index})
		}
	}
}

// drop takes a wait out of the line.
func (l *line) drop(w *wait) {
	delete(l.waits, w)
	for _, t := range w.targets {
		s := t.spot
		for i, other := range s.targets {
			if other == t {
				s.targets = append(s.targets[:i], s.targets[i+1:]...)
				break
			}
		}
		l.tidy(s)
	}
}

// tidy forgets a spot of which nothing is left.
func (l *line) tidy(s *spot) {
	if len(s.targets) == 0 && !s.eye {
		delete(l.spots, s.key)
	}
}

// wanted reports whether somebody waits for the spot, and whether everybody who
// does has made the node: what this process deletes, it knows of.
func (s *spot) wanted() (wanted, own bool) {
	own = true
	for _, t := range s.targets {
		if t.due && !t.wait.told {
			wanted, own = true, own && t.own
		}
	}
	return wanted, own
}

// next returns the spot to give an eye to, of those that are wanted and have
// none: the one that will be gone first. Where there are more nodes than eyes,
// those of one's own have to do with the broad query.
func (l *line) next() (found *spot) {
	for _, s := range l.spots {
		if s.eye || found != nil && s.newest >= found.newest {
			continue
		}
		if wanted, own := s.wanted(); wanted && (!own || len(l.spots) <= maxLineEyes) {
			found = s
		}
	}
	return found
}

// blind reports whether there are spots that are wanted and have no eye.
func (l *line) blind() bool {
	for _, s := range l.spots {
		if wanted, _ := s.wanted(); wanted && !s.eye {
			return true
		}
	}
	return false
}

// hasty reports whether eyes are missing, so that what goes next may be seen by
// the broad query only.
func (l *line) hasty() bool { return l.eyes < maxLineEyes && l.next() != nil }

// answer is what is known of an answer of the store.
type answer struct {
	at         uint64 // the index it is of
	asked      uint64 // when it was asked for, see watches.clock
	consistent bool   // it holds everything that was acknowledged before
}

// verdict is what an answer says of a target.
type verdict int

const (
	there verdict = iota
	gone
	unsure // the answer seems to be older than the node: ask again, consistently
)

// judge says what became of a target, if kv is what was found of its key. By
// default a leader answers from what it has, also when it was deposed and does
// not know it yet, or was elected and has not caught up yet.
func (t *target) judge(kv *api.KVPair, a answer) verdict {
	switch {
	case kv != nil && kv.CreateIndex > t.token:
		return gone
	case kv != nil && kv.CreateIndex == t.token:
		// If the session does not hold it any more it is in no list: somebody
		// has written over it.
		if held(kv) {
			return there
		}
		return gone
	case kv == nil && a.at >= t.token:
		return gone
	case t.since > a.asked: // the node may be newer than the answer, and that is all right
		return there
	case a.consistent:
		return gone
	default:
		return unsure
	}
}

// see takes what was found of a spot's key. It reports whether a consistent
// answer is needed.
func (s *spot) see(kv *api.KVPair, a answer) (doubt bool) {
	if kv != nil {
		s.version = max(s.version, kv.ModifyIndex)
		s.had(kv.CreateIndex)
	}
	for _, t := range s.targets {
		switch t.judge(kv, a) {
		case gone:
			t.wait.tell(outcome{index: t.index})
		case unsure:
			doubt = doubt || !t.wait.told
		}
	}
	return doubt
}

// seeAll takes all keys of the directory. It reports whether a consistent answer is
// needed.
func (l *line) seeAll(kvs map[string]*api.KVPair, a answer) (doubt bool) {
	for w := range l.waits {
		doubt = w.see(kvs, a) || doubt
	}
	return doubt
}

// see takes all keys of the directory. It reports whether a consistent answer is needed.
func (w *wait) see(kvs map[string]*api.KVPair, a answer) (doubt bool) {
	for _, t := range w.targets {
		v := t.judge(kvs[t.key], a)
		if v == gone {
			w.tell(outcome{index: t.index})
			break
		}
		doubt = doubt || v == unsure && !w.told
	}
	return doubt
}

// removed tells those who wait for a node, or an earlier one of its name, that
// it was removed by this process: or somebody has done so before, and it may not have
// been the only one.
func (l *line) removed(n driver.Node) {
	s := l.spots[n.Key]
	if s == nil {
		return
	}
	for _, t := range s.targets {
		if t.token <= n.Token {
			t.wait.tell(outcome{index: t.index, ours: true})
		}
	}
}

// fail ends every wait for a spot with an error.
func (s *spot) fail(err error) {
	for _, t := range s.targets {
		t.wait.tell(outcome{err: err})
	}
}

// fail ends every wait of the line with an error.
func (l *line) fail(err error) {
	for w := range l.waits {
		w.tell(outcome{err: err})
	}
}

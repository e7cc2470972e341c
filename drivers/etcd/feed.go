package etcd

import (
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/coordkit/coordkit/coord/driver"
)

// feed tells who waits for nodes in a range of keys that they are gone. It is
// plain state; feeds guards it with a lock and does the talking.
//
// While its watch is open, a feed knows of every deletion after the revision
// since: it has either told those who waited or keeps it in gone. So whoever
// saw a node alive at since or later has nothing to ask the store. For others,
// and for all after the watch was broken, a read tells.
type feed struct {
	watch      // while it is open, since and gone are complete
	dir   span // of which the watch's is all, or a part

	since uint64 // see above
	gone  map[string]uint64
	told  uint64 // the last revision of which the watch has told what went with it

	waits   map[string][]*target // by key
	over    []*wait              // have a node that is gone, and are to be told by tell
	waiting int                  // number of waits
	idle    time.Time            // since when nobody waits
}

// wait is one call that waits for any of some nodes.
type wait struct {
	feed    *feed
	targets []*target
	told    bool
	first   int          // of the nodes that one step removed; see feed.tell
	result  chan outcome // has room for the one outcome
}

type outcome struct {
	index int
	err   error
}

// target is one node that a wait waits for.
type target struct {
	wait  *wait
	index int
	key   string
	token uint64
	seen  uint64 // the node was there at this revision
	sure  bool   // the watch covers it from there on
}

func newWait(nodes []driver.Node) *wait {
	w := &wait{first: len(nodes), result: make(chan outcome, 1)}
	for i, n := range nodes {
		w.targets = append(w.targets, &target{wait: w, index: i, key: n.Key, token: n.Token, seen: n.Version})
	}
	return w
}

func (w *wait) tell(o outcome) {
	if !w.told {
		w.told = true
		w.result <- o
	}
}

func newFeed(s, dir span) *feed {
	return &feed{watch: watch{span: s, deletions: true}, dir: dir, gone: make(map[string]uint64), waits: make(map[string][]*target)}
}

// wanted implements subject: a feed outlives its last wait by linger.
func (f *feed) wanted(now time.Time, linger time.Duration) bool {
	return f.waiting > 0 || now.Sub(f.idle) < linger
}

// join adds a wait, or tells it at once if a deletion has already been seen. It
// reports whether a read has to be made for it.
func (f *feed) join(w *wait) (doubt bool) {
	followed := true  // the watch would have told of those before
	together := false // it is known that a node is gone, and not whether one before it went, too
	for _, t := range w.targets {
		gone := f.gone[t.key]
		if gone > t.token && (t.index == 0 || followed && gone <= f.told) {
			w.tell(outcome{index: t.index})
			return false
		}
		together = together || gone > t.token
		followed = followed && t.seen >= f.since
	}
	w.feed = f
	f.waiting++
	for _, t := range w.targets {
		t.sure = f.open && t.seen >= f.since && !together
		doubt = doubt || !t.sure
		f.waits[t.key] = append(f.waits[t.key], t)
	}
	return doubt
}

// leave removes a wait.
func (f *feed) leave(w *wait, now time.Time) {
	for _, t := range w.targets {
		f.drop(t.key, func(other *target) bool { return other == t })
	}
	if f.waiting--; f.waiting == 0 {
		f.idle = now
	}
}

// drop removes the targets of a key that match.
func (f *feed) drop(key string, match func(*target) bool) {
	list, ok := f.waits[key]
	if !ok {
		return
	}
	kept := list[:0]
	for _, t := range list {
		if !match(t) {
			kept = append(kept, t)
		}
	}
	clear(list[len(kept):])
	if f.waits[key] = kept; len(kept) == 0 {
		delete(f.waits, key)
	}
}

// opened implements subject.
func (f *feed) opened(id int64, revision uint64) {
	f.begin(id)
	f.since = revision
	for _, list := range f.waits {
		for _, t := range list {
			t.sure = t.seen >= revision
		}
	}
}

// broken implements subject. What is in gone stays true.
func (f *feed) broken() { f.open = false }

// mostGone bounds the memory of deletions. What is forgotten costs a read for
// whoever comes to wait with an older list, and a list is rarely that old.
const mostGone = 1024

// event implements subject.
func (f *feed) event(e *mvccpb.Event) {
	if e.Type == mvccpb.Event_DELETE {
		f.note(string(e.Kv.Key), uint64(e.Kv.ModRevision))
	}
}

// note takes note of a deletion. The keys of older incarnations are told
// apart by the revision: a node lives from its token to its first deletion.
func (f *feed) note(key string, revision uint64) {
	f.told = max(f.told, revision)
	f.gone[key] = max(f.gone[key], revision)
	f.drop(key, func(t *target) bool {
		if t.token < revision {
			f.ends(t)
			return true
		}
		return false
	})
}

// ends takes note that the node of a target is gone.
func (f *feed) ends(t *target) {
	if t.wait.first == len(t.wait.targets) {
		f.over = append(f.over, t.wait)
	}
	t.wait.first = min(t.wait.first, t.index)
}

// tell implements subject. It ends the waits of which a node is gone: a wait for
// several nodes that went together is told the first of them.
func (f *feed) tell() {
	for _, w := range f.over {
		w.tell(outcome{index: w.first})
	}
	clear(f.over)
	f.over = f.over[:0]
	if len(f.gone) > mostGone { // not sooner: what went together is forgotten together
		for _, last := range f.gone {
			f.since = max(f.since, last)
		}
		clear(f.gone)
	}
}

// doubt implements subject: every wait is to ask the store again.
func (f *feed) doubt() {
	for _, list := range f.waits {
		for _, t := range list {
			t.sure = false
		}
	}
}

// unread implements subject: one key may be all that has to be read.
func (f *feed) unread() (part span, any bool) {
	key, any, enough := f.doubtful()
	if enough {
		return spanOf(key), true
	}
	return f.span, any
}

// doubtful returns a key that must be read, and whether that is enough: it is the only
// one, and nobody waits for another node before it. Who does is to be told of the first
// of the two if they went together, so they are read together.
func (f *feed) doubtful() (key string, any, enough bool) {
	for k, list := range f.waits {
		for _, t := range list {
			if t.sure {
				continue
			}
			if any && k != key {
				return key, true, false
			}
			key, any = k, true
		}
	}
	return key, any, any && !slices.ContainsFunc(f.waits[key], notTheFirst)
}

// notTheFirst reports whether somebody waits for another node before this one.
func notTheFirst(t *target) bool { return t.index > 0 }

// read implements subject. A node is gone if it is not there at a time after its
// creation. It is not there either if the key is bound to another lease than the
// name tells: somebody has written over it, and no list holds it any more. The
// read was too old if it leaves a wait in that part in doubt.
func (f *feed) read(part span, kvs []*mvccpb.KeyValue, revision uint64) (tooOld bool) {
	there := make(map[string]uint64, len(kvs))
	for _, kv := range kvs {
		if lease, ok := leaseOf(string(kv.Key)); ok && lease == kv.Lease {
			there[string(kv.Key)] = uint64(kv.CreateRevision)
		}
	}
	for key := range f.waits {
		if !part.contains(key) {
			continue
		}
		token := there[key]
		goneBy := token // the node before the one that is there
		if token == 0 {
			goneBy = revision
		}
		f.drop(key, func(t *target) bool {
			switch {
			case revision < t.token: // the node was not made then
				tooOld = tooOld || !t.sure
				return false
			case token == t.token && t.sure:
				return false
			case token == t.token:
				t.seen = max(t.seen, revision)
				t.sure = f.open && t.seen >= f.since
				tooOld = tooOld || !t.sure
				return false
			case part != f.span && notTheFirst(t): // it has come to wait while this was read
				t.sure = false
				return false
			default:
				f.gone[key] = max(f.gone[key], goneBy)
				f.ends(t)
				return true
			}
		})
	}
	f.tell()
	return tooOld
}

// fail implements subject: every wait ends with the error.
func (f *feed) fail(err error) {
	for _, list := range f.waits {
		for _, t := range list {
			t.wait.tell(outcome{err: err})
		}
	}
	clear(f.waits)
}

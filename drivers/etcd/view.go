package etcd

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/coordkit/coordkit/coord/driver"
)

// view is a directory as one observer sees it. Like feed, it is plain state.
//
// A read of the directory says how it was at some revision, and the watch tells
// of everything after the revision at which it was opened. The read is made
// once the watch is open, and is of that revision or a later one; so the read
// with the events of later revisions than its own is the directory as it is.
// Events of earlier ones, which a member that lags behind delivers late, are in
// the read already. No event asks for another read.
//
// The revision of what is shown only rises: reads that are older than anything
// seen before are made again, and while events may be missing, which is from a
// break of the watch until the next read, nothing is shown.
type view struct {
	watch
	keys   keyspace
	dir    string
	cancel context.CancelFunc // ends ctx

	nodes    map[string]driver.Node // by key; Version is the revision of the last change
	base     uint64                 // of the last read; nodes hold the events after it
	revision uint64                 // the latest seen, of a read or an event
	whole    bool                   // no event after base is missing from nodes

	sure  bool                     // the watch needs no read
	least uint64                   // otherwise: what revision the read must have at least
	since map[string]*mvccpb.Event // and: the last event of each key since then

	fresh bool          // nodes have changed since they were taken
	err   error         // why the view has ended
	news  chan struct{} // has room for one; there is something to take
}

func newView(k keyspace, dir string) *view {
	return &view{watch: watch{span: k.dir(dir)}, keys: k, dir: dir, news: make(chan struct{}, 1)}
}

// wanted implements subject: a view is removed by its observer.
func (v *view) wanted(time.Time, time.Duration) bool { return true }

// opened implements subject. What was before is not known to the new watch, and
// events that were kept of the one before it are of no use.
func (v *view) opened(id int64, revision uint64) {
	v.begin(id)
	v.revision = max(v.revision, revision)
	v.sure = true
	v.doubt()
}

// broken implements subject.
func (v *view) broken() { v.open, v.whole = false, false }

// doubt implements subject. From here on events are kept, so that those which
// the read does not have can be added to it: the read begins later, and holds
// all that was seen until now. One is kept for each key, however long it takes.
func (v *view) doubt() {
	if v.sure {
		v.sure, v.least, v.since = false, v.revision, make(map[string]*mvccpb.Event)
	}
}

// unread implements subject.
func (v *view) unread() (part span, any bool) { return v.span, !v.sure }

// event implements subject.
func (v *view) event(e *mvccpb.Event) {
	v.revision = max(v.revision, uint64(e.Kv.ModRevision))
	if !v.sure {
		v.since[string(e.Kv.Key)] = e
	}
	if v.whole && uint64(e.Kv.ModRevision) > v.base && v.apply(v.nodes, e) {
		v.fresh = true
	}
}

// apply makes the change that an event tells of, and reports whether it was one
// of a node.
func (v *view) apply(nodes map[string]driver.Node, e *mvccpb.Event) (changed bool) {
	key := string(e.Kv.Key)
	if e.Type == mvccpb.Event_PUT {
		if n, ok := v.keys.asNode(v.dir, e.Kv, e.Kv.ModRevision); ok {
			nodes[key] = n
			return true
		}
	}
	// It was deleted, or written over by somebody and is no node any more.
	_, changed = nodes[key]
	delete(nodes, key)
	return changed
}

// read implements subject.
func (v *view) read(_ span, kvs []*mvccpb.KeyValue, revision uint64) (tooOld bool) {
	if !v.open || v.sure {
		return false // of no use to anybody
	}
	if revision < v.least {
		return true
	}
	nodes := make(map[string]driver.Node, len(kvs))
	for _, kv := range kvs {
		if n, ok := v.keys.asNode(v.dir, kv, kv.ModRevision); ok {
			nodes[n.Key] = n
		}
	}
	for _, e := range v.since {
		if uint64(e.Kv.ModRevision) > revision {
			v.apply(nodes, e)
		}
	}
	if v.nodes == nil || !maps.EqualFunc(v.nodes, nodes, unchanged) {
		v.fresh = true
	}
	v.nodes, v.base, v.revision = nodes, revision, max(v.revision, revision)
	v.whole, v.sure, v.since = true, true, nil
	v.tell()
	return false
}

// unchanged reports whether nobody has written to a node.
func unchanged(a, b driver.Node) bool { return a.Token == b.Token && a.Version == b.Version }

// tell implements subject.
func (v *view) tell() {
	if v.fresh {
		v.wake()
	}
}

// fail implements subject.
func (v *view) fail(err error) {
	v.err = err
	v.wake()
}

func (v *view) wake() {
	select {
	case v.news <- struct{}{}:
	default: // the observer has been woken already and will see everything
	}
}

// take returns the nodes, in any order, if there is something new to show.
func (v *view) take() (nodes []driver.Node, revision uint64, fresh bool) {
	if !v.fresh || !v.whole {
		return nil, 0, false
	}
	v.fresh = false
	return slices.AppendSeq(make([]driver.Node, 0, len(v.nodes)), maps.Values(v.nodes)), v.revision, true
}

// arrange makes what take returned a list, as of the revision that it returned.
func arrange(nodes []driver.Node, revision uint64) []driver.Node {
	for i := range nodes {
		nodes[i].Version = revision
	}
	slices.SortFunc(nodes, func(a, b driver.Node) int { return cmp.Compare(a.Seq, b.Seq) })
	return nodes
}

package etcd

import (
	"fmt"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/coordkit/coordkit/coord/driver"
)

func testFeed() *feed {
	dir := keyspace("ns").dir("d")
	return newFeed(dir, dir)
}

// leased is a node of the lease given, made at token and seen at seen.
func leased(lease int64, token, seen uint64) driver.Node {
	return driver.Node{Dir: "d", Key: keyspace("ns").node("d", lease, "0"), Token: token, Version: seen}
}

func kvOf(n driver.Node, token int64) *mvccpb.KeyValue {
	lease, _ := leaseOf(n.Key)
	return &mvccpb.KeyValue{Key: []byte(n.Key), CreateRevision: token, Lease: lease}
}

func joined(f *feed, nodes ...driver.Node) *wait {
	w := newWait(nodes)
	f.join(w)
	return w
}

func wantTold(t *testing.T, w *wait, index int) {
	t.Helper()
	select {
	case o := <-w.result:
		if o.err != nil || o.index != index {
			t.Errorf("told %+v; want index %d", o, index)
		}
	default:
		t.Error("the wait was not told")
	}
}

func wantUntold(t *testing.T, w *wait) {
	t.Helper()
	select {
	case o := <-w.result:
		t.Errorf("told %+v too early", o)
	default:
	}
}

func wantDoubt(t *testing.T, f *feed, want bool) {
	t.Helper()
	if _, any, _ := f.doubtful(); any != want {
		t.Errorf("in doubt: %v; want %v", any, want)
	}
}

func TestFeedTellsOfADeletion(t *testing.T) {
	f := testFeed()
	f.opened(1, 10)
	a, b := leased(1, 8, 10), leased(2, 9, 10)
	one, any := joined(f, a), joined(f, b, a)
	wantDoubt(t, f, false)
	f.deleted(a.Key, 11)
	wantTold(t, one, 0)
	wantTold(t, any, 1)
	f.deleted(b.Key, 12)
	wantUntold(t, any) // once is enough
	now := time.Unix(5, 0)
	f.leave(one, now)
	f.leave(any, now)
	if f.waiting != 0 || len(f.waits) != 0 || !f.idle.Equal(now) {
		t.Errorf("the feed still has %d waits for %v, idle since %v", f.waiting, f.waits, f.idle)
	}
}

// A deletion that came before the wait was registered.
func TestFeedRemembersDeletions(t *testing.T) {
	f := testFeed()
	f.opened(1, 10)
	n := leased(1, 8, 10)
	f.deleted(n.Key, 11)
	wantTold(t, joined(f, n), 0)

	successor := leased(1, 12, 12) // the same name, made anew
	w := joined(f, successor)
	wantDoubt(t, f, false)
	wantUntold(t, w)
	f.deleted(n.Key, 13)
	wantTold(t, w, 0)
}

func TestFeedForgetsAndSaysSo(t *testing.T) {
	f := testFeed()
	f.opened(1, 10)
	early := joined(f, leased(1, 8, 10))
	for i := range int64(mostGone + 1) {
		f.deleted(leased(100+i, 0, 0).Key, uint64(11+i))
	}
	if len(f.gone) > mostGone {
		t.Errorf("%d deletions remembered", len(f.gone))
	}
	wantDoubt(t, f, false) // of who was there before, nothing was forgotten
	joined(f, leased(100, 9, 10))
	wantDoubt(t, f, true) // but this one's deletion was
	wantUntold(t, early)
}

func TestDeletionOfAnOlderIncarnationTellsNobody(t *testing.T) {
	f := testFeed()
	f.opened(1, 10)
	n := leased(1, 20, 20)
	w := joined(f, n)
	f.deleted(n.Key, 15) // a follower that lags behind delivers it late
	wantUntold(t, w)
	f.deleted(n.Key, 21)
	wantTold(t, w, 0)
}

func TestReadSettlesDoubt(t *testing.T) {
	old := leased(1, 5, 8) // seen before the watch was opened
	tests := []struct {
		name        string
		kvs         []*mvccpb.KeyValue
		revision    uint64
		told, doubt bool
	}{
		{"there", []*mvccpb.KeyValue{kvOf(old, 5)}, 12, false, false},
		{"gone", nil, 12, true, false},
		{"another of the same name", []*mvccpb.KeyValue{kvOf(old, 11)}, 12, true, false},
		{"written over, and so of no session", []*mvccpb.KeyValue{{Key: []byte(old.Key), CreateRevision: 5}}, 12, true, false},
		{"older than the node", nil, 4, false, true},
		{"older than the watch", []*mvccpb.KeyValue{kvOf(old, 5)}, 9, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := testFeed()
			w := joined(f, old)
			wantDoubt(t, f, true)
			f.opened(1, 10)
			wantDoubt(t, f, true)
			if tooOld := f.read(f.span, tt.kvs, tt.revision); tooOld != tt.doubt {
				t.Errorf("the read is too old: %v; want %v", tooOld, tt.doubt)
			}
			wantDoubt(t, f, tt.doubt)
			if tt.told {
				wantTold(t, w, 0)
			} else {
				wantUntold(t, w)
			}
		})
	}
}

// A read of one key says nothing about others.
func TestReadOfAPart(t *testing.T) {
	f := testFeed()
	a, b := leased(1, 5, 8), leased(2, 6, 8)
	forA, forB := joined(f, a), joined(f, b)
	f.opened(1, 10)
	f.read(spanOf(a.Key), nil, 12)
	wantTold(t, forA, 0)
	wantUntold(t, forB)
	key, any, enough := f.doubtful()
	if key != b.Key || !any || !enough {
		t.Errorf("in doubt: %q, %v, %v; want only %q", key, any, enough, b.Key)
	}
}

// The watch tells of one's own node, and only a read can tell of the one ahead: if it
// shows that both are gone, nobody is told of the one ahead alone.
func TestReadOfNodesThatWentTogether(t *testing.T) {
	f := testFeed()
	f.opened(1, 10)
	ahead, own := leased(1, 8, 8), leased(2, 12, 12)
	both := joined(f, own, ahead)
	part, any := f.unread()
	if !any || part != f.span {
		t.Fatalf("to be read: %v, %v; want all", part, any)
	}
	f.read(part, nil, 13)
	wantTold(t, both, 0)

	f = testFeed()
	f.opened(1, 10)
	both = joined(f, own, ahead)
	f.read(f.span, []*mvccpb.KeyValue{kvOf(own, 12)}, 13)
	wantTold(t, both, 1)
}

// A read that is ahead of the watch tells of what was waited for. Who comes then, and
// waits for two nodes, is not told of the later alone.
func TestReadAheadOfTheWatch(t *testing.T) {
	f := testFeed()
	ahead, own := leased(1, 5, 8), leased(2, 11, 11)
	first := joined(f, ahead)
	f.opened(1, 10)
	f.read(spanOf(ahead.Key), nil, 20)
	wantTold(t, first, 0)

	both := joined(f, own, ahead)
	wantUntold(t, both)
	part, any := f.unread()
	if !any || part != f.span {
		t.Fatalf("to be read: %v, %v; want all", part, any)
	}
	f.read(part, nil, 20)
	wantTold(t, both, 0)
	wantTold(t, joined(f, ahead), 0)

	f = testFeed()
	f.opened(1, 10)
	f.note(ahead.Key, 20)
	wantTold(t, joined(f, own, ahead), 1)

	// Nor does what the watch tells since say anything of a time before it.
	ahead, own = leased(1, 5, 8), leased(2, 6, 9)
	f = testFeed()
	first = joined(f, ahead)
	f.opened(1, 13)
	f.read(spanOf(ahead.Key), nil, 13)
	wantTold(t, first, 0)
	f.note(leased(3, 0, 0).Key, 14)
	both = joined(f, own, ahead)
	wantUntold(t, both)
	f.read(f.span, nil, 14)
	wantTold(t, both, 0)
}

// Nothing that was waited for before a watch broke is certain after it, unless
// it was seen at the new one's beginning or later.
func TestReopenedWatchLeavesDoubt(t *testing.T) {
	f := testFeed()
	f.opened(1, 10)
	joined(f, leased(1, 8, 10))
	joined(f, leased(2, 9, 20))
	f.broken()
	f.opened(2, 20)
	key, any, enough := f.doubtful()
	if want := leased(1, 0, 0).Key; key != want || !any || !enough {
		t.Errorf("in doubt: %q, %v, %v; want only %q", key, any, enough, want)
	}
}

func TestFailedFeedTellsEveryWait(t *testing.T) {
	f := testFeed()
	var waits []*wait
	for i := range int64(3) {
		waits = append(waits, joined(f, leased(1+i, 8, 10), leased(5, 8, 10)))
	}
	f.fail(driver.ErrDenied)
	for _, w := range waits {
		wantIs(t, (<-w.result).err, driver.ErrDenied)
		f.leave(w, time.Time{})
	}
	if f.waiting != 0 {
		t.Errorf("%d still wait", f.waiting)
	}
}

func BenchmarkFeedHandOff(b *testing.B) {
	for _, n := range []int64{1, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := testFeed()
			f.opened(1, 1)
			for i := range n {
				joined(f, leased(1000+i, 1, 1))
			}
			revision := uint64(1)
			for b.Loop() {
				node := leased(1, revision, revision)
				w := joined(f, node)
				revision++
				f.deleted(node.Key, revision)
				<-w.result
				f.leave(w, time.Time{})
			}
		})
	}
}

// deleted takes note of a deletion that was a step of its own.
func (f *feed) deleted(key string, revision uint64) {
	f.note(key, revision)
	f.tell()
}

// Two nodes that went together are read together, also if only the later one is in
// doubt, and that for the sake of somebody else.
func TestFeedReadsWhatIsWaitedForTogether(t *testing.T) {
	own, ahead := leased(2, 12, 12), leased(1, 5, 12)
	guard := leased(1, 5, 5)

	f := testFeed()
	f.opened(1, 10)
	both := joined(f, own, ahead)
	joined(f, guard)
	part, any := f.unread()
	if !any || part != f.span {
		t.Fatalf("reads %v: %v; want all", part, any)
	}
	f.read(part, nil, 20)
	wantTold(t, both, 0)

	// It comes to wait while the one node is read.
	f = testFeed()
	f.opened(1, 10)
	alone := joined(f, guard)
	part, _ = f.unread()
	if part != spanOf(ahead.Key) {
		t.Fatalf("reads %v; want the one key", part)
	}
	both = joined(f, own, ahead)
	f.read(part, nil, 20)
	wantTold(t, alone, 0)
	wantUntold(t, both)
	if part, any = f.unread(); !any || part != f.span {
		t.Fatalf("reads %v after that: %v; want all", part, any)
	}
	f.read(part, nil, 20)
	wantTold(t, both, 0)
}

// What went together is forgotten together, or who comes to wait for two of them
// would be told of the later one.
func TestFeedForgetsWholeRevisions(t *testing.T) {
	own, ahead := leased(1<<40, 8, 10), leased(1<<40+1, 7, 10)
	f := testFeed()
	f.opened(1, 10)
	f.note(own.Key, 11)
	for i := range int64(mostGone) {
		f.note(leased(1+i, 0, 0).Key, 11)
	}
	f.note(ahead.Key, 11)
	f.tell()
	w := joined(f, own, ahead)
	wantUntold(t, w)
	wantDoubt(t, f, true)
	f.read(f.span, nil, 12)
	wantTold(t, w, 0)
}

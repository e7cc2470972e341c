package etcd

import (
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/coordkit/coordkit/coord/driver"
)

func testView() *view { return newView("ns", "d") }

// written is a node's key as a write at a revision left it.
func written(n driver.Node, token, revision int64) *mvccpb.KeyValue {
	kv := kvOf(n, token)
	kv.ModRevision = revision
	return kv
}

func putEvent(kv *mvccpb.KeyValue) *mvccpb.Event {
	return &mvccpb.Event{Type: mvccpb.Event_PUT, Kv: kv}
}

func deleteEvent(n driver.Node, revision int64) *mvccpb.Event {
	return &mvccpb.Event{Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: []byte(n.Key), ModRevision: revision}}
}

// tells has the watch tell of an event.
func (v *view) tells(e *mvccpb.Event) {
	v.event(e)
	v.tell()
}

// wantShown checks that these tokens are to be shown, as of a revision.
func wantShown(t *testing.T, v *view, revision uint64, tokens ...uint64) {
	t.Helper()
	select {
	case <-v.news:
	default:
		t.Error("there is no news")
	}
	nodes, as, fresh := v.take()
	nodes = arrange(nodes, as)
	same := fresh && as == revision && len(nodes) == len(tokens)
	for i := 0; same && i < len(nodes); i++ {
		same = nodes[i].Token == tokens[i] && nodes[i].Version == revision
	}
	if !same {
		t.Errorf("to show: %v as of %d, %v; want tokens %v as of %d", nodes, as, fresh, tokens, revision)
	}
}

func wantNothing(t *testing.T, v *view) {
	t.Helper()
	select {
	case <-v.news:
		t.Error("there is news")
	default:
	}
	if nodes, as, fresh := v.take(); fresh {
		t.Errorf("to show: %v as of %d; want nothing", nodes, as)
	}
}

func wantUnread(t *testing.T, v *view, want bool) {
	t.Helper()
	if _, any := v.unread(); any != want {
		t.Errorf("has to be read: %v; want %v", any, want)
	}
}

func TestViewIsAReadAndWhatCameAfterIt(t *testing.T) {
	v := testView()
	a, b, c := leased(1, 0, 0), leased(2, 0, 0), leased(3, 0, 0)
	v.opened(1, 10)
	wantUnread(t, v, true)
	v.tells(putEvent(written(c, 12, 12)))
	v.tells(deleteEvent(a, 13))
	v.tells(putEvent(written(b, 9, 14)))
	wantNothing(t, v) // before it is known what was there

	// The read has the first two and not the third.
	if v.read(v.span, []*mvccpb.KeyValue{written(b, 9, 9), written(c, 12, 12)}, 13) {
		t.Error("the read is too old")
	}
	wantUnread(t, v, false)
	wantShown(t, v, 14, 9, 12)
	v.tells(deleteEvent(b, 15))
	wantShown(t, v, 15, 12)
}

// A member that lags tells of what the read has already: it must not come back.
func TestViewIgnoresEventsOlderThanTheRead(t *testing.T) {
	early := testView()
	early.opened(1, 10)
	early.tells(putEvent(written(leased(1, 0, 0), 12, 12)))
	early.read(early.span, nil, 20) // its deletion is still to be told
	wantShown(t, early, 20)
	v := testView()
	a, b := leased(1, 0, 0), leased(2, 0, 0)
	v.opened(1, 10)
	v.read(v.span, []*mvccpb.KeyValue{written(b, 19, 19)}, 20)
	wantShown(t, v, 20, 19)
	v.tells(putEvent(written(a, 12, 12)))
	v.tells(deleteEvent(a, 15))
	v.tells(putEvent(written(a, 16, 16)))
	v.tells(deleteEvent(a, 20))
	wantNothing(t, v)
	v.tells(putEvent(written(a, 21, 21)))
	wantShown(t, v, 21, 19, 21)
}

func TestViewRefusesReadsThatAreTooOld(t *testing.T) {
	a := leased(1, 0, 0)
	v := testView()
	v.opened(1, 10)
	if !v.read(v.span, nil, 9) { // of before the watch: what is between is missing
		t.Error("a read older than the watch was taken")
	}
	wantUnread(t, v, true)
	wantNothing(t, v)
	v.read(v.span, nil, 10)
	wantShown(t, v, 10)
	v.tells(putEvent(written(a, 15, 15)))
	wantShown(t, v, 15, 15)

	// The next watch is that of a member that lags.
	v.broken()
	v.opened(2, 12)
	if !v.read(v.span, nil, 14) { // of before what was shown
		t.Error("a read older than what was shown was taken")
	}
	wantNothing(t, v)
	v.read(v.span, []*mvccpb.KeyValue{written(a, 15, 15)}, 15)
	wantNothing(t, v) // it is the same
	v.tells(putEvent(written(a, 15, 15)))
	wantNothing(t, v)
}

// Between a break and the next read events may be missing, so those that come
// are not shown without them.
func TestViewShowsNothingWhileEventsMayBeMissing(t *testing.T) {
	v := testView()
	a, b := leased(1, 0, 0), leased(2, 0, 0)
	v.opened(1, 10)
	v.read(v.span, nil, 10)
	v.tells(putEvent(written(a, 11, 11)))
	v.broken() // news that were not taken in time
	if _, _, fresh := v.take(); fresh {
		t.Error("shown after the break")
	}
	v.opened(2, 13)
	v.tells(putEvent(written(b, 14, 14)))
	if _, _, fresh := v.take(); fresh {
		t.Error("shown with events missing")
	}
	v.read(v.span, nil, 13) // a was deleted in between
	wantShown(t, v, 14, 14)
}

// A check of what is shown goes on beside the events.
func TestViewIsChecked(t *testing.T) {
	v := testView()
	a, b := leased(1, 0, 0), leased(2, 0, 0)
	v.opened(1, 10)
	v.read(v.span, []*mvccpb.KeyValue{written(a, 8, 8)}, 10)
	wantShown(t, v, 10, 8)

	v.doubt()
	v.doubt() // once is enough
	wantUnread(t, v, true)
	v.tells(putEvent(written(b, 12, 12)))
	wantShown(t, v, 12, 8, 12)
	v.read(v.span, []*mvccpb.KeyValue{written(a, 8, 8)}, 11)
	wantNothing(t, v) // as it should be

	v.doubt()
	v.tells(putEvent(written(b, 12, 14)))
	wantShown(t, v, 14, 8, 12)
	v.read(v.span, []*mvccpb.KeyValue{written(b, 12, 12)}, 13) // the deletion of a was lost
	wantShown(t, v, 14, 12)
}

func TestViewKnowsWhatANodeIs(t *testing.T) {
	v := testView()
	a := leased(1, 0, 0)
	foreign := func(name string, revision int64) *mvccpb.KeyValue {
		return &mvccpb.KeyValue{Key: []byte("ns/d/" + name), CreateRevision: revision, ModRevision: revision}
	}
	v.opened(1, 10)
	v.read(v.span, []*mvccpb.KeyValue{written(a, 8, 8), foreign("x", 9)}, 10)
	wantShown(t, v, 10, 8)
	v.tells(putEvent(foreign("y", 11)))
	v.tells(deleteEvent(driver.Node{Key: "ns/d/x"}, 12))
	wantNothing(t, v)
	over := written(a, 8, 13)
	over.Lease = 0
	v.tells(putEvent(over))
	wantShown(t, v, 13)
	v.tells(deleteEvent(a, 14))
	wantNothing(t, v)
}

func TestViewThatFails(t *testing.T) {
	v := testView()
	v.fail(driver.ErrDenied)
	<-v.news
	wantIs(t, v.err, driver.ErrDenied)
}

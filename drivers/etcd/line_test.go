package etcd

import (
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// Who is first is known without a request of the nodes of a list, while the watch
// tells of everything that went since.
func TestLineKnowsTheFirst(t *testing.T) {
	a, b, c := leased(1, 5, 9), leased(2, 6, 9), leased(3, 7, 9)
	asked := func(f *feed, n driver.Node, wantFirst, wantKnown bool) {
		t.Helper()
		if first, known := f.isFirst(n); first != wantFirst || known != wantKnown {
			t.Errorf("first: %v, known: %v; want %v, %v", first, known, wantFirst, wantKnown)
		}
	}
	f := testFeed()
	asked(f, a, false, false) // there was no list
	f.line.listed([]driver.Node{a, b, c}, 9)
	asked(f, a, false, false) // nor is the watch open
	f.opened(1, 10)
	asked(f, a, false, false) // what went at 10 it has not told of
	f.line.listed([]driver.Node{a, b, c}, 10)
	asked(f, a, true, true)
	asked(f, b, false, true)
	f.note(b.Key, 11) // not from the beginning
	asked(f, c, false, true)
	f.note(a.Key, 12)
	asked(f, a, false, true)
	asked(f, b, false, true)
	asked(f, c, true, true)
	again := leased(1, 13, 13)
	asked(f, again, false, false) // the list is older
	f.line.listed([]driver.Node{c, again}, 14)
	f.line.listed([]driver.Node{a, b, c}, 10) // is late
	asked(f, c, true, true)
	f.note(c.Key, 15)
	asked(f, again, true, true)
	asked(f, c, false, true)
	f.broken()
	asked(f, again, false, false) // and may be gone
}

// When deletions were forgotten a list as of before tells no more.
func TestLineForgetsWhoIsFirst(t *testing.T) {
	a, b := leased(1, 5, 10), leased(2, 6, 10)
	f := testFeed()
	f.opened(1, 10)
	f.line.listed([]driver.Node{a, b}, 10)
	f.note(a.Key, 11)
	for i := range mostGone {
		f.note(leased(int64(100+i), 0, 0).Key, uint64(12+i))
	}
	f.tell()
	if _, known := f.isFirst(b); known {
		t.Error("known by a list of which not everything is known that has gone since")
	}
	f.line.listed([]driver.Node{b}, 12+mostGone)
	wantFirst(t, f, b)
}

// What this process has deleted it knows before the watch tells, and still when
// the watch was opened again and is behind.
func TestLineOwnDeletions(t *testing.T) {
	a, b := leased(1, 5, 10), leased(2, 6, 10)
	f := testFeed()
	f.opened(1, 10)
	f.line.listed([]driver.Node{a, b}, 10)
	f.line.deleted(a.Key, 12)
	wantFirst(t, f, b)
	f.broken()
	f.opened(2, 11)
	f.line.listed([]driver.Node{a, b}, 11)
	wantFirst(t, f, b)
	f.note(a.Key, 12)
	wantFirst(t, f, b)
	f.deletedHere(a.Key, 12) // whose reply comes after the watch has told
	if len(f.line.ours) > 0 {
		t.Errorf("%v is remembered, and nothing will be told of it any more", f.line.ours)
	}
	f.line.deleted(b.Key, 13)
	f.opened(3, 13)
	if len(f.line.ours) > 0 {
		t.Errorf("%v is remembered for ever", f.line.ours)
	}
}

func wantFirst(t *testing.T, f *feed, n driver.Node) {
	t.Helper()
	if first, known := f.isFirst(n); !first || !known {
		t.Errorf("first: %v, known: %v; want true", first, known)
	}
}

// A key was deleted by somebody else and by this process again: that the watch tells
// of the first does not bring the second back.
func TestLineLateEvent(t *testing.T) {
	first, again := leased(1, 5, 10), leased(1, 11, 12)
	f := testFeed()
	f.opened(1, 10)
	f.line.listed([]driver.Node{again}, 12)
	f.line.deleted(again.Key, 13)
	f.note(first.Key, 10)
	if first, _ := f.isFirst(again); first {
		t.Error("what was deleted is the first")
	}
}

// A call has shown that a node is gone, of which the watch has not told yet.
func TestLineIsOutdated(t *testing.T) {
	a, b := leased(1, 5, 10), leased(2, 6, 10)
	f := testFeed()
	f.opened(1, 10)
	f.line.listed([]driver.Node{a, b}, 10)
	f.line.outdated(12)
	if first, known := f.isFirst(a); first || known {
		t.Errorf("first: %v, known: %v; want neither", first, known)
	}
	f.line.listed([]driver.Node{b}, 12)
	if first, known := f.isFirst(b); !first || !known {
		t.Errorf("first: %v, known: %v; want both, by a later list", first, known)
	}
}

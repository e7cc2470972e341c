package zk

import (
	"fmt"
	"math"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// turn has the session come and go in a directory, and returns what it is shown and
// what that takes.
func (f *fixture) turn(s *session, dir string) (line []driver.Node, took sent) {
	f.t.Helper()
	took = f.tap.during(func() {
		n, all, err := s.CreateList(within(f.t), dir, "0", nil)
		must(f.t, err)
		must(f.t, s.Delete(within(f.t), n))
		line = all
	})
	return line, took
}

// settleIn has the session come and go in directories, one after the other, until it
// lists none of them any more.
func (f *fixture) settleIn(s *session, dirs ...string) {
	f.t.Helper()
	for range 20 {
		lists := 0
		for _, dir := range dirs {
			line, took := f.turn(s, dir)
			if len(line) != 1 || line[0].Session != s.ID() {
				f.t.Fatalf("alone, it is shown %+v", line)
			}
			lists += took["children"]
		}
		if lists == 0 {
			return
		}
	}
	f.t.Fatal("alone, it still lists after 20 turns")
}

// Who has a directory to itself does not list it.
func TestAlone(t *testing.T) {
	f := start(t)
	s := f.open(long)
	f.settleIn(s, "d")
	var last uint64
	for range 5 {
		line, took := f.turn(s, "d")
		wantSent(t, "a turn", took, sent{"multi": 1, "delete": 1})
		if len(line) != 1 || line[0].Seq <= last || line[0].Token != line[0].Seq {
			t.Fatalf("shown %+v after %d", line, last)
		}
		last = line[0].Seq
	}
	// What it knows is what a list shows.
	n, all, err := s.CreateList(within(t), "d", "0", nil)
	must(t, err)
	listed, err := s.ListNames(within(t), "d", math.MaxUint64)
	must(t, err)
	if len(all) != 1 || len(listed) != 1 || !all[0].Same(listed[0]) || !all[0].Same(n) || all[0].Seq != listed[0].Seq {
		t.Errorf("shown %+v, and listed %+v", all, listed)
	}
	must(t, s.Delete(within(t), n))
}

// Whoever has come meanwhile is seen, also if it has gone.
func TestNotAloneAnyMore(t *testing.T) {
	f := start(t)
	other := f.peer()
	s, o := f.open(long), other.open(long)

	f.settleIn(s, "d")
	theirs := other.create(o, "d", "0")
	line, _ := f.turn(s, "d")
	if len(line) != 2 || !line[0].Same(theirs) {
		t.Errorf("shown %+v; want %s to be ahead", line, theirs.Key)
	}
	must(t, o.Delete(within(t), theirs))

	f.settleIn(s, "d")
	must(t, o.Delete(within(t), other.create(o, "d", "0")))
	if line, _ := f.turn(s, "d"); len(line) != 1 {
		t.Errorf("after another session came and went: shown %+v", line)
	}

	// Its own other nodes are others, too.
	f.settleIn(s, "d")
	first, all, err := s.CreateList(within(t), "d", "1", nil)
	must(t, err)
	if len(all) != 1 {
		t.Errorf("shown %+v", all)
	}
	if line, _ := f.turn(s, "d"); len(line) != 2 || !line[0].Same(first) {
		t.Errorf("shown %+v; want %s to be ahead", line, first.Key)
	}
	must(t, s.Delete(within(t), first))
}

// An operator removes the node, and nobody else is there.
func TestNotAloneAfterRemoval(t *testing.T) {
	f := start(t)
	s := f.open(long)
	f.settleIn(s, "d")
	n, _, err := s.CreateList(within(t), "d", "0", nil)
	must(t, err)
	must(t, f.admin.Delete(n.Key, -1))
	must(t, s.Delete(within(t), n))
	if line, _ := f.turn(s, "d"); len(line) != 1 {
		t.Errorf("shown %+v", line)
	}
}

// The directory was removed and made again, and others have brought its sequence to
// where it was: the next number says nothing.
func TestNotAloneInAnotherDirectory(t *testing.T) {
	f := start(t)
	other := f.peer()
	s, o := f.open(long), other.open(long)
	f.settleIn(s, "d")
	line, _ := f.turn(s, "d")
	_, base := cut(line[0].Key)
	last, _ := parseName(base)

	must(t, f.admin.Delete(f.dir("d"), -1))
	var theirs []driver.Node
	for i := range last.sequence + 1 {
		theirs = append(theirs, other.create(o, "d", fmt.Sprint(i)))
	}
	line, _ = f.turn(s, "d")
	if len(line) != len(theirs)+1 || !line[0].Same(theirs[0]) {
		t.Errorf("shown %d nodes; want the %d that were there before, too", len(line), len(theirs))
	}
	for _, n := range theirs {
		must(t, o.Delete(within(t), n))
	}
}

// A reply that is lost on the way takes what was known with it.
func TestNotAloneAfterDoubt(t *testing.T) {
	f := start(t)
	s := f.open(long)
	f.settleIn(s, "d")
	f.loseReply()
	n, all, err := s.CreateList(within(t), "d", "0", nil)
	for err != nil {
		wantIs(t, err, driver.ErrUncertain)
		n, all, err = s.CreateList(within(t), "d", "0", nil)
	}
	if len(all) != 1 || !all[0].Same(n) {
		t.Errorf("made %+v and was shown %+v", n, all)
	}
	f.wantNames("d", 1)
	must(t, s.Delete(within(t), n))
}

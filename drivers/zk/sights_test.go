package zk

import (
	"fmt"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// V5: the server's watches go with the last that looks.
func TestWatchesOfDirectoriesAreTakenBack(t *testing.T) {
	f := start(t)
	eventually(t, "no watches of earlier tests", func() bool { return f.watched() == 0 })
	s := f.open(long)
	f.create(s, "d", "0")
	var many []*watching
	for range 5 {
		for _, dir := range []string{"d", "missing"} {
			w := f.watch(within(t), dir)
			w.next()
			many = append(many, w)
		}
	}
	if n := f.watched(); n != 3 { // data and names of one, the existence of the other
		t.Errorf("the server has %d watches", n)
	}
	for _, w := range many[2:] {
		w.leave()
	}
	if n := f.watched(); n != 3 {
		t.Errorf("the server has %d watches with two that look", n)
	}
	f.create(s, "d", "1")
	many[0].wantNext("0", "1")
	f.create(s, "missing", "2")
	many[1].until("2")
	many[0].leave()
	many[1].leave()
	eventually(t, "no watches", func() bool { return f.watched() == 0 })
}

// What a change costs: the directory, and the nodes that are new.
func TestCostOfAWatch(t *testing.T) {
	f := start(t)
	owner := f.peer()
	s := owner.open(long)
	for i := range 20 {
		owner.create(s, "d", fmt.Sprint(i))
	}
	f.open(long)
	var w *watching
	wantSent(t, "begin", f.tap.during(func() { w = f.watch(within(t), "d"); w.next() }), sent{"multi": 1, "watch data": 1, "watch": 1, "get": 20})
	var n driver.Node
	wantSent(t, "a node more", f.tap.during(func() { n = owner.create(s, "d", "20"); w.next() }), sent{"watch data": 1, "watch": 1, "get": 1})
	wantSent(t, "an update", f.tap.during(func() {
		_, err := s.Update(within(t), n, []byte("updated"))
		must(t, err)
		w.next()
	}), sent{"watch data": 1, "watch": 1, "get": 1})
	wantSent(t, "a node less", f.tap.during(func() { must(t, s.Delete(within(t), n)); w.next() }), sent{"watch data": 1, "watch": 1})
	// An operator wrote to a node, and by hand to its directory.
	names := f.names("d")
	_, err := f.admin.Set(f.dir("d")+"/"+names[0], []byte("by hand"), -1)
	must(t, err)
	wantSent(t, "an update by hand", f.tap.during(func() {
		_, err = f.admin.Set(f.dir("d"), nil, -1)
		must(t, err)
		w.next()
	}), sent{"watch data": 1, "watch": 1, "get": 20})
	wantSent(t, "the end", f.tap.during(func() {
		w.leave()
		eventually(t, "no watches", func() bool { return f.tap.sent()["forget"] > 0 })
	}), sent{"forget": 1})
}

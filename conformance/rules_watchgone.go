package conformance

import (
	"slices"

	"github.com/coordkit/coordkit/coord/driver"
)

// The cases of V1 in which somebody else than the driver makes the change.

// watchesEnd ends a session of the watch's own connection, with which the watch
// has nothing to do, and one of another.
func watchesEnd(t *Trial, end func(driver.Session)) {
	c := t.Open()
	a, b, stays := t.SessionOn(c), t.Session(), t.Session()
	v := t.view()
	n, m := v.create(a, "0"), v.create(b, "0")
	o := t.observe(t.ctx, c, dir)
	v.first(o)
	for _, gone := range []struct {
		s driver.Session
		n driver.Node
	}{{a, n}, {b, m}} {
		end(gone.s)
		if !t.comes(t.h.Expiry, t.absent(gone.n)) { // S6
			return
		}
		v.lose(gone.n)
		v.shows(o, "a third client saw a node gone with its session")
	}
	v.create(stays, "0")
	v.shows(o, "sessions had ended and a node was created")
}

func watchesRemoval(t *Trial) {
	c, s := t.Open(), t.Session()
	v := t.view()
	first, last := v.create(s, "0"), v.create(s, "1")
	o := t.observe(t.ctx, c, dir)
	v.first(o)
	for _, n := range []driver.Node{last, first} {
		t.removeNode(n)
		v.lose(n)
		v.shows(o, "an operator removed a node")
	}
}

// watchesDirRemoval creates by another session each time: what a session
// remembers of a directory is C6's matter.
func watchesDirRemoval(t *Trial) {
	c := t.Open()
	v := t.view()
	o := t.observe(t.ctx, c, dir)
	for range 3 {
		s := t.Session()
		v.create(s, "0")
		v.create(s, "1")
		v.shows(o, "nodes were created")
		t.removeDir(dir)
		v.lose(v.stand...)
		v.shows(o, "an operator removed the directory")
	}
	v.create(t.Session(), "0")
	v.shows(o, "a node was created in a directory that had been removed")
}

func watchesForeign(t *Trial) {
	c, s := t.Open(), t.Session()
	v := t.view()
	o := t.observe(t.ctx, c, dir)
	v.create(s, "0")
	v.shows(o, "a node was created")
	t.plant(dir)
	v.create(s, "1")
	v.shows(o, "foreign keys were planted and a node was created beside them")
	late := t.observe(t.ctx, c, dir)
	v.shows(late, "foreign keys had been planted")
	for _, nodes := range slices.Concat(o.states(), late.states()) {
		for _, n := range nodes {
			if n.Session != s.ID() {
				t.Fatalf("the nodes are all of session %s, and beside them are foreign keys; a watch shows %s", s.ID(), show(n))
			}
		}
	}
}

package queue

import (
	"strconv"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// What is put into an id is read off it, and what does not fit in is left out.
func TestSlotID(t *testing.T) {
	for _, c := range []struct {
		kind, terms string
		slot        int
		want        string
	}{
		{"", "", 0, "0"},
		{"w", "", 12, "w12"},
		{"p", "3x20x", 0, "p3x20x0"},
		{"p", "3x2000x", 99_999_999, "p3x2000x99999999"},
		{"p", "3x2000x", 100_000_000, "p100000000"},
		{"p", "99x2147483647x", 9, "p99x2147483647x9"},
		{"p", "99x2147483647x", 10, "p10"},
		{"g", "", 1234567, "g1234567"},
	} {
		id := slotID(c.kind, c.terms, c.slot)
		if id != c.want || !driver.ValidID(id) {
			t.Errorf("%q, %q, slot %d: id %q; want %q", c.kind, c.terms, c.slot, id, c.want)
		}
		kind, terms, slot := cutID(id)
		if kind != c.kind || terms != c.terms && terms != "" || slot != strconv.Itoa(c.slot) {
			t.Errorf("%q: %q, %q, %q", id, kind, terms, slot)
		}
	}
}

// The slot of an entry that has a gate is free when both are gone.
func TestPinnedSlot(t *testing.T) {
	l := &local{slots: make(map[string]*slots), entries: make(map[string]*Entry)}
	take := func(want int) *Entry {
		t.Helper()
		e := &Entry{local: l, dir: "d", slot: l.take("d"), node: driver.Node{Key: strconv.Itoa(want)}}
		if e.slot != want {
			t.Fatalf("slot %d; want %d", e.slot, want)
		}
		return e
	}
	for what, settle := range map[string]func(gate *Entry){
		"not made": l.forget,
		"gone":     func(gate *Entry) { l.add(gate); l.forget(gate) },
	} {
		e := take(0)
		gate := &Entry{local: l, dir: "d", slot: e.slot, gateOf: e, node: driver.Node{Key: "gate"}}
		if !l.pin(e) {
			t.Fatal("an entry that is there cannot be pinned")
		}
		l.forget(e)
		other := take(1)
		settle(gate)
		again := take(0)
		l.forget(again)
		l.forget(other)
		if len(l.slots) != 0 || len(l.entries) != 0 {
			t.Fatalf("%s: slots are out: %+v; known: %v", what, l.slots, l.entries)
		}
		if l.pin(e) { // another may have the slot by now
			t.Fatal("an entry that has left was pinned")
		}

		e = take(0) // whose gate is gone first
		gate = &Entry{local: l, dir: "d", slot: e.slot, gateOf: e, node: driver.Node{Key: "gate"}}
		l.pin(e)
		settle(gate)
		if l.slots["d"].used != 1 {
			t.Fatalf("%s: slots are out: %+v", what, l.slots)
		}
		l.forget(e)
		if len(l.slots) != 0 {
			t.Fatalf("%s: slots are out: %+v", what, l.slots)
		}
	}
}

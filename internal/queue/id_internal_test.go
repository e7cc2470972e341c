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
		{"p", "3x20x", 9_999_999_999, "p3x20x9999999999"},
		{"p", "3x20x", 10_000_000_000, "p10000000000"},
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

// The slot of an entry that has left is not used again while its gate is there, or
// may yet be made.
func TestPinnedSlot(t *testing.T) {
	r := &roster{slots: make(map[string]slots), entries: make(map[string]*Entry)}
	take := func(want int) *Entry {
		t.Helper()
		e := &Entry{roster: r, dir: "d", slot: r.take("d")}
		if e.slot != want {
			t.Fatalf("slot %d; want %d", e.slot, want)
		}
		return e
	}
	for what, settle := range map[string]func(gate *Entry){
		"not made": r.give,
		"gone":     func(gate *Entry) { r.enter(gate); r.leave(gate) },
	} {
		e := take(0)
		gate := &Entry{roster: r, dir: "d", slot: e.slot, gateOf: e}
		if !r.pin(e) {
			t.Fatal("an entry that is there cannot be pinned")
		}
		r.leave(e)
		other := take(1)
		settle(gate)
		again := take(0)
		r.leave(again)
		r.leave(other)
		if len(r.slots) != 0 || len(r.entries) != 0 {
			t.Fatalf("%s: slots are out: %+v; known: %v", what, r.slots, r.entries)
		}
		if r.pin(e) { // another may have the slot by now
			t.Fatal("an entry that has left was pinned")
		}

		e = take(0) // whose gate is settled first
		gate = &Entry{roster: r, dir: "d", slot: e.slot, gateOf: e}
		r.pin(e)
		settle(gate)
		if r.slots["d"].used != 1 {
			t.Fatalf("%s: slots are out: %+v", what, r.slots)
		}
		r.leave(e)
		if len(r.slots) != 0 {
			t.Fatalf("%s: slots are out: %+v", what, r.slots)
		}
	}
}

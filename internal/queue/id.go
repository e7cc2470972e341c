package queue

import (
	"strconv"

	"github.com/coordkit/coordkit/coord/driver"
)

// An id is an entry's kind, its terms and its slot: "p3x20x0" is that of a "p"
// with the terms "3x20x" in slot 0. The kind is letters, the terms begin with a
// digit and end with a letter, and the slot is a number, so each can be told from
// the next. Stores keep the names of what was deleted for a while, so whatever is
// in an id must come from a small set.

// slotID makes an id. Terms that make it longer than drivers take are left out.
func slotID(kind, terms string, slot int) string {
	number := strconv.Itoa(slot)
	if id := kind + terms + number; driver.ValidID(id) {
		return id
	}
	return kind + number
}

// cutID takes an id apart, by bytes, as rules do it for all of a line. What slotID
// does not make has no slot, or parts that nobody has asked for.
func cutID(id string) (kind, terms, slot string) {
	i := kindOf(id)
	j := len(id)
	for j > i && isDigit(id[j-1]) {
		j--
	}
	return id[:i], id[i:j], id[j:]
}

// kindOf returns how long an id's kind is, which is nothing without a digit
// behind it.
func kindOf(id string) int {
	for i := range len(id) {
		if isDigit(id[i]) {
			return i
		}
	}
	return 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// Kind is what a node's id begins with, or "" if it has none: what the entry's
// Request said.
func Kind(n driver.Node) string { return n.ID[:kindOf(n.ID)] }

// Terms are what a node's id says between its kind and its slot: what the entry's
// Request said, or "" if it said nothing, or if that did not fit in.
func Terms(n driver.Node) string {
	_, terms, _ := cutID(n.ID)
	return terms
}

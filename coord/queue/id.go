package queue

import (
	"strconv"
	"strings"

	"github.com/coordkit/coordkit/coord/driver"
)

// An id is the entry's kind, its terms and its slot: "p3x20x0" is a "p" with the terms
// "3x20x" in slot 0. The kind is letters, the terms begin with a digit and end with a
// letter, and the slot is a number. Stores remember the names of deleted nodes for a
// while, so ids come from a small set.

// slotID makes an id. It leaves out terms that make the id longer than drivers take.
func slotID(kind, terms string, slot int) string {
	number := strconv.Itoa(slot)
	if id := kind + terms + number; driver.ValidID(id) {
		return id
	}
	return kind + number
}

// cutID takes an id apart. An id that slotID did not make may lack any part; without a
// digit it has no kind.
func cutID(id string) (kind, terms, slot string) {
	const digits = "0123456789"
	i := max(0, strings.IndexAny(id, digits))
	terms = strings.TrimRight(id[i:], digits)
	return id[:i], terms, id[i+len(terms):]
}

// Kind returns the Kind of the Request that made the node.
func Kind(n driver.Node) string {
	kind, _, _ := cutID(n.ID)
	return kind
}

// Terms returns the Terms of the Request that made the node, or "" if they did not fit
// into its id.
func Terms(n driver.Node) string {
	_, terms, _ := cutID(n.ID)
	return terms
}

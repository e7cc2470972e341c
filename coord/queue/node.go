package queue

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// slotID makes an id of the entry's kind, its terms and its slot: "p3x20x0" is a "p" with
// the terms "3x20x" in slot 0. Ids come from a small set, because stores remember the names
// of deleted nodes: a line of ever new names gets ever slower. slotID leaves out terms that
// make the id longer than drivers take.
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

// header is the first line of an entry's data, as JSON. The recipe's value follows.
type header struct {
	Owner coord.Owner `json:"owner"`
	Since time.Time   `json:"since"`

	// InPlaceOf is the place of the entry that this one has replaced.
	InPlaceOf *place `json:"in_place_of,omitempty"`
}

// place is a place in the line.
type place struct {
	Seq   uint64 `json:"seq"`
	Token uint64 `json:"token"`
}

// encode makes an entry's data.
func (h header) encode(value []byte) []byte {
	line, err := json.Marshal(h)
	if err != nil { // a header is strings and numbers
		panic(err)
	}
	return append(append(line, '\n'), value...)
}

// parse reads an entry's header. Of data that something else wrote it is empty.
func parse(n driver.Node) (h header) {
	line, _, _ := bytes.Cut(n.Data, []byte("\n"))
	_ = json.Unmarshal(line, &h)
	return h
}

// Value returns what the recipe has stored with an entry.
func Value(n driver.Node) []byte {
	_, value, _ := bytes.Cut(n.Data, []byte("\n"))
	return value
}

// Contender returns what a node says of its owner.
func Contender(n driver.Node) coord.Contender {
	h := parse(n)
	return coord.Contender{Owner: h.Owner, Since: h.Since, Token: h.token(n), Session: n.Session, Key: n.Key}
}

// token returns the token of the entry's holds.
func (h header) token(n driver.Node) uint64 {
	if h.InPlaceOf != nil {
		return h.InPlaceOf.Token
	}
	return n.Token
}

// InPlaceOf returns the Seq at which the node stands in the line: its own, or that of
// the entry that it has replaced (see Entry.Downgrade).
func InPlaceOf(n driver.Node) uint64 {
	if h := parse(n); h.InPlaceOf != nil {
		return h.InPlaceOf.Seq
	}
	return n.Seq
}

package queue_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
)

// gated makes a line from words: "p" is an entry in a slot of its own, which is its
// place in the line counted from 1; "p3" is one in slot 3, "g3" the gate of slot 3,
// "G3" one of another session that says so, and "g?" one that names nobody. Seq
// counts from 1; "-" is where an entry was.
func gated(words string) (line []driver.Node) {
	for i, word := range strings.Fields(words) {
		slot, n := fmt.Sprint(i+1), driver.Node{Seq: uint64(i + 1), Session: "s"}
		switch named := word[1:]; word[0] {
		case '-':
			continue
		case 'G':
			n.Session, n.ID = "other", "g"+named
		case 'g':
			n.ID = "g" + named
		default:
			if named != "" {
				slot = named
			}
			n.ID = word[:1] + "1x20x" + slot
		}
		line = append(line, n)
	}
	return line
}

func TestNearestGate(t *testing.T) {
	for _, c := range []struct {
		line     string
		from, to int
		want     uint64 // the Seq of the gate; 0 for none
	}{
		{"p p p", 0, 2, 0},
		{"p p g2 p", 0, 3, 3},
		{"p p g2 p g1", 0, 3, 3},        // of the last, whichever was put up first
		{"p p p g1", 0, 2, 4},           // behind the one who asks too
		{"p p g2 p g4", 0, 3, 3},        // not one's own
		{"p p p g1", 1, 2, 0},           // not of one who is not blocked
		{"p g1 p g3 p", 3, 4, 0},        // the gates themselves have none
		{"p p G2 p", 0, 3, 0},           // not what another session says
		{"p p g? p", 0, 3, 0},           // nor what names nobody
		{"p p g12 p", 0, 3, 0},          // a slot is a number and not how one begins
		{"p - g2 p", 0, 2, 0},           // nor of one who has left
		{"p - g2 p g4 p", 0, 4, 5},      // the nearest that counts
		{"p g1 g1 p", 0, 3, 2},          // of two either will do
		{"p p p p g2 g3 g4 p", 1, 4, 7}, // the last
		{"p p p p g4 g2 g3 p", 0, 3, 7}, // within the range

		// A slot that is used again.
		{"p - g2 p p2 p", 0, 5, 0},       // the old gate is not of who has the slot now
		{"p - g2 p p2 g2 p", 0, 5, 6},    // which has one of its own
		{"p p2 g2 p p2 p", 0, 5, 3},      // though it still is of who had it, if that is there
		{"p p5 g5 p l5 p", 0, 5, 3},      // whatever kind has it now
		{"p l9 p g9 p", 0, 4, 4},         // or had it
		{"p - g2 p p2 p g2 p", 3, 5, 7},  // both at once
		{"p - g2 p - g2 p2 p", 0, 6, 0},  // two that are left
		{"p g1 p2 p g2 - g9 p", 0, 3, 5}, // and one of whom nobody knows
	} {
		n, found := queue.NearestGate(gated(c.line), c.from, c.to)
		if found != (c.want > 0) || n.Seq != c.want {
			t.Errorf("%q[%d:%d]: gate %d, %v; want %d", c.line, c.from, c.to, n.Seq, found, c.want)
		}
	}
}

// An id is taken apart as it was put together.
func TestIDs(t *testing.T) {
	for _, c := range []struct{ id, kind, terms string }{
		{"0", "", ""},
		{"17", "", ""},
		{"p0", "p", ""},
		{"p3x20x0", "p", "3x20x"},
		{"p3x20x17", "p", "3x20x"},
		{"g5", "g", ""},
		{"ab3c4", "ab", "3c"},
		{"p3x", "p", "3x"},
		{"3x0", "", "3x"},
		{"p", "", "p"}, // of nobody's making
		{"", "", ""},
	} {
		n := driver.Node{ID: c.id}
		if kind, terms := queue.Kind(n), queue.Terms(n); kind != c.kind || terms != c.terms {
			t.Errorf("%q: kind %q, terms %q; want %q and %q", c.id, kind, terms, c.kind, c.terms)
		}
	}
}

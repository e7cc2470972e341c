package queue_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/queue"
)

// gated makes a line from words: "p" is an entry, "g3" the gate of the entry
// with Seq 3, "G3" one of another session that says so, "g?" one that cannot be
// read. Seq counts from 1; "-" is where an entry was.
func gated(words string) (line []driver.Node) {
	for i, word := range strings.Fields(words) {
		n := driver.Node{Seq: uint64(i + 1), Session: "s", ID: word[:1] + fmt.Sprint(i), Data: []byte("{}\n" + word[1:])}
		switch word[0] {
		case '-':
			continue
		case 'G':
			n.Session, n.ID = "other", "g"+n.ID[1:]
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
		{"p p g? p", 0, 3, 0},           // nor what nobody can read
		{"p - g2 p", 0, 2, 0},           // nor of one who has left
		{"p - g2 p g4 p", 0, 4, 5},      // the nearest that counts
		{"p g1 g1 p", 0, 3, 3},          // of two either will do
		{"p p p p g2 g3 g4 p", 1, 4, 7}, // the last
		{"p p p p g4 g2 g3 p", 0, 3, 7}, // within the range
		{"p p p g18446744073709551616", 0, 2, 0},
	} {
		n, found := queue.NearestGate(gated(c.line), c.from, c.to)
		if found != (c.want > 0) || n.Seq != c.want {
			t.Errorf("%q[%d:%d]: gate %d, %v; want %d", c.line, c.from, c.to, n.Seq, found, c.want)
		}
	}
}

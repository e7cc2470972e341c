package election

import (
	"bytes"
	"fmt"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
)

// state says how a candidate stands, for those who see its entry.
type state string

const (
	// candidate: it has just joined. If it is the first in line it leads.
	candidate state = "candidate"

	// standing: it has had to wait. As the first in line it is about to take
	// office, and has not done so yet.
	standing state = "standing"

	// elected: it leads, or has led.
	elected state = "elected"
)

// poster is what a candidate stores with its entry.
type poster struct {
	state state
	value []byte // the user's
}

// encode writes the state on a line of its own, for people who look at an entry,
// and the value as it is.
func (p poster) encode() []byte {
	b := make([]byte, 0, len(p.state)+1+len(p.value))
	b = append(b, p.state...)
	b = append(b, '\n')
	return append(b, p.value...)
}

// read reads the poster of a node. What somebody else wrote there is no reason
// to show no leader where there is one.
func read(n driver.Node) poster {
	first, value, _ := bytes.Cut(queue.Value(n), []byte("\n"))
	return poster{state(first), bytes.Clone(value)} // of a node that others are shown, too
}

// checkValue returns an error that Is coord.ErrInvalid for a value that is too long.
func checkValue(value []byte) error {
	if len(value) > coord.MaxValue {
		return fmt.Errorf("%w value: it has %d bytes; want at most %d", coord.ErrInvalid, len(value), coord.MaxValue)
	}
	return nil
}

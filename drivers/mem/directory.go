package mem

import (
	"slices"

	"github.com/coordkit/coordkit/coord/driver"
)

// place names a directory within the store.
type place struct{ namespace, dir string }

// slot names a node within its session.
type slot struct{ dir, id string }

// node is a node as the store has it.
type node struct {
	driver.Node
	at      place
	updated uint64 // the number of the last Update that has landed
}

// directory is a line of nodes in the order of Seq.
//
// Callers of list share the memory of line, so it is never written to: nodes
// join behind what was given out, and those at the head are cut off. That is how
// a waiting line changes, and costs the same however long it is. After any other
// change the next listing makes a new line.
type directory struct {
	nodes   map[uint64]*node // by Token
	line    []driver.Node    // all of the nodes; if it is stale also nodes that are gone, and old data
	stale   bool             // see line
	foreign map[string]bool  // keys that no driver made
}

// add puts n at the end of the line. Its Seq is the greatest.
func (d *directory) add(n *node) {
	d.nodes[n.Token] = n
	d.line = append(d.line, n.Node)
}

// remove takes n out of the line.
func (d *directory) remove(n *node) {
	delete(d.nodes, n.Token)
	if d.line[0].Token == n.Token {
		d.line = d.line[1:]
	} else {
		d.stale = true
	}
	if len(d.line) > 2*len(d.nodes) { // what is gone takes no more room than the rest
		d.refresh()
	}
}

// list returns the line as it is. A directory that is not there, nil, is empty.
func (d *directory) list() []driver.Node {
	if d == nil {
		return nil
	}
	if d.stale {
		d.refresh()
	}
	return slices.Clip(d.line)
}

// refresh makes a new line.
func (d *directory) refresh() {
	line := make([]driver.Node, 0, len(d.nodes)+1)
	for _, m := range d.line {
		if n := d.nodes[m.Token]; n != nil {
			line = append(line, n.Node)
		}
	}
	d.line, d.stale = line, false
}

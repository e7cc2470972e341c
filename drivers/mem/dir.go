package mem

import (
	"cmp"
	"slices"

	"github.com/coordkit/coordkit/coord/driver"
)

// place names a directory within the store.
type place struct{ namespace, dir string }

// dir is a directory: a line of nodes in the order of Seq, of which it can show
// a snapshot at no cost as long as nodes only join at the end and leave at the
// head, as they do in a waiting line.
//
// The zero value with its place set is an empty directory. The store's lock
// guards it, but not the snapshots it has given out: those never change.
type dir struct {
	at    place
	nodes []*node // the first head of them are nil
	head  int
	dead  int // how many nodes are gone and still in their place

	// snap shows nodes[head:], or only its beginning. What is in its backing
	// array was given out and is never written again; the free part behind it
	// is written once. It is nil when a node that it showed has changed, and
	// then made anew; so it is nil while dead is not 0.
	snap []driver.Node

	foreign map[string]struct{} // keys that this driver did not make
}

func (d *dir) empty() bool { return d.head == len(d.nodes) && len(d.foreign) == 0 }

// mostSpare is how many nodes an empty directory keeps room for.
const mostSpare = 64

// clear makes d, which is empty, as good as new. Its place stays.
func (d *dir) clear() {
	if cap(d.nodes) > mostSpare {
		d.nodes = nil
	}
	*d = dir{at: d.at, nodes: d.nodes[:0]}
}

// add puts n at the end of the line. Its Seq is the greatest.
func (d *dir) add(n *node) { d.nodes = append(d.nodes, n) }

// remove takes n, which is in the line, out of it.
func (d *dir) remove(n *node) {
	n.gone = true
	d.dead++
	if d.nodes[d.head] != n {
		d.snap = nil
		if d.dead > len(d.nodes)/2 { // so a removal costs a constant on average
			d.compact()
		}
		return
	}
	for d.head < len(d.nodes) && d.nodes[d.head].gone {
		d.nodes[d.head] = nil
		d.head++
		d.dead--
		if len(d.snap) > 0 {
			d.snap = d.snap[1:]
		}
	}
	if d.head > len(d.nodes)/2 { // likewise
		d.compact()
	}
}

// compact moves the live nodes to the front. The line, and thus snap, stays.
func (d *dir) compact() {
	live := d.nodes[:0]
	for _, n := range d.nodes[d.head:] {
		if !n.gone {
			live = append(live, n)
		}
	}
	clear(d.nodes[len(live):])
	d.nodes, d.head, d.dead = live, 0, 0
}

// changed says that a node of the line shows other data than before.
func (d *dir) changed() { d.snap = nil }

// snapshot returns the line as it is. It may be shared by any number of
// callers, none of which writes to it.
func (d *dir) snapshot() []driver.Node {
	if d.dead > 0 {
		d.compact()
	}
	line := d.nodes[d.head:]
	if d.snap == nil {
		d.snap = make([]driver.Node, 0, len(line)+len(line)/4)
	} else if cap(d.snap) < len(line) {
		// A line that moves on at its length gets through its array and needs
		// another. With as much room again, a node is copied twice in its time.
		d.snap = append(make([]driver.Node, 0, 2*len(line)), d.snap...)
	}
	for _, n := range line[len(d.snap):] {
		d.snap = append(d.snap, n.Node)
	}
	return slices.Clip(d.snap)
}

// find returns the very node, or nil if it is gone. It looks at the ends first,
// where a waiting line changes: a search jumps from node to node through all of
// the line's memory.
func (d *dir) find(key string, token uint64) *node {
	line := d.nodes[d.head:]
	if len(line) == 0 {
		return nil
	}
	n := line[0]
	if n.Token != token {
		n = line[len(line)-1]
	}
	if n.Token != token {
		i, ok := slices.BinarySearchFunc(line, token, func(m *node, token uint64) int {
			return cmp.Compare(m.Token, token)
		})
		if !ok {
			return nil
		}
		n = line[i]
	}
	if n.gone || n.Key != key {
		return nil
	}
	return n
}

// named returns the node whose key is key, or nil.
func (d *dir) named(key string) *node {
	for _, n := range d.nodes[d.head:] {
		if !n.gone && n.Key == key {
			return n
		}
	}
	return nil
}

package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coordkit/coordkit/coord/driver"
)

// alikeNames are names of directories that a driver may take for one another: they are as
// long as they may be and differ in the last byte, or they differ in a capital, or in how
// a byte is escaped.
func alikeNames() []string {
	long := strings.Repeat("d", driver.MaxDir-1)
	return []string{
		long + "1", long + "2", long + "d", long + "D", long, long[:64],
		"queue:A", "queue:a", "queue:%41", "queue%3AA", "queue%3aA",
	}
}

// alikeNodes makes a node in each of these directories.
func (t *Trial) alikeNodes(s driver.Session) (nodes []driver.Node) {
	for _, name := range alikeNames() {
		n := t.Create(s, name, "0", []byte("old")...)
		if _, ok := find(nodes, n); ok {
			t.NotVerified("directories with similar names are one, which L1 is about: %s", show(n))
		}
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		if !t.comes(t.patience(), t.present(n)) || len(t.Nodes(n.Dir)) > 1 {
			t.NotVerified("a third client does not see %s alone in its directory, which L1 is about", show(n))
		}
	}
	return nodes
}

// listsAlike lists each directory.
func listsAlike(t *Trial) {
	s := t.Session()
	names := alikeNames()
	nodes := make([]driver.Node, len(names))
	for i, name := range names {
		nodes[i] = t.Create(s, name, "0")
	}
	for who, list := range t.lists(s) {
		for i, name := range names {
			t.Eventually(t.patience(), func() error {
				others := slices.Delete(slices.Clone(nodes), i, i+1)
				return t.holds(who, list(name), nodes[i:i+1], others)
			})
		}
	}
}

// waitsInAlike waits for a node in each directory, and deletes one after another.
func waitsInAlike(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	nodes := t.alikeNodes(owner)
	var waits []*waiting
	for _, n := range nodes {
		waits = append(waits, t.wait(waiter, n))
	}
	t.probe(waiter, owner, "probe")
	for i, n := range nodes {
		for j := i; j < len(nodes); j++ {
			t.blocked(waits[j], nodes[j], "none but nodes of directories with similar names were deleted")
		}
		t.Delete(owner, n)
		t.returnsNil(waits[i], n, "its deletion")
	}
}

// watchesInAlike watches each directory.
func watchesInAlike(t *Trial) {
	c, s := t.Open(), t.Session()
	nodes := t.alikeNodes(s)
	views, watches := make([]*view, len(nodes)), make([]*observing, len(nodes))
	for i, n := range nodes {
		views[i] = t.view(n)
		for j, m := range nodes {
			if j != i {
				views[i].not = append(views[i].not, m)
			}
		}
		watches[i] = t.observe(t.ctx, c, n.Dir)
	}
	shown := func(after string) {
		for i, o := range watches {
			views[i].shows(o, after+" in directories with similar names")
		}
	}
	shown("nodes were created")
	for i, n := range nodes {
		views[i].stand = append(views[i].stand, t.Create(s, n.Dir, "1"))
	}
	shown("more nodes were created")
	for i, n := range nodes {
		if i%2 == 0 {
			views[i].delete(s, n)
		}
	}
	shown("every other of the first nodes was deleted")
}

// updatesInAlike updates the node of each directory with data of its own.
func updatesInAlike(t *Trial) {
	s := t.Session()
	nodes := t.alikeNodes(s)
	for i, n := range nodes {
		t.Update(s, n, []byte(fmt.Sprint("new ", i))...)
		for j, m := range nodes {
			want := "old"
			if j <= i {
				want = fmt.Sprint("new ", j)
			}
			t.Eventually(t.patience(), t.is(m, want))
		}
	}
}

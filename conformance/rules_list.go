package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/coordkit/coordkit/coord/driver"
)

func listRules() []Rule {
	return []Rule{
		{
			ID:   "L1",
			Text: "List holds the nodes of the directory at one moment, all of them and no others, in the order of Seq.",
			Cases: append([]Case{
				{Name: "neighbors", Check: listsOneDirectory},
				{Name: "many nodes", Check: listsMany},
				{Name: "directory changes all the time", Check: listsChanging},
				{Name: "similar directories", Check: listsAlike},
				{Name: "updated in a long line", Check: listsUpdated},
				{Name: "data of all sizes", Check: listsSizes},
				{Name: "session ended by the store", Needs: NeedExpire, Check: listsWhenEnded},
				{Name: "much data", Check: listsMuch},
			}, momentCases()...),
		},
		{
			ID:   "L2",
			Text: "List ignores keys that are not of the driver's making.",
			Cases: []Case{
				{Name: "foreign keys", Needs: NeedPlantForeign, Check: ignoresForeign},
				{Name: "foreign keys stay", Needs: NeedPlantForeign | NeedResidue, Check: leavesForeign},
			},
		},
		ownListRule(),
		{
			ID:   "L4",
			Text: "A directory that does not exist is empty, and listing does not make it.",
			Cases: []Case{
				{Name: "empty", Check: listsMissing},
				{Name: "not made", Needs: NeedResidue, Check: listingMakesNothing},
			},
		},
		observerListRule(),
	}
}

// lists are the two ways to list.
func (t *Trial) lists(s driver.Session) map[string]func(dir string) []driver.Node {
	return map[string]func(string) []driver.Node{
		"Conn.List":    t.Nodes,
		"Session.List": func(dir string) []driver.Node { return t.list(s, dir) },
	}
}

// holds checks a list: in order, whole, with every field as Create returned it,
// and without nodes of other directories. A node that is missing is reported as
// an error, for it may yet come (L3, L5); the rest fails at once.
func (t *Trial) holds(who string, nodes, want, strangers []driver.Node) error {
	for i, n := range nodes {
		if i > 0 && nodes[i-1].Seq >= n.Seq {
			t.Fatalf("%s: not in the order of Seq: %s", who, show(nodes[i-1:i+1]...))
		}
	}
	for _, n := range strangers {
		if _, ok := find(nodes, n); ok {
			t.Fatalf("%s of %s holds a node of %s: %s", who, want[0].Dir, n.Dir, show(n))
		}
	}
	for _, n := range want {
		m, ok := find(nodes, n)
		if !ok {
			return fmt.Errorf("%s: %s is missing among %d nodes", who, show(n), len(nodes))
		}
		if m.Dir != n.Dir || m.ID != n.ID || m.Session != n.Session || m.Seq != n.Seq || !t.sameData(m.Data, n.Data) {
			t.Fatalf("%s shows %s in %q for what Create returned as %s in %q", who, show(m), m.Dir, show(n), n.Dir)
		}
	}
	return nil
}

func listsOneDirectory(t *Trial) {
	a, b, c := t.Session(), t.Session(), t.Session()
	var want, strangers []driver.Node
	// Names that begin, end or continue like the one listed.
	for _, near := range []string{other, dir + "b", dir + ":b", dir + "-", dir + "%2F", "queue:", "a", dir + "." + dir} {
		strangers = append(strangers, t.Create(a, near, "0"))
	}
	for i := range 8 {
		for _, s := range []driver.Session{c, a, b} {
			want = append(want, t.Create(s, dir, fmt.Sprint(i), byte('a'+i)))
		}
	}
	gone := want[10]
	t.Delete(b, want[5])
	t.Delete(a, gone)
	want = append(slices.Concat(want[:5], want[6:10], want[11:]), t.Create(b, dir, "last"))
	for who, list := range t.lists(b) {
		t.Eventually(t.patience(), func() error { return t.holds(who, list(dir), want, strangers) })
		t.Eventually(t.patience(), func() error {
			if _, ok := find(list(dir), gone); ok {
				return fmt.Errorf("%s holds a node that was deleted: %s", who, show(gone))
			}
			return nil
		})
	}
	t.Eventually(t.patience(), func() error {
		return t.holds("Conn.List", t.Nodes(other), strangers[:1], append(want, strangers[1:]...))
	})
}

// listsSizes has nodes of all sizes in one directory.
func listsSizes(t *Trial) {
	s := t.Session()
	var want []driver.Node
	for i, data := range sizes() {
		want = append(want, t.Create(s, dir, fmt.Sprint(i), data...))
	}
	for who, list := range t.lists(s) {
		t.Eventually(t.patience(), func() error { return t.holds(who, list(dir), want, nil) })
	}
}

// listsWhenEnded lists right after the store has ended the session, before the driver can
// know: that may fail, but others' nodes are there.
func listsWhenEnded(t *Trial) {
	s := t.Session()
	t.Create(s, dir, "0")
	stands := t.Bystander(dir)
	t.Sees(stands)
	t.list(s, dir)
	t.expire(s)
	nodes, err := t.listOnce(t.ctx, s, dir)
	if _, ok := find(nodes, stands); err == nil && !ok {
		t.Fatalf("Session.List, of a session that the store has just ended, returned %s and nil: it does not hold %s", show(nodes...), show(stands))
	}
	if err != nil && !isOver(err) && !driver.Transient(err) {
		t.Fatalf("Session.List, of a session that the store has just ended, returned %s", errorOf(err))
	}
}

// listsMuch gives nodes more data than a message of a store's protocol may have by
// habit. They get them when all are there, since to create one may be to list them.
// What the data are is for C8.
func listsMuch(t *Trial) {
	const count = 6 << 20 / driver.MaxData
	s := t.Session()
	var nodes []driver.Node
	for i := range count { // one after another: what comes of many at a time is for C1
		nodes = append(nodes, t.Create(s, dir, fmt.Sprint(i)))
	}
	data := bytes.Repeat([]byte{0, '\n', 0xff}, driver.MaxData/3)
	t.crowd(count, func(i int) { t.Update(s, nodes[i], data...) })
	for who, list := range t.lists(s) {
		t.Eventually(t.patience(), t.seldom(func() error {
			listed := list(dir)
			for i := range count {
				if len(slot(listed, s, fmt.Sprint(i))) == 0 {
					return fmt.Errorf("%s of %d nodes with %d bytes each, of which it shows %d, does not show node %d", who, count, len(data), len(listed), i)
				}
			}
			return nil
		}))
	}
}

// plant puts foreign keys into a directory.
func (t *Trial) plant(dir string) {
	if err := t.h.PlantForeign(t.ctx, t.namespace, dir); err != nil {
		t.NotVerified("planting foreign keys: %v", err)
	}
}

// leavesForeign uses a directory with foreign keys until it has no node any more.
func leavesForeign(t *Trial) {
	t.plant(dir)
	before := t.residue().Keys
	if before == Unknown {
		t.NotVerified("the store cannot count keys")
	}
	c := t.Open()
	s := t.SessionOn(c)
	for _, leave := range []func(driver.Node){
		func(n driver.Node) { t.Delete(s, n) },
		func(driver.Node) { t.abandon(s, "0") },
		func(driver.Node) { t.closeConn(c) },
	} {
		leave(t.Create(s, dir, "0"))
		if left := t.residue().Keys; left < before {
			t.Fatalf("there were %d foreign keys beside the nodes; when these are gone the store has %d keys", before, left)
		}
	}
}

func ignoresForeign(t *Trial) {
	t.plant(dir)
	s := t.Session()
	n, _, err := t.create(t.ctx, s, dir, "0", nil)
	if err != nil {
		t.Fatalf("Create beside foreign keys: %v", err)
	}
	m := t.Create(s, other, "0")
	t.plant(other)
	clean := func(who string, nodes []driver.Node) {
		for _, n := range nodes {
			if n.Session != s.ID() {
				t.Fatalf("the nodes are all of session %s, and beside them are foreign keys; %s shows %s", s.ID(), who, show(n))
			}
		}
	}
	for _, n := range []driver.Node{n, m} {
		for who, list := range t.lists(s) {
			t.Eventually(t.patience(), func() error {
				nodes := list(n.Dir)
				clean(who, nodes)
				return t.holds(who, nodes, []driver.Node{n}, nil)
			})
		}
	}
}

func listsMissing(t *Trial) {
	s := t.Session()
	for _, list := range []func() ([]driver.Node, error){
		func() ([]driver.Node, error) { return t.listOnce(t.ctx, s, dir) },
		func() ([]driver.Node, error) { return t.third().List(t.ctx, dir) },
	} {
		if nodes, err := list(); len(nodes) > 0 || err != nil {
			t.Fatalf("List of a directory that does not exist returned %s and %s", show(nodes...), errorOf(err))
		}
	}
}

func listingMakesNothing(t *Trial) {
	s := t.Session()
	c := t.third()
	before := t.residue()
	for i := range 10 {
		dir := fmt.Sprint(dir, i)
		_, errS := t.listOnce(t.ctx, s, dir)
		_, errC := c.List(t.ctx, dir)
		if err := errors.Join(errS, errC); err != nil {
			t.NotVerified("List of a directory that does not exist fails, which the other case is about: %v", err)
		}
	}
	if after := t.residue(); after.Keys > before.Keys || after.Dirs > before.Dirs {
		t.Fatalf("listing ten missing directories left %d keys and %d directories; there were %d and %d",
			after.Keys, after.Dirs, before.Keys, before.Dirs)
	}
}

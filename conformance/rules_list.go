package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/coordkit/coordkit/conformance/netfault"
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
				{Name: "much data", Check: listsMuch},
			}, momentCases()...),
		},
		{
			ID:   "L2",
			Text: "List ignores keys that are not of the driver's making.",
			Cases: []Case{
				{Name: "foreign keys", Needs: NeedPlantForeign, Check: ignoresForeign},
			},
		},
		{
			ID:   "L3",
			Text: "Session.List holds the session's own acknowledged writes and what preceded them.",
			Cases: []Case{
				{Name: "created after another", Check: listsOwnAndBefore},
				{Name: "updated and deleted", Check: listsOwnChanges},
				{Name: "created at the same time", Check: func(t *Trial) { listsWhoIsAhead(t, t.Session, 25) }},
				{Name: "created at the same time over slow links", Needs: NeedLink, Check: func(t *Trial) {
					listsWhoIsAhead(t, t.slowSession(), 10)
				}},
			},
		},
		{
			ID:   "L4",
			Text: "A directory that does not exist is empty, and listing does not make it.",
			Cases: []Case{
				{Name: "empty", Check: listsMissing},
				{Name: "not made", Needs: NeedResidue, Check: listingMakesNothing},
			},
		},
		{
			ID:   "L5",
			Text: "Conn.List holds everything acknowledged to anybody before.",
			Cases: []Case{
				{Name: "acknowledged elsewhere", Check: listsAcknowledged},
			},
		},
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
		if m.Dir != n.Dir || m.ID != n.ID || m.Session != n.Session || m.Seq != n.Seq || !bytes.Equal(m.Data, n.Data) {
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

// listsMany makes more nodes than a store returns in one page by habit.
func listsMany(t *Trial) {
	s := t.Session()
	var want []driver.Node
	for i := range 150 {
		want = append(want, t.Create(s, dir, fmt.Sprint(i)))
	}
	for who, list := range t.lists(s) {
		t.Eventually(t.patience(), t.seldom(func() error { return t.holds(who, list(dir), want, nil) }))
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

func ignoresForeign(t *Trial) {
	plant := func(dir string) {
		if err := t.h.PlantForeign(t.ctx, t.namespace, dir); err != nil {
			t.NotVerified("planting foreign keys: %v", err)
		}
	}
	plant(dir)
	s := t.Session()
	n, err := s.Create(t.ctx, dir, "0", nil)
	if err != nil {
		t.Fatalf("Create beside foreign keys: %v", err)
	}
	m := t.Create(s, other, "0")
	plant(other)
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
	if f, ok := driver.As[driver.CreateLister](s); ok {
		_, nodes, err := f.CreateList(t.ctx, dir, "1", nil)
		if err != nil {
			t.Fatalf("CreateList beside foreign keys: %v", err)
		}
		clean("CreateList", nodes)
	}
}

func listsOwnAndBefore(t *Trial) {
	a, b := t.Session(), t.Session()
	for i := range 40 {
		id := fmt.Sprint(i)
		before := t.Create(b, dir, id)
		own := t.Create(a, dir, id)
		nodes := t.list(a, dir)
		for _, n := range []driver.Node{before, own} {
			if _, ok := find(nodes, n); !ok {
				t.Fatalf("after Create of %s, Session.List does not hold %s", show(own), show(n))
			}
		}
	}
}

// slowSession opens every other session over a link that takes its time.
func (t *Trial) slowSession() func() driver.Session {
	opened := 0
	return func() driver.Session {
		if opened++; opened%2 == 0 {
			return t.Session()
		}
		c, l := t.OpenLink()
		s := t.SessionOn(c)
		l.Delay(netfault.Both, t.h.TTL/32)
		return s
	}
}

// listsWhoIsAhead has two create at the same time, and each look at once at who is
// ahead. Whoever is not in a list that holds a later node, and is in the store
// nevertheless, was overlooked: two would hold.
func listsWhoIsAhead(t *Trial, open func() driver.Session, rounds int) {
	type look struct {
		own   driver.Node
		nodes []driver.Node
	}
	var mu sync.Mutex
	var looks []look
	var sessions []driver.Session
	for range 2 { // whether Seq is the same to all is for O1
		sessions = append(sessions, open())
	}
	var done []<-chan struct{}
	for _, s := range sessions {
		done = append(done, t.Go(func() {
			for i := range rounds {
				own := t.Create(s, dir, fmt.Sprint(i))
				nodes := t.list(s, dir)
				mu.Lock()
				looks = append(looks, look{own, nodes})
				mu.Unlock()
			}
		}))
	}
	t.join("creating and listing", done...)
	mu.Lock()
	defer mu.Unlock()
	for _, l := range looks {
		for _, other := range looks {
			if _, ok := find(l.nodes, other.own); !ok && other.own.Seq <= l.own.Seq {
				t.Fatalf("after Create of %s, Session.List does not hold %s, which was created before it", show(l.own), show(other.own))
			}
		}
	}
}

func listsOwnChanges(t *Trial) {
	t.Bystander(dir)
	s := t.Session()
	for i := range 20 {
		n := t.Create(s, dir, "0")
		data := fmt.Sprint(i)
		t.Update(s, n, []byte(data)...)
		m, ok := find(t.list(s, dir), n)
		if !ok || string(m.Data) != data {
			t.Fatalf("after Update with %q, Session.List shows %s with %q", data, show(m), m.Data)
		}
		t.Delete(s, n)
		if _, ok := find(t.list(s, dir), n); ok {
			t.Fatalf("after Delete of %s, Session.List still shows it", show(n))
		}
	}
}

func listsMissing(t *Trial) {
	s := t.Session()
	for _, list := range []func() ([]driver.Node, error){
		func() ([]driver.Node, error) { return s.List(t.ctx, dir) },
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
		_, errS := s.List(t.ctx, dir)
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

func listsAcknowledged(t *Trial) {
	writer, reader := t.Session(), t.Open()
	look := func() []driver.Node {
		var nodes []driver.Node
		t.insist(nil, "Conn.List", func() (err error) {
			nodes, err = reader.List(t.ctx, dir)
			return err
		})
		return nodes
	}
	t.Bystander(dir)
	for i := range 40 {
		look() // what a cache would keep
		n := t.Create(writer, dir, fmt.Sprint(i%8))
		if _, ok := find(look(), n); !ok {
			t.Fatalf("Create returned %s, and Conn.List of another client does not hold it", show(n))
		}
		t.Delete(writer, n)
		if _, ok := find(look(), n); ok {
			t.Fatalf("Delete of %s was acknowledged, and Conn.List of another client holds it", show(n))
		}
	}
}

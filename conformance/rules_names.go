package conformance

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/coordkit/coordkit/coord/driver"
)

func namesRule() Rule {
	return Rule{
		ID:   "F4",
		Text: "ListNames gives what List gives up to a Seq, with or without the data.",
		Cases: append([]Case{
			{Name: "like the plain calls", Check: namesLikePlain},
			{Name: "what is ahead", Check: namesAhead},
			{Name: "up to a node", Check: namesUpTo},
			{Name: "up to a node, after a wait", Check: namesAfterAWait},
		}, byNames.cases(listRules()[:4]...)...),
	}
}

// byNames lists by ListNames.
var byNames = variant{
	call:    "ListNames",
	offered: offers[driver.NameLister],
	list: func(ctx context.Context, t *Trial, s driver.Session, dir string) ([]driver.Node, error) {
		f, _ := driver.As[driver.NameLister](s)
		t.noData.Store(true)
		return f.ListNames(ctx, dir, wholeLine)
	},
}

// wholeLine is a Seq that no node is behind.
const wholeLine = math.MaxUint64

func (t *Trial) listNames(s driver.Session, last uint64) (nodes []driver.Node) {
	f, ok := driver.As[driver.NameLister](s)
	if !ok {
		t.NotOffered("ListNames")
	}
	t.insist(s, "ListNames "+dir, func() (err error) {
		nodes, err = f.ListNames(t.ctx, dir, last)
		return err
	})
	return nodes
}

// bare returns nodes without their data.
func bare(nodes []driver.Node) []driver.Node {
	nodes = slices.Clone(nodes)
	for i := range nodes {
		nodes[i].Data = nil
	}
	return nodes
}

func namesLikePlain(t *Trial) {
	s, another := t.Session(), t.Session()
	t.listNames(s, wholeLine)
	strangers := []driver.Node{t.Create(s, other, "0"), t.Create(s, dir+"b", "0")}
	var made []driver.Node
	for i := range 10 {
		made = append(made, t.Create(s, dir, fmt.Sprint(i), byte('a'+i)))
		listed := t.listNames(s, wholeLine)
		if err := t.holds("ListNames", bare(listed), bare(made), strangers); err != nil {
			t.Fatalf("%v", err)
		}
		t.Eventually(t.lateness(), func() error { // nobody else is there, so List gives the same
			plain := t.list(s, dir)
			for _, m := range listed {
				if err := sameAsListed(m, plain, true); err != nil {
					return fmt.Errorf("ListNames: %w", err)
				}
			}
			return nil
		})
		t.Create(another, dir, fmt.Sprint(i))
	}
}

// namesAhead looks for what others have created before.
func namesAhead(t *Trial) {
	s, another := t.Session(), t.Session()
	t.listNames(s, wholeLine)
	var ahead []driver.Node
	for i := range 20 {
		ahead = append(ahead, t.Create(another, dir, fmt.Sprint(i)), t.Create(s, dir, fmt.Sprint(i)))
		if err := t.holds("ListNames", bare(t.listNames(s, wholeLine)), bare(ahead), nil); err != nil {
			t.Fatalf("%v, and it was created before", err)
		}
	}
}

// namesUpTo asks for the nodes up to each of them. Those behind it may be listed too.
func namesUpTo(t *Trial) {
	s := t.Session()
	t.listNames(s, wholeLine)
	var made []driver.Node
	for i := range 5 {
		made = append(made, t.Create(s, dir, fmt.Sprint(i)))
	}
	for i, last := range made {
		if err := t.holds("ListNames up to "+last.Key, bare(t.listNames(s, last.Seq)), bare(made[:i+1]), nil); err != nil {
			t.Fatalf("%v", err)
		}
	}
}

// namesAfterAWait asks for the nodes up to a node, as a waiter does that is told of a deletion
// ahead. A driver may know the answer by then, from its watch. It must not take an id that is
// used again for the node that is gone.
func namesAfterAWait(t *Trial) {
	s, another := t.Session(), t.Session()
	t.listNames(s, wholeLine)
	first, second := t.Create(another, dir, "0"), t.Create(s, dir, "1")
	w := t.wait(s, first)
	t.Delete(s, second)
	again := t.Create(s, dir, "1")
	t.Delete(s, second)
	own := t.Create(s, dir, "2")
	if f, ok := driver.As[driver.CreateLister](s); ok { // which lists the directory as well
		t.insist(s, "CreateList again", func() error {
			_, _, err := f.CreateList(t.ctx, dir, "2", own.Data)
			return err
		})
	}
	t.Delete(another, first)
	t.returnsNil(w, first, "its deletion")
	listed := t.listNames(s, own.Seq)
	if err := t.holds("ListNames up to "+own.Key, bare(listed), bare([]driver.Node{again, own}), nil); err != nil {
		t.Fatalf("%v", err)
	}
	for _, n := range []driver.Node{first, second} {
		if _, ok := find(listed, n); ok {
			t.Fatalf("ListNames shows %s, which is gone, as the session was told", show(n))
		}
	}
}

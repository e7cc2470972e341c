package conformance

import (
	"context"
	"fmt"
	"slices"

	"github.com/coordkit/coordkit/coord/driver"
)

func namesRule() Rule {
	return Rule{
		ID:   "F4",
		Text: "ListNames gives what List gives, with or without the data.",
		Cases: append([]Case{
			{Name: "like the plain calls", Check: namesLikePlain},
			{Name: "what is ahead", Check: namesAhead},
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
		return f.ListNames(ctx, dir)
	},
}

func (t *Trial) listNames(s driver.Session) (nodes []driver.Node) {
	f, ok := driver.As[driver.NameLister](s)
	if !ok {
		t.NotOffered("ListNames")
	}
	t.insist(s, "ListNames "+dir, func() (err error) {
		nodes, err = f.ListNames(t.ctx, dir)
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
	t.listNames(s)
	strangers := []driver.Node{t.Create(s, other, "0"), t.Create(s, dir+"b", "0")}
	var made []driver.Node
	for i := range 10 {
		made = append(made, t.Create(s, dir, fmt.Sprint(i), byte('a'+i)))
		listed := t.listNames(s)
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
	t.listNames(s)
	var ahead []driver.Node
	for i := range 20 {
		ahead = append(ahead, t.Create(another, dir, fmt.Sprint(i)), t.Create(s, dir, fmt.Sprint(i)))
		if err := t.holds("ListNames", bare(t.listNames(s)), bare(ahead), nil); err != nil {
			t.Fatalf("%v, and it was created before", err)
		}
	}
}

package conformance

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/coordkit/coordkit/coord/driver"
)

func namesRule() Rule {
	return Rule{
		ID:   "F4",
		Text: "CreateNames and ListNames give what CreateList and List give, with or without the data.",
		Cases: append([]Case{
			{Name: "like the plain calls", Check: namesLikePlain},
			{Name: "what is ahead", Check: namesAhead},
		}, slices.Concat(byNames.inTurns(), byNames.cases(append(creationRules(), listRules()[3])...))...),
	}
}

// byNames makes nodes by CreateNames and lists by ListNames.
var byNames = variant{
	call:    "CreateNames and ListNames",
	offered: offers[driver.NameLister],
	noData:  true,
	create: func(ctx context.Context, t *Trial, s driver.Session, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
		f, _ := driver.As[driver.NameLister](s)
		n, nodes, err := f.CreateNames(ctx, dir, id, data)
		return t.listed("CreateNames", n, nodes, err)
	},
	list: func(ctx context.Context, _ *Trial, s driver.Session, dir string) ([]driver.Node, error) {
		f, _ := driver.As[driver.NameLister](s)
		return f.ListNames(ctx, dir)
	},
}

func (t *Trial) nameLister(s driver.Session) driver.NameLister {
	f, ok := driver.As[driver.NameLister](s)
	if !ok {
		t.NotOffered("CreateNames")
	}
	return f
}

func (t *Trial) createNames(s driver.Session, id string, data ...byte) (n driver.Node, nodes []driver.Node) {
	f := t.nameLister(s)
	t.insist(s, "CreateNames "+dir+" "+id, func() (err error) {
		n, nodes, err = f.CreateNames(t.ctx, dir, id, data)
		return err
	})
	return n, nodes
}

func (t *Trial) listNames(s driver.Session) (nodes []driver.Node) {
	f := t.nameLister(s)
	t.insist(s, "ListNames "+dir, func() (err error) {
		nodes, err = f.ListNames(t.ctx, dir)
		return err
	})
	return nodes
}

// named wants a node as it was listed by name to be the one that is there.
func named(n driver.Node, plain []driver.Node) error {
	p, ok := find(plain, n)
	if !ok {
		return fmt.Errorf("%s was listed by name; List gives %s", show(n), show(plain...))
	}
	if n.Dir != p.Dir || n.ID != p.ID || n.Session != p.Session || n.Seq != p.Seq || len(n.Data) > 0 && !bytes.Equal(n.Data, p.Data) {
		return fmt.Errorf("%s with %q was listed by name; List gives %s with %q", show(n), n.Data, show(p), p.Data)
	}
	return nil
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
	t.nameLister(s)
	strangers := []driver.Node{t.Create(s, other, "0"), t.Create(s, dir+"b", "0")}
	var made []driver.Node
	for i := range 10 {
		n, nodes := t.createNames(s, fmt.Sprint(i), byte('a'+i))
		again := t.Create(s, dir, fmt.Sprint(i))
		if !n.Same(again) || !bytes.Equal(again.Data, []byte{byte('a' + i)}) {
			t.Fatalf("CreateNames made %s; Create gives %s with %q", show(n), show(again), again.Data)
		}
		made = append(made, n)
		for what, listed := range map[string][]driver.Node{"CreateNames": nodes, "ListNames": t.listNames(s)} {
			if err := t.holds(what, bare(listed), bare(made), strangers); err != nil {
				t.Fatalf("%v", err)
			}
			t.Eventually(t.lateness(), func() error { // nobody else is there, so List gives the same
				plain := t.list(s, dir)
				for _, m := range listed {
					if err := named(m, plain); err != nil {
						return fmt.Errorf("%s: %w", what, err)
					}
				}
				return nil
			})
		}
		t.Create(another, dir, fmt.Sprint(i))
	}
}

// namesAhead looks for what others have created before.
func namesAhead(t *Trial) {
	s, another := t.Session(), t.Session()
	t.nameLister(s)
	var ahead []driver.Node
	for i := range 20 {
		ahead = append(ahead, t.Create(another, dir, fmt.Sprint(i)))
		n, nodes := t.createNames(s, fmt.Sprint(i))
		ahead = append(ahead, n)
		for what, listed := range map[string][]driver.Node{"CreateNames": nodes, "ListNames": t.listNames(s)} {
			if err := t.holds(what, bare(listed), bare(ahead), nil); err != nil {
				t.Fatalf("%v, and it was created before", err)
			}
		}
	}
}

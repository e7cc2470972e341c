package conformance

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
)

func fastRules() []Rule {
	return []Rule{
		createListRule(),
		waitAnyRule(),
		namesRule(),
	}
}

func createListRule() Rule {
	return Rule{
		ID:   "F1",
		Text: "CreateList gives what Create followed by List gives; of a session with ListNames, the list may lack data.",
		Cases: append([]Case{
			{Name: "like the plain calls", Check: createListsLikePlain},
			{Name: "what is ahead", Check: createListsAhead},
		}, slices.Concat(byCreateList.inTurns(), byCreateList.cases(creationRules()...))...),
	}
}

// creationRules are those of Create, and those of List where it matters what was created.
func creationRules() []Rule {
	data := dataRules()
	data[0].Cases = slices.DeleteFunc(data[0].Cases, func(c Case) bool { return c.Name == "updated" })
	return slices.Concat(createRules(), slotRules(), data, listRules()[:3])
}

// lookID is the slot of the node that is made to have its list.
const lookID = "look"

// byCreateList makes nodes by CreateList, and has its list for List.
var byCreateList = variant{
	call:    "CreateList",
	offered: offers[driver.CreateLister],
	create: func(ctx context.Context, t *Trial, s driver.Session, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
		f, _ := driver.As[driver.CreateLister](s)
		n, nodes, err := f.CreateList(ctx, dir, id, data)
		return t.listed(n, nodes, err)
	},
	list: func(ctx context.Context, t *Trial, s driver.Session, dir string) ([]driver.Node, error) {
		f, _ := driver.As[driver.CreateLister](s)
		if offers[driver.NameLister](s) {
			t.noData.Store(true)
		}
		_, nodes, err := f.CreateList(ctx, dir, lookID, nil)
		return nodes, err
	},
}

// listed is what CreateList has returned. Whatever happens meanwhile, the node is in the
// list.
func (t *Trial) listed(n driver.Node, nodes []driver.Node, err error) (driver.Node, []driver.Node, error) {
	if err != nil {
		return n, nodes, err
	}
	if _, ok := find(nodes, n); !ok {
		t.Fatalf("CreateList made %s, and its list does not hold it: %s", show(n), show(nodes...))
	}
	return n, nodes, nil
}

// inTurns are cases of C2 in which the first attempt at a node is made by one call and the
// next by the other, Create or that of v.
func (v variant) inTurns() []Case {
	return []Case{
		{Name: "reply lost, in turns with Create", Needs: NeedLink, Check: func(t *Trial) {
			v.bothOrders(t, func(t *Trial) { replyLost(t, Link.DropReplies) })
		}},
		{Name: "request overtaken, in turns with Create", Needs: NeedLink | NeedHold, Check: func(t *Trial) {
			v.bothOrders(t, requestOvertaken)
		}},
	}
}

// bothOrders runs a check twice: with the first attempt at a node by Create, and by v.
func (v variant) bothOrders(t *Trial, check func(*Trial)) {
	for order := range 2 {
		var mu sync.Mutex
		attempts := make(map[string]int) // by session and slot
		turns := v
		turns.create = func(ctx context.Context, t *Trial, s driver.Session, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
			mu.Lock()
			slot := s.ID() + "/" + dir + "/" + id
			attempts[slot]++
			plain := attempts[slot]%2 != order
			mu.Unlock()
			if plain {
				n, err := s.Create(ctx, dir, id, data)
				return n, nil, err
			}
			return v.create(ctx, t, s, dir, id, data)
		}
		t.with = turns
		check(t)
	}
}

func (t *Trial) createLister(s driver.Session) driver.CreateLister {
	f, ok := driver.As[driver.CreateLister](s)
	if !ok {
		t.NotOffered("CreateList")
	}
	return f
}

func (t *Trial) createList(s driver.Session, id string, data ...byte) (n driver.Node, nodes []driver.Node) {
	f := t.createLister(s)
	t.insist(s, "CreateList "+dir+" "+id, func() (err error) {
		n, nodes, err = f.CreateList(t.ctx, dir, id, data)
		return err
	})
	return n, nodes
}

// equal compares what the fast path gave with what the plain one gives.
func (t *Trial) equal(fast, plain driver.Node) {
	if !fast.Same(plain) || fast.Dir != plain.Dir || fast.ID != plain.ID || fast.Session != plain.Session ||
		fast.Seq != plain.Seq || !bytes.Equal(fast.Data, plain.Data) {
		t.Fatalf("CreateList gave %s with %q; Create gives %s with %q", show(fast), fast.Data, show(plain), plain.Data)
	}
}

func createListsLikePlain(t *Trial) {
	s, another := t.Session(), t.Session()
	t.createLister(s)
	strangers := []driver.Node{t.Create(s, other, "0"), t.Create(s, dir+"b", "0")}
	for i := range 10 {
		n, nodes := t.createList(s, fmt.Sprint(i), byte('a'+i))
		t.equal(n, t.Create(s, dir, fmt.Sprint(i)))
		again, _ := t.createList(s, fmt.Sprint(i))
		t.equal(again, n)
		if err := t.holds("CreateList", bare(nodes), bare([]driver.Node{n}), strangers); err != nil {
			t.Fatalf("%v, which it has created", err)
		}
		t.Eventually(t.lateness(), func() error { // nobody else is there, so List gives the same
			plain := t.list(s, dir)
			for _, m := range nodes {
				if err := sameAsListed(m, plain, offers[driver.NameLister](s)); err != nil {
					return fmt.Errorf("CreateList: %w", err)
				}
			}
			return nil
		})
		made := t.Create(s, dir, fmt.Sprint("plain", i))
		found, _ := t.createList(s, fmt.Sprint("plain", i))
		t.equal(found, made)
		t.Create(another, dir, fmt.Sprint(i))
	}
}

// sameAsListed wants a node of a list to be the one that List gives, with or without the
// data if they may be left out.
func sameAsListed(n driver.Node, plain []driver.Node, noData bool) error {
	p, ok := find(plain, n)
	if !ok {
		return fmt.Errorf("it listed %s; List gives %s", show(n), show(plain...))
	}
	data := noData && len(n.Data) == 0 || bytes.Equal(n.Data, p.Data)
	if n.Dir != p.Dir || n.ID != p.ID || n.Session != p.Session || n.Seq != p.Seq || !data {
		return fmt.Errorf("it listed %s with %q; List gives %s with %q", show(n), n.Data, show(p), p.Data)
	}
	return nil
}

// createListsAhead looks for what others have created before.
func createListsAhead(t *Trial) {
	s, another := t.Session(), t.Session()
	t.createLister(s)
	var ahead []driver.Node
	for i := range 20 {
		ahead = append(ahead, t.Create(another, dir, fmt.Sprint(i)))
		n, nodes := t.createList(s, fmt.Sprint(i))
		ahead = append(ahead, n)
		if err := t.holds("CreateList", bare(nodes), bare(ahead), nil); err != nil {
			t.Fatalf("%v, and it was created before", err)
		}
	}
}

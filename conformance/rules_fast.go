package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

func fastRules() []Rule {
	return []Rule{
		{
			ID:   "F1",
			Text: "CreateList gives what Create followed by List gives.",
			Cases: []Case{
				{Name: "like the plain calls", Check: createListsLikePlain},
				{Name: "what is ahead", Check: createListsAhead},
				{Name: "reply lost", Needs: NeedLink, Check: createListReplyLost},
			},
		},
		{
			ID:   "F2",
			Text: "WaitAny returns when any of the nodes is gone, and only then.",
			Cases: []Case{
				{Name: "each of three", Check: waitsAnyOfThree},
				{Name: "gone before", Check: waitsAnyGone},
				{Name: "removed together", Needs: NeedRemoveDir, Check: waitsAnyRemoved},
				{Name: "other changes", Check: waitsAnyBlocked},
				{Name: "session closed", Check: waitsAnyClosed},
			},
		},
		namesRule(),
		firstRule(),
	}
}

func capsRules() []Rule {
	return []Rule{
		{
			ID:   "F3",
			Text: "Caps and the optional interfaces agree.",
			Cases: []Case{
				{Name: "both ways", Check: capsAgree},
			},
		},
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
		if err := t.holds("CreateList", nodes, []driver.Node{n}, strangers); err != nil {
			t.Fatalf("%v, which it has created", err)
		}
		t.Eventually(t.lateness(), func() error { // nobody else is there, so List gives the same
			plain := t.list(s, dir)
			for _, m := range nodes {
				p, ok := find(plain, m)
				if !ok {
					return fmt.Errorf("CreateList listed %s; List gives %s", show(m), show(plain...))
				}
				t.equal(m, p)
			}
			return nil
		})
		made := t.Create(s, dir, fmt.Sprint("plain", i))
		found, _ := t.createList(s, fmt.Sprint("plain", i))
		t.equal(found, made)
		t.Create(another, dir, fmt.Sprint(i))
	}
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
		if err := t.holds("CreateList", nodes, ahead, nil); err != nil {
			t.Fatalf("%v, and it was created before", err)
		}
	}
}

func createListReplyLost(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	f := t.createLister(s)
	t.Bystander(dir)
	l.DropReplies()
	landed := t.landed(s, func(ctx context.Context) error { _, _, err := f.CreateList(ctx, dir, "0", nil); return err })
	t.heal(l)
	n, nodes := t.createList(s, "0")
	if err := t.holds("CreateList", nodes, []driver.Node{n}, nil); err != nil || !n.Same(landed) {
		t.Fatalf("the reply to CreateList was lost; called again it returned %s with %s and not %s, which it had made",
			show(n), show(nodes...), show(landed))
	}
	t.settles(t.only(s, "0", landed))
}

// anyWaiting is a call of WaitAny that may not have returned yet.
type anyWaiting struct {
	waiting
	index int
}

// startAny starts a WaitAny.
func (t *Trial) startAny(s driver.Session, nodes ...driver.Node) *anyWaiting {
	f, ok := driver.As[driver.AnyWaiter](s)
	if !ok {
		t.NotOffered("WaitAny")
	}
	ctx, cancel := context.WithCancel(t.ctx)
	t.Cleanup(cancel)
	w := &anyWaiting{waiting: waiting{cancel: cancel}}
	w.done = t.Go(func() { w.index, w.err = f.WaitAny(ctx, nodes) })
	return w
}

func (t *Trial) waitAny(s driver.Session, nodes ...driver.Node) *anyWaiting {
	w := t.startAny(s, nodes...)
	t.pause() // as in wait
	return w
}

// returns wants the wait to end with the index.
func (t *Trial) returns(w *anyWaiting, index int, after string) {
	if !t.within(t.patience(), w.done) {
		t.Fatalf("WaitAny has not returned %v after %s", t.patience(), after)
	}
	if w.err != nil || w.index != index {
		t.Fatalf("WaitAny returned %d and %s after %s; want %d", w.index, errorOf(w.err), after, index)
	}
}

// returnsAny wants the wait to end with an index below n.
func (t *Trial) returnsAny(w *anyWaiting, n int, after string) {
	if !t.within(t.patience(), w.done) {
		t.Fatalf("WaitAny has not returned %v after %s", t.patience(), after)
	}
	if w.err != nil || w.index < 0 || w.index >= n {
		t.Fatalf("WaitAny returned %d and %s after %s; want one of %d", w.index, errorOf(w.err), after, n)
	}
}

func waitsAnyOfThree(t *Trial) {
	s, owner := t.Session(), t.Session()
	for i := range 3 {
		var nodes []driver.Node
		for j := range 3 {
			nodes = append(nodes, t.Create(owner, dir, fmt.Sprint(j)))
		}
		w := t.waitAny(s, nodes...)
		t.Delete(owner, nodes[i])
		t.returns(w, i, fmt.Sprintf("node %d of three was deleted", i))
		one := t.waitAny(s, nodes[(i+1)%3])
		t.Delete(owner, nodes[(i+1)%3])
		t.returns(one, 0, "the only node was deleted")
	}
}

func waitsAnyGone(t *Trial) {
	s, owner := t.Session(), t.Session()
	first, gone := t.Create(owner, dir, "0"), t.Create(owner, dir, "1")
	t.Delete(owner, gone)
	t.Create(owner, dir, "1")
	t.returns(t.waitAny(s, first, gone), 1, "one of two nodes was gone before, and a later node had its name")
}

// waitsAnyRemoved empties the directory: one of the nodes is to be told, and with
// CapWaitFirst the first in the order given, whatever their order in the line.
func waitsAnyRemoved(t *Trial) {
	s, owner := t.Session(), t.Session()
	first, second, third := t.Create(owner, dir, "0"), t.Create(owner, dir, "1"), t.Create(owner, dir, "2")
	up, down := t.waitAny(s, first, second, third), t.waitAny(s, third, first)
	t.removeDir(dir)
	if t.Open().Caps().Has(driver.CapWaitFirst) {
		t.returns(up, 0, "three nodes were removed with their directory")
		t.returns(down, 0, "two nodes, the later one given first, were removed with their directory")
		return
	}
	t.returnsAny(up, 3, "three nodes were removed with their directory")
	t.returnsAny(down, 2, "two nodes were removed with their directory")
	for i, n := range []driver.Node{first, second, third} {
		t.returns(t.waitAny(s, n), 0, fmt.Sprintf("node %d was removed before", i))
	}
}

func waitsAnyBlocked(t *Trial) {
	s, owner := t.Session(), t.Session()
	first, second, third := t.Create(owner, dir, "0"), t.Create(owner, dir, "1"), t.Create(owner, dir, "2")
	t.Sees(second)
	w := t.waitAny(s, first, second)
	for i, change := range []func(){
		func() { t.Update(owner, first, []byte("new")...) },
		func() { t.Update(owner, second, []byte("new")...) },
		func() { t.Delete(owner, third) },
	} {
		change()
		t.probe(s, owner, fmt.Sprint(i))
		nodes := t.Nodes(dir)
		_, ok1 := find(nodes, first)
		_, ok2 := find(nodes, second)
		if ok1 && ok2 && ended(w.done) && w.err == nil {
			t.Fatalf("WaitAny returned %d and nil, and a third client still sees both nodes", w.index)
		}
	}
}

func waitsAnyClosed(t *Trial) {
	s := t.Session()
	w := t.waitAny(s, t.Bystander(dir))
	_ = s.Close(t.ctx) // what it owes is for S5
	if !t.within(time.Second, w.done) {
		t.Fatalf("WaitAny has not returned a second after its session was closed")
	}
	if !isOver(w.err) {
		t.Fatalf("WaitAny returned %d and %s after its session was closed; want ErrSessionLost or ErrClosed", w.index, errorOf(w.err))
	}
}

func capsAgree(t *Trial) {
	c := t.Open()
	caps := c.Caps()
	s := t.SessionOn(c)
	_, lister := driver.As[driver.CreateLister](s)
	_, names := driver.As[driver.NameLister](s)
	_, waiter := driver.As[driver.AnyWaiter](s)
	_, first := driver.As[driver.FirstTeller](s)
	_, watcher := driver.As[driver.Watcher](c)
	for _, o := range []struct {
		cap driver.Caps
		who string
		has bool
	}{
		{driver.CapCreateList, "its sessions implement", lister},
		{driver.CapListNames, "its sessions implement", names},
		{driver.CapWaitAny, "its sessions implement", waiter},
		{driver.CapFirst, "its sessions implement", first},
		{driver.CapWatch, "the connection implements", watcher},
	} {
		if caps.Has(o.cap) != o.has {
			t.Fatalf("Caps has %v: %v; %s it: %v", o.cap, caps.Has(o.cap), o.who, o.has)
		}
	}
	if how := caps & (driver.CapWaitFirst | driver.CapWaitBoth | driver.CapWaitAhead); how != 0 && !waiter {
		t.Fatalf("Caps has %v, which says how WaitAny is, and its sessions implement it: false", how)
	}
	if again := t.Open().Caps(); again != caps || c.Caps() != caps {
		t.Fatalf("Caps is %q, later %q, and %q on another connection", caps, c.Caps(), again)
	}
	if parsed, err := driver.ParseCaps(caps.String()); err != nil || parsed != caps {
		t.Fatalf("Caps %q are not all known: %v", caps, errors.Join(err, fmt.Errorf("parsed as %q", parsed)))
	}
}

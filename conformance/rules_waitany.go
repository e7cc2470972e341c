package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

func waitAnyRule() Rule {
	return Rule{
		ID:   "F2",
		Text: "WaitAny returns when any of the nodes is gone, and only then.",
		Cases: append([]Case{
			{Name: "each of three", Check: waitsAnyOfThree},
			{Name: "gone before", Check: waitsAnyGone},
			{Name: "no nodes", Check: waitsForNone},
			{Name: "many nodes", Check: waitsAnyOfMany},
			{Name: "removed together", Needs: NeedRemoveDir, Check: func(t *Trial) {
				waitsAnyTogether(t, func(driver.Session) { t.removeDir(dir) })
			}},
			{Name: "ended together", Check: func(t *Trial) {
				waitsAnyTogether(t, func(owner driver.Session) { _ = owner.Close(t.ctx) }) // what it owes is for S5
			}},
			{Name: "other changes", Check: waitsAnyBlocked},
			{Name: "session closed", Check: waitsAnyClosed},
		}, byWaitAny.cases(append(waitRules(), waitEndRules()[:2]...)...)...),
	}
}

// byWaitAny waits by WaitAny: in turns for the node and another one that stays, for the
// node alone, and for the other one and the node.
var byWaitAny = variant{
	call:    "WaitAny",
	offered: offers[driver.AnyWaiter],
	wait: func(t *Trial, s driver.Session, n driver.Node) func(context.Context) error {
		f, _ := driver.As[driver.AnyWaiter](s)
		nodes := [][]driver.Node{{n}, {n, t.companion(n.Dir)}, {t.companion(n.Dir), n}}[t.turns.Add(1)%3]
		return func(ctx context.Context) error {
			i, err := f.WaitAny(ctx, nodes)
			if err != nil {
				return err
			}
			if i < 0 || i >= len(nodes) {
				t.Fatalf("WaitAny for %d nodes returned the index %d", len(nodes), i)
			}
			if nodes[i].Same(n) {
				return nil
			}
			if _, stands := find(t.Nodes(n.Dir), nodes[i]); stands {
				t.Fatalf("WaitAny returned %d, the index of %s, which a third client sees", i, show(nodes[i]))
			}
			_, err = f.WaitAny(ctx, []driver.Node{n}) // the other one went with the directory
			return err
		}
	},
}

// companions are nodes that stay, one in each directory, of a session that has no other
// part in the case.
type companions struct {
	session driver.Session
	nodes   map[string]driver.Node // by directory
}

// companion is the one of a directory.
func (t *Trial) companion(dir string) driver.Node {
	c := &t.companions
	if c.nodes == nil {
		c.session, c.nodes = t.Session(), make(map[string]driver.Node)
	}
	if c.nodes[dir].Key == "" {
		c.nodes[dir] = t.Create(c.session, dir, "companion")
	}
	return c.nodes[dir]
}

func waitsForNone(t *Trial) {
	w := t.waitAny(t.Session())
	if !t.within(t.promptly(), w.done) || !errors.Is(w.err, driver.ErrInvalid) {
		t.Fatalf("WaitAny for no node: returned %v, with %s; want ErrInvalid at once", ended(w.done), errorOf(w.err))
	}
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

// waitsAnyTogether has nodes go in one step: one of them is to be told, whichever.
func waitsAnyTogether(t *Trial, end func(owner driver.Session)) {
	s, owner := t.Session(), t.Session()
	first, second, third := t.Create(owner, dir, "0"), t.Create(owner, dir, "1"), t.Create(owner, dir, "2")
	up, down := t.waitAny(s, first, second, third), t.waitAny(s, third, first)
	end(owner)
	t.returnsAny(up, 3, "three nodes went together")
	t.returnsAny(down, 2, "two nodes went together")
	for i, n := range []driver.Node{first, second, third} {
		t.returns(t.waitAny(s, n), 0, fmt.Sprintf("node %d went before", i))
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
		over := ended(w.done) // before the look: what is seen then was there
		nodes := t.Nodes(dir)
		_, ok1 := find(nodes, first)
		_, ok2 := find(nodes, second)
		if ok1 && ok2 && over && w.err == nil {
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

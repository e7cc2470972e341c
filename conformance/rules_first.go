package conformance

import (
	"fmt"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

func firstRule() Rule {
	return Rule{
		ID:   "F5",
		Text: "First is true only of a node that is there with none ahead of it, and soon of each that is.",
		Cases: []Case{
			{Name: "each of three", Check: firstOfThree},
			{Name: "gone", Check: firstIsGone},
			{Name: "created again", Check: firstCreatedAgain},
			{Name: "created at the same time over slow links", Needs: NeedLink, Check: firstOfTwo},
			{Name: "told by waits", Check: firstAfterWaits},
			{Name: "removed", Needs: NeedRemoveDir, Check: firstRemoved},
		},
	}
}

// first calls First until the store has answered.
func (t *Trial) first(s driver.Session, n driver.Node) (first bool) {
	f, ok := driver.As[driver.FirstTeller](s)
	if !ok {
		t.NotOffered("First")
	}
	t.insist(s, "First "+n.Key, func() (err error) {
		first, err = f.First(t.ctx, n)
		return err
	})
	return first
}

// isFirst wants First to be true of one of the nodes, soon, and of no other.
func (t *Trial) isFirst(s driver.Session, when string, first driver.Node, others ...driver.Node) {
	t.Eventually(t.lateness(), func() error {
		if !t.first(s, first) {
			return fmt.Errorf("%s: First is false of %s, which is there with none ahead of it", when, show(first))
		}
		return nil
	})
	t.notFirst(s, when, others...)
}

func (t *Trial) notFirst(s driver.Session, when string, nodes ...driver.Node) {
	for _, n := range nodes {
		if t.first(s, n) {
			t.Fatalf("%s: First is true of %s", when, show(n))
		}
	}
}

func firstOfThree(t *Trial) {
	s, another := t.Session(), t.Session()
	a, b, c := t.Create(another, dir, "0"), t.Create(s, dir, "0"), t.Create(another, dir, "1")
	t.Create(s, other, "0") // another directory's first
	for _, by := range []driver.Session{s, another} {
		t.isFirst(by, "three in line", a, b, c)
	}
	t.Delete(another, a)
	for _, by := range []driver.Session{s, another} {
		t.isFirst(by, "the first of three is gone", b, a, c)
	}
	t.Delete(another, c)
	t.isFirst(s, "alone", b, a, c)
}

func firstIsGone(t *Trial) {
	s := t.Session()
	n := t.Create(s, dir, "0")
	t.wait(s, n)
	t.list(s, dir)
	t.isFirst(s, "alone", n)
	t.Delete(s, n)
	t.notFirst(s, "nobody is in line any more", n)
}

func firstCreatedAgain(t *Trial) {
	s, another := t.Session(), t.Session()
	n, behind := t.Create(s, dir, "0"), t.Create(another, dir, "0")
	t.Delete(s, n)
	again := t.Create(s, dir, "0")
	t.isFirst(s, "the first has joined again, at the end", behind, n, again)
	t.Delete(another, behind)
	t.isFirst(s, "the later incarnation is alone", again, n, behind)
}

// firstOfTwo has two sessions create at the same time, and each ask at once whether its
// node is first: the later one is not, as both are there.
func firstOfTwo(t *Trial) {
	var sessions []driver.Session
	for range 2 {
		c, l := t.OpenLink()
		sessions = append(sessions, t.SessionOn(c))
		l.Delay(netfault.Both, t.h.TTL/128)
	}
	for i := range 6 {
		var nodes [2]driver.Node
		var first [2]bool
		each := func(do func(i int, s driver.Session)) {
			var done []<-chan struct{}
			for i, s := range sessions {
				done = append(done, t.Go(func() { do(i, s) }))
			}
			t.join("creating and asking", done...)
		}
		each(func(j int, s driver.Session) {
			nodes[j] = t.Create(s, dir, fmt.Sprint(i))
			first[j] = t.first(s, nodes[j])
		})
		for j, n := range nodes {
			if ahead := nodes[1-j]; first[j] && ahead.Seq < n.Seq {
				t.Fatalf("First is true of %s, and %s is ahead of it", show(n), show(ahead))
			}
		}
		each(func(j int, s driver.Session) { t.Delete(s, nodes[j]) })
	}
}

// By what waits have told, also when those ahead go out of order.
func firstAfterWaits(t *Trial) {
	s, another := t.Session(), t.Session()
	a, b, c := t.Create(another, dir, "0"), t.Create(another, dir, "1"), t.Create(s, dir, "0")
	behind := t.Create(s, dir, "1")
	goes := func(by driver.Session, n driver.Node) {
		waiting := t.wait(s, n)
		t.list(s, dir) // what is remembered of it is to be outdated by what the wait tells
		t.notFirst(s, "while others are ahead", behind)
		t.Delete(by, n)
		t.returnsNil(waiting, n, "it was deleted")
	}
	goes(another, b)
	t.notFirst(s, "the second has gone, and the first has not", b, c, behind)
	goes(another, a)
	t.isFirst(s, "all ahead are gone", c, a, b, behind)
	goes(s, c)
	t.isFirst(s, "all ahead are gone", behind, a, b, c)
}

// What somebody else has done the session need not know of before it was told.
func firstRemoved(t *Trial) {
	s := t.Session()
	n := t.Create(s, dir, "0")
	t.isFirst(s, "alone", n)
	told := t.wait(s, n)
	t.list(s, dir)
	t.removeDir(dir)
	if !t.within(t.patience(), told.done) {
		t.NotVerified("WaitDelete does not tell, which W1 is about")
	}
	t.notFirst(s, "the directory was removed", n)
}

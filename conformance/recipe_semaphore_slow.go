package conformance

import (
	"strings"
	"sync/atomic"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// semSlowToSay: the gate of a holder is still there, because its client cannot delete it. A
// client that joins then does not wait for that.
func semSlowToSay(t sem) {
	a := t.Client()
	b, free := t.delaying(func(c *request) bool { return isDelete(c) && strings.HasPrefix(c.nodes[0].ID, "g") }, false)
	h1, h2 := t.take(t.want(a, 1, 2)), t.take(t.want(a, 1, 2))
	first := t.join(t.ctx, "the first who waits", t.want(b, 1, 2), 3)
	t.gates(1)
	t.release(h1)
	h := t.wins(first)
	t.inUse(t.open(a, name, 2), 2, 2)
	next := t.join(t.ctx, "who comes when it was let in", t.want(t.Client(), 1, 2), 3)
	t.stay([]subject.Hold{h2, h}, next)
	t.release(h2)
	h3 := t.wins(next)
	free()
	t.release(h, h3)
	t.empty()
}

// semSlowToLeave: a client was refused for its other limit, and its entry is in line until it
// can delete it. When that entry is the first, the waiters behind it are not refused, and do
// not come in beyond their own limit.
func semSlowToLeave(t sem) {
	for _, given := range []int{9, 2} {
		a, b := t.Client(), t.Client()
		wrong, free := t.delaying(isDelete, false)
		h := t.take(t.want(a, 3, 3))
		t.fails(t.bid(t.ctx, "who was given another limit", t.want(wrong, 2, given)), semaphore.ErrLimit)
		t.entries(2)
		if given < 3 {
			t.inUse(t.open(b, name, 3), 3, 3)
		}
		first := t.join(t.ctx, "the first who waits", t.want(b, 3, 3), 3)
		second := t.join(t.ctx, "the second who waits", t.want(t.Client(), 3, 3), 4)
		t.gates(2)
		t.release(h)
		t.stay(nil, first, second)
		free()
		h = t.wins(first)
		t.stay([]subject.Hold{h}, second)
		t.release(h)
		t.release(t.wins(second))
		t.empty()
	}
}

// semHeardOfLate: the client sets the limit again before it hears that it was set.
func semHeardOfLate(t sem) {
	var late atomic.Bool // the reply to the next create
	c, free := t.delaying(func(c *request) bool {
		return (c.op == "Create" || c.op == "CreateList") && late.CompareAndSwap(true, false)
	}, true)
	s := t.open(c, name, 1)
	t.release(t.take(s.Want(1))) // so that there is a session
	late.Store(true)
	over := t.Go(func() { t.set(s, 5) })
	t.notices(1)
	t.set(s, 7)
	free()
	t.Trial.join("SetLimit", over)
	t.settles(func() error { t.notices(1); t.limited(1, 7); return nil })
}

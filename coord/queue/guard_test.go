package queue_test

import (
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/internal/recipetest"
)

const (
	guarded  = 100 * time.Millisecond // after which an entry's own node is watched
	many     = 100                    // of whom a crowd is made
	unheeded = 220 * time.Millisecond // for how long a removal may go unnoticed
)

// crowd is one client's line: one holds, and many wait, for longer than until they
// are watched.
type crowd struct {
	*client
	first *queue.Entry
	hold  *coord.Hold
	line  []driver.Node
	over  []func() (error, bool)
	got   []*queue.Entry
}

func (w *world) crowd() *crowd {
	w.Helper()
	return w.crowdOf(w.client())
}

func (w *world) crowdOf(of *client) *crowd {
	w.Helper()
	c := &crowd{client: of, got: make([]*queue.Entry, many)}
	c.first, c.hold = c.acquire(queue.Request{})
	for i := range many {
		c.over = append(c.over, w.begin(func() (err error) {
			c.got[i], err = c.Acquire(w.Ctx, queue.Request{})
			return err
		}))
	}
	time.Sleep(time.Second)
	w.Settle()
	c.line = w.Nodes(many + 1)
	return c
}

// result wants the end of a wait.
func (c *crowd) result(i int, want ...error) {
	c.w.Helper()
	err, over := c.over[i]()
	if !over {
		c.w.Fatalf("%d waits on", i)
	}
	c.w.Is(err, want...)
}

// wait wants all to wait on but some.
func (c *crowd) wait(but ...int) {
	c.w.Helper()
	gone := make(map[int]bool)
	for _, i := range but {
		gone[i] = true
	}
	for i, over := range c.over {
		if err, over := over(); over && !gone[i] {
			c.w.Fatalf("%d does not wait any more: %v", i, err)
		}
	}
}

// Of the waiters of one process whoever is removed is told, and nobody else.
func TestRemovedWaitersAreTold(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.crowd()
		gone := []int{0, 1, many / 2, many - 1}
		for _, i := range gone {
			w.Remove(c.line[i+1].Key)
		}
		time.Sleep(unheeded)
		w.Settle()
		for _, i := range gone {
			c.result(i, coord.ErrRemoved)
		}
		c.wait(gone...)
		w.OK(c.first.Release(w.Ctx, c.hold))
		w.Settle()
		c.result(2)
		c.wait(append(gone, 2)...)
	})
}

// While the store is away nobody is told of anything, and what has happened
// meanwhile shows when it is back.
func TestGuardOutlivesAnOutage(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.crowd()
		c.Link().Cut()
		w.Remove(c.line[5].Key)
		time.Sleep(time.Second)
		c.wait()
		w.OK(c.Link().Heal())
		time.Sleep(time.Second)
		w.Settle()
		c.result(4, coord.ErrRemoved)
		c.wait(4)
	})
}

// A waiter that is granted is watched as every holder is.
func TestWhoeverIsGrantedIsGuarded(t *testing.T) {
	bubble(t, func(w *world) { w.crowd().watchesTheNext() })
}

// watchesTheNext wants the first to wait watched as a holder, once it is one.
func (c *crowd) watchesTheNext() {
	w := c.w
	w.Helper()
	w.OK(c.first.Release(w.Ctx, c.hold))
	w.Settle()
	c.result(0)
	h, err := c.got[0].Hold(w.Ctx)
	w.OK(err)
	time.Sleep(unheeded)
	w.Settle()
	w.Remove(c.line[1].Key)
	w.Settle() // so it is told at once
	w.Lost(h, coord.ErrRemoved)
}

// Requests to leave are watched too, however many there are.
func TestRequestsAreGuarded(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		e, _ := c.acquire(queue.Request{})
		var over []func() (error, bool)
		for range many {
			over = append(over, w.begin(func() error { return c.Revoke(w.Ctx, e.Node().Token, "please") }))
		}
		time.Sleep(2 * guarded)
		w.Settle()
		requests, err := c.List(w.Ctx, "line-revoke:l")
		w.OK(err)
		if len(requests) != many {
			w.Fatalf("%d requests; want %d", len(requests), many)
		}
		w.Store.Remove(recipetest.Namespace, requests[0].Dir, requests[0].Key)
		w.Settle()
		ended := 0
		for _, over := range over {
			if err, over := over(); over {
				ended++
				w.Is(err, coord.ErrRemoved)
			}
		}
		if ended != 1 {
			w.Errorf("%d revocations have ended; want 1", ended)
		}
	})
}

// A session's end ends its waits, and all watches.
func TestSessionEndsItsGuards(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.crowd()
		s, err := c.Session(w.Ctx)
		w.OK(err)
		w.OK(s.Close(w.Ctx))
		for i := range many {
			w.Settle()
			c.result(i, coord.ErrClosed)
		}
		if n := w.Store.Stats().Watches; n != 0 {
			t.Errorf("%d watches are left", n)
		}
	})
}

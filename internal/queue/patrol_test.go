package queue_test

import (
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/queue"
	"github.com/coordkit/coordkit/internal/recipetest"
)

const (
	guarded  = 100 * time.Millisecond // after which who stands is looked after
	many     = 100                    // of whom a crowd is made
	unheeded = 220 * time.Millisecond // for how long a removal may go unnoticed in a crowd
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

// A crowd is not watched one by one, and whoever of it is removed is told all the
// same, and nobody else.
func TestCrowdIsPatrolled(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.crowd()
		if n := w.Store.Stats().Watches; n > 1 { // the holder's
			t.Errorf("%d watches for a crowd", n)
		}
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
func TestPatrolOutlivesAnOutage(t *testing.T) {
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

// Who is granted out of a crowd is watched as every holder is, and so are those who
// are left when it has become small.
func TestWhatIsLeftOfACrowdIsWatched(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.crowd()
		c.watchesTheNext()
		for i := 1; i < many-10; i++ {
			w.Settle()
			c.result(i)
			w.OK(c.got[i].Leave(w.Ctx))
		}
		time.Sleep(unheeded)
		w.Settle()
		w.Remove(c.line[many].Key)
		w.Settle()
		c.result(many-1, coord.ErrRemoved)
	})
}

// Who is granted while the patrol is on its way, which may take long, is watched as
// every holder is.
func TestGrantedOnPatrol(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.crowd()
		list := c.patrol()
		defer list.Release()
		c.watchesTheNext()
	})
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

// patrol keeps the next patrol's request from landing.
func (c *crowd) patrol() *mem.HeldRequest {
	c.w.Helper()
	list := c.Link().Hold(mem.OpList)
	select {
	case <-list.Caught():
	case <-time.After(time.Second):
		c.w.Fatal("no patrol")
	}
	return list
}

// Crowds of several lines are no matter of each other's.
func TestCrowdsOfTwoLines(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.crowd()
		other := queue.New(c.Client, "line", "m", inPlace, nil)
		first, err := other.Acquire(w.Ctx, queue.Request{})
		w.OK(err)
		var over []func() (error, bool)
		for range many {
			over = append(over, w.begin(func() error {
				e, err := other.Acquire(w.Ctx, queue.Request{})
				if err == nil {
					err = e.Leave(w.Ctx)
				}
				return err
			}))
		}
		list := c.patrol() // of one of them
		w.Remove(c.line[many].Key)
		time.Sleep(unheeded)
		list.Release()
		time.Sleep(unheeded)
		w.Settle()
		c.result(many-1, coord.ErrRemoved)
		c.wait(many - 1)
		w.OK(first.Leave(w.Ctx))
		time.Sleep(time.Second)
		w.Settle()
		for i, over := range over {
			if err, over := over(); !over || err != nil {
				w.Errorf("%d of the other line: over: %t, %v", i, over, err)
			}
		}
	})
}

// Requests are watched when they have waited for a TTL, however many there are: a
// patrol of theirs would come by once in a TTL.
func TestRevokersAreNoCrowd(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		e, _ := c.acquire(queue.Request{})
		var over []func() (error, bool)
		for range many {
			over = append(over, w.begin(func() error { return c.Revoke(w.Ctx, e.Node().Token, "please") }))
		}
		time.Sleep(2*ttl + guarded)
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

// A session's end ends its patrol, also one that is on its way, and where it is not
// cheap to list there is none.
func TestWhosePatrol(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.crowd()
		list := c.patrol()
		defer list.Release()
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

		p := w.ProcessOver(recipetest.Ahead)
		w.crowdOf(&client{p, queue.New(p.Client, "line", "l", inPlace, nil), w})
		if n := w.Store.Stats().Watches; n < many {
			t.Errorf("%d watches where a list is dear", n)
		}
	})
}

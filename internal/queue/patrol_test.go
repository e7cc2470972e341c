package queue_test

import (
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/queue"
)

const (
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
		w.OK(c.first.Release(w.Ctx, c.hold))
		w.Settle()
		c.result(0)
		h, err := c.got[0].Hold(w.Ctx)
		w.OK(err)
		time.Sleep(unheeded)
		w.Settle()
		w.Remove(c.line[1].Key)
		w.Settle()
		w.Lost(h, coord.ErrRemoved)
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

// Who was granted while the patrol was on its way is watched as every holder is, and
// not as one who waits for whatever takes long.
func TestGrantedOnPatrol(t *testing.T) {
	bubble(t, func(w *world) {
		p := w.Process()
		c := w.crowdOf(&client{p, queue.New(p.Client, "line", "l", func(line []driver.Node, own int) queue.Verdict {
			return queue.Verdict{Blocked: own > 0} // by none who is named: it is to watch the line
		}, nil), w})
		list := c.Link().Hold(mem.OpList)
		defer list.Release()
		<-list.Caught()
		w.OK(c.first.Release(w.Ctx, c.hold))
		w.Settle()
		c.result(0)
		h, err := c.got[0].Hold(w.Ctx)
		w.OK(err)
		list.Release()
		time.Sleep(unheeded)
		w.Settle()
		w.Remove(c.line[1].Key)
		w.Settle()
		w.Lost(h, coord.ErrRemoved)
		c.wait(0, 1) // whose turn it is
	})
}

// The end of a session ends its patrol.
func TestPatrolEndsWithItsSession(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.crowd()
		w.Store.Expire(c.line[0].Session)
		time.Sleep(ttl)
		w.Settle()
		for i := range many {
			c.result(i, coord.ErrSessionLost)
		}
	})
}

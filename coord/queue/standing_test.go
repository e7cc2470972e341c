package queue_test

import (
	"context"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/drivers/mem"
)

// waitings are what is asked of the store by who has a place in the line and waits.
// The store goes away right before.
var waitings = map[string]struct {
	req   queue.Request
	op    mem.Op
	spare int
	late  bool // the store is there until it waits
}{
	"sees the line":     {queue.Request{}, mem.OpList, 0, false},
	"looks again":       {queue.Request{}, mem.OpList, 0, true},
	"says that it does": {queue.Request{Waiting: []byte("waits")}, mem.OpUpdate, 0, false},
	"puts up its gate":  {queue.Request{Gate: true}, mem.OpCreate, 1, false},
}

// wait waits behind another, who lets go while the store is away.
func (c *shaky) wait(ctx context.Context, name string, away time.Duration) (place driver.Node, e func() *queue.Entry, over func() (error, bool)) {
	c.w.Helper()
	how := waitings[name]
	first := c.w.client()
	other, h := first.acquire(queue.Request{})
	if !how.late {
		c.lose(shake{how.op, how.spare, away})
	}
	var got *queue.Entry
	over = c.w.begin(func() (err error) { got, err = c.Acquire(ctx, how.req); return err })
	place = c.w.Nodes(2)[1]
	if how.late {
		c.lose(shake{how.op, how.spare, away})
	}
	c.w.OK(other.Release(c.w.Ctx, h))
	return place, func() *queue.Entry { return got }, over
}

// Who stands in line keeps the place while the store is away, for longer than the
// client's TTL, if the session lives longer.
func TestPlaceOutlivesTheClientsTTL(t *testing.T) {
	for name := range waitings {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				c := w.shaky()
				place, entry, over := c.wait(w.Ctx, name, away)
				time.Sleep(away + time.Second)
				if err, over := over(); !over || err != nil {
					w.Fatalf("over: %t, %v; want it granted", over, err)
				}
				if e := entry(); !e.Node().Same(place) {
					w.Errorf("it holds as %s; it waited as %s", e.Node().Key, place.Key)
				}
				w.OK(entry().Leave(w.Ctx))
			})
		})
	}
}

// And it does no longer than its session or its ctx, whichever ends first.
func TestPlaceEndsWithItsSessionOrContext(t *testing.T) {
	for name := range waitings {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				for end, why := range map[time.Duration]error{
					long:     coord.ErrSessionLost,
					long / 2: context.DeadlineExceeded,
				} {
					ctx, cancel := context.WithCancel(w.Ctx)
					if end < long {
						ctx, cancel = context.WithTimeout(w.Ctx, end)
					}
					_, _, over := w.shaky().wait(ctx, name, 2*long)
					time.Sleep(end - time.Second)
					if err, over := over(); over && end < long {
						w.Fatalf("it has ended early: %v", err)
					}
					time.Sleep(time.Second)
					err, ended := over()
					if !ended {
						w.Fatal("it still waits")
					}
					w.Is(err, why)
					cancel()
					time.Sleep(2 * long)
					w.Nodes(0)
				}
			})
		})
	}
}

// Who holds does not lose heart either.
func TestHoldersCallsOutliveTheClientsTTL(t *testing.T) {
	for name, c := range map[string]struct {
		op   mem.Op
		call func(w *world, e *queue.Entry, h *coord.Hold) error
	}{
		"writes": {mem.OpUpdate, func(w *world, e *queue.Entry, _ *coord.Hold) error { return e.Write(w.Ctx, []byte("v")) }},
		"trades": {mem.OpCreate, func(w *world, e *queue.Entry, h *coord.Hold) error {
			_, _, err := e.Downgrade(w.Ctx, h, queue.Request{Kind: "d", Value: []byte("v")})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a := w.shaky()
				e, h := a.acquire(queue.Request{})
				a.lose(shake{c.op, 0, away})
				began := time.Now()
				w.OK(c.call(w, e, h))
				if took := time.Since(began); took < away {
					w.Fatalf("it took %v; the store was away for %v", took, away)
				}
				w.values("v")
				a.lose(shake{mem.OpUpdate, 0, 2 * long})
				err := e.Write(w.Ctx, []byte("late"))
				w.Is(err, coord.ErrNotHeld)
				time.Sleep(2 * long)
			})
		})
	}
}

// Who has no place has none to lose: it is told in useful time that the store is
// away, as is who only tries, and nothing is left.
func TestJoiningGivesUpAfterTheClientsTTL(t *testing.T) {
	for name, c := range map[string]struct {
		op   mem.Op
		join func(*shaky) (*queue.Entry, error)
	}{
		"joins":         {mem.OpCreate, func(c *shaky) (*queue.Entry, error) { return c.Acquire(c.w.Ctx, queue.Request{}) }},
		"looks first":   {mem.OpWatch, func(c *shaky) (*queue.Entry, error) { return c.TryAcquire(c.w.Ctx, queue.Request{}) }},
		"tries":         {mem.OpCreate, func(c *shaky) (*queue.Entry, error) { return c.TryAcquire(c.w.Ctx, queue.Request{}) }},
		"sees too late": {mem.OpList, func(c *shaky) (*queue.Entry, error) { return c.TryAcquire(c.w.Ctx, queue.Request{}) }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a := w.shaky()
				a.lose(shake{c.op, 0, away})
				began := time.Now()
				_, err := c.join(a)
				if took := time.Since(began); !driver.Transient(err) || took < ttl || took >= away {
					w.Errorf("%v after %v; want the store's absence after %v", err, took, ttl)
				}
				time.Sleep(away)
				w.Nodes(0)
				e, _ := a.acquire(queue.Request{})
				w.OK(e.Leave(w.Ctx))
			})
		})
	}
}

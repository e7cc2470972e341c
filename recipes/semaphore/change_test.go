package semaphore_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// notices wants so many notices in the line.
func (w *world) notices(n int) []driver.Node {
	w.Helper()
	w.Settle()
	nodes := w.of("l")
	if len(nodes) != n {
		w.Fatalf("%d notices; want %d: %v", len(nodes), n, nodes)
	}
	return nodes
}

func (w *world) close(clients ...*client) {
	w.Helper()
	for _, c := range clients {
		if err := c.Close(w.Ctx); err != nil {
			w.Fatalf("Close: %v", err)
		}
	}
}

// Nobody carries on a change that nobody keeps: who has seen it, who has come in
// under it, and who holds under an earlier one. The limit is the configured one.
func TestAChangeEndsWithItsMaker(t *testing.T) {
	bubble(t, func(w *world) {
		idle, holder := w.client().semaphore(3), w.client().semaphore(3)
		night, day := w.client(), w.client()
		w.setLimit(night.semaphore(3), 6)
		h, err := idle.Acquire(w.Ctx, 1)
		w.Is(err, nil)
		w.release(h)
		h, err = holder.Acquire(w.Ctx, 1)
		w.Is(err, nil)
		w.setLimit(day.semaphore(3), 4)
		w.close(night, day)
		w.uses(w.client(), 3, 1)
		all := w.client().acquire(2, 3)
		for _, s := range []*semaphore.Semaphore{idle, holder, w.client().semaphore(3)} {
			_, err = s.TryAcquire(w.Ctx, 1)
			w.Is(err, coord.ErrBusy)
			_, err = s.TryAcquire(w.Ctx, 4)
			w.Is(err, coord.ErrInvalid)
		}
		w.uses(w.client(), 3, 3)
		w.release(h, all)
	})
}

// When a lowered limit ends, it ends for who waits under it as for who comes, and
// in order.
func TestALoweredLimitEndsForAll(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		h := a.acquire(2, 10)
		maker := w.client()
		w.setLimit(maker.semaphore(10), 2)
		first, second := b.acquiring(w.Ctx, 1, 10), c.acquiring(w.Ctx, 2, 10)
		blocked(first, second)
		w.uses(w.client(), 2, 2)
		w.close(maker)
		in := []*semaphore.Held{h, first.Granted(), second.Granted()}
		large := c.acquiring(w.Ctx, 6, 10)
		small := b.acquiring(w.Ctx, 1, 10)
		blocked(large, small) // though the small one would fit
		w.release(h)
		w.release(in[1], in[2], large.Granted(), small.Granted())
	})
}

// Who came in under a raised limit shows as holder when that has ended.
func TestHoldersOfARaisedLimitShow(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		maker := w.client()
		h := a.acquire(1, 1)
		w.setLimit(maker.semaphore(1), 3)
		s := b.semaphore(1)
		knows, err := s.Acquire(w.Ctx, 1)
		w.Is(err, nil)
		third, err := s.Acquire(w.Ctx, 1)
		w.Is(err, nil)
		w.Settle()
		w.close(maker)
		next := a.acquiring(w.Ctx, 1, 1)
		blocked(next)
		w.uses(w.client(), 1, 3)
		c, err := a.semaphore(1).Contenders(w.Ctx)
		if err != nil || len(c.Holders) != 3 || len(c.Waiters) != 1 {
			w.Errorf("%+v, %v", c, err)
		}
		w.release(h, knows, third)
		w.release(next.Granted())
	})
}

// A client keeps the change that it has made, whatever happens to the notice.
func TestAChangeIsKept(t *testing.T) {
	for name, harm := range map[string]func(w *world, maker *client, notice driver.Node){
		"session ended by the store": func(w *world, _ *client, n driver.Node) { w.Store.Expire(n.Session) },
		"notice removed":             func(w *world, _ *client, n driver.Node) { w.Remove(n.Key) },
		"directory removed":          func(w *world, _ *client, _ driver.Node) { w.RemoveDir() },
		"removed, and replies lost": func(w *world, c *client, n driver.Node) {
			c.Link().DropNextReply(mem.OpCreate)
			w.Remove(n.Key)
		},
		"frozen for long": func(w *world, c *client, _ driver.Node) {
			c.Link().Freeze(mem.Both)
			time.Sleep(5 * ttl)
			if n := len(w.of("l")); n != 0 {
				w.Errorf("%d notices of who is gone", n)
			}
			w.uses(w.client(), 1, 0) // which is what it is configured with
			w.Is(c.Link().Heal(), nil)
		},
		"refused for long": func(w *world, c *client, _ driver.Node) {
			c.Link().Cut()
			time.Sleep(5 * ttl)
			w.Is(c.Link().Heal(), nil)
		},
		"connections reset": func(_ *world, c *client, _ driver.Node) { c.Link().DropConnections() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				maker := w.client()
				w.setLimit(maker.semaphore(10), 2)
				for range 2 { // the second time as the first
					harm(w, maker, w.notices(1)[0])
					time.Sleep(2 * ttl)
					w.notices(1)
					for range 2 {
						w.uses(w.client(), 2, 0)
						_, err := w.client().semaphore(10).TryAcquire(w.Ctx, 3)
						w.Is(err, coord.ErrInvalid)
					}
				}
			})
		})
	}
}

// Where the store tells of changes, a removed notice is back in no time; one that is
// removed again and again a second later.
func TestARemovedNoticeIsBackAtOnce(t *testing.T) {
	bubbleFast(t, func(w *world) {
		w.setLimit(w.client().semaphore(10), 2)
		time.Sleep(time.Second)
		old := w.notices(1)[0]
		began := time.Now()
		w.RemoveDir()
		if n := w.notices(1)[0]; n.Same(old) || time.Since(began) > 0 {
			w.Errorf("%v is there after %v", n, time.Since(began))
		}
		w.uses(w.client(), 2, 0)
		w.RemoveDir()
		w.notices(0)
		time.Sleep(time.Second)
		w.notices(1)
	})
}

// Who has set the limit stops keeping it when another is set, and does not come
// back to it.
func TestALaterChangeEndsAnEarlierOne(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		w.setLimit(a.semaphore(3), 6)
		w.setLimit(b.semaphore(3), 2)
		w.notices(1)
		w.uses(w.client(), 2, 0)
		w.close(b)
		w.uses(w.client(), 1, 0)
		time.Sleep(2 * ttl)
		w.notices(0)
		w.setLimit(a.semaphore(3), 5) // it can change it again
		w.uses(w.client(), 5, 0)
	})
}

// Who was cut off while the limit was set elsewhere puts up its own as what it is:
// an earlier one.
func TestWhoComesBackOverridesNothing(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		w.setLimit(a.semaphore(3), 6)
		w.Settle()
		a.Link().Freeze(mem.Both)
		w.setLimit(b.semaphore(3), 2)
		w.uses(b, 2, 0)
		time.Sleep(3 * ttl)
		w.Is(a.Link().Heal(), nil)
		for range 20 {
			w.uses(w.client(), 2, 0)
			time.Sleep(100 * time.Millisecond)
		}
		if v := queue.Value(w.notices(1)[0]); !strings.HasPrefix(string(v), "2@") {
			w.Errorf("the notice that is left says %q; want the later change", v)
		}
		time.Sleep(2 * ttl) // for sessions that were opened and whose client does not know
	})
}

// The same limit is kept by all who have set it, until another one is set.
func TestSeveralKeepTheSame(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		for _, one := range []*client{a, b, c} {
			w.setLimit(one.semaphore(9), 2)
		}
		w.notices(3)
		w.close(c)
		w.notices(2)
		w.close(a)
		w.uses(w.client(), 2, 0)
		d := w.client()
		w.setLimit(d.semaphore(9), 4)
		w.notices(1)
		w.close(d)
		w.notices(0)
		w.uses(w.client(), 1, 0)
	})
}

// A client keeps one change of a semaphore, with however many values it makes them.
func TestOneClientKeepsOneChange(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		for range 5 {
			w.setLimit(a.semaphore(9), 2)
			w.notices(1)
		}
		w.setLimit(a.semaphore(9), 3)
		w.notices(1)
		w.uses(w.client(), 3, 0)
		w.close(a)
		w.notices(0)
	})
}

// Many set the limit at the same time: all agree on one of them.
func TestChangesAtOnce(t *testing.T) {
	bubble(t, func(w *world) {
		shared := w.client()
		s := shared.semaphore(1)
		for i := range 12 {
			by := s // three times with one value
			if i%4 != 0 {
				by = w.client().semaphore(1)
			}
			go func() {
				if err := by.SetLimit(w.Ctx, 100+i); err != nil {
					w.Errorf("SetLimit: %v", err)
				}
			}()
		}
		synctest.Wait()
		time.Sleep(2 * time.Second)
		last := w.notices(1)[0]
		most, _, err := w.client().semaphore(1).Limit(w.Ctx)
		if err != nil || most < 100 || most > 111 {
			w.Fatalf("%d, %v", most, err)
		}
		time.Sleep(2 * ttl)
		if n := w.notices(1)[0]; !n.Same(last) {
			w.Errorf("%v has taken the place of %v", n, last)
		}
	})
}

// On a session of one's own a change lasts as long as that one.
func TestAChangeOnASessionOfItsOwn(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		own, err := a.NewSession(w.Ctx, ttl)
		w.Is(err, nil)
		s := semaphore.New(a.Client, "s", 9, coord.WithSession(own))
		w.setLimit(s, 2)
		w.Remove(w.notices(1)[0].Key)
		time.Sleep(2 * time.Second)
		w.uses(a, 2, 0)
		w.Is(own.Close(w.Ctx), nil)
		time.Sleep(2 * ttl)
		w.notices(0)
		w.Is(s.SetLimit(w.Ctx, 3), coord.ErrClosed)
		w.close(a)
		w.Is(a.semaphore(9).SetLimit(w.Ctx, 3), coord.ErrClosed)
	})
}

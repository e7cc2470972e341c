package mem_test

import (
	"context"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// S5, S6
func TestCloseRemovesTheNodesAtOnce(t *testing.T) {
	bubble(t, func(w world) {
		s, _ := w.client()
		w.create(s, "0")
		w.create(s, "1")
		_, err := s.Create(w.ctx, "other", "0", nil)
		w.ok(err)
		w.ok(s.Close(w.ctx))
		if got := w.store.Stats(); got.Nodes != 0 || got.Sessions != 0 {
			t.Errorf("left: %+v", got)
		}
		w.ok(s.Close(w.ctx))
		w.is(s.Err(), driver.ErrClosed)
	})
}

// S5: Done does not wait for the store, and the error says that it did not
// answer. What the store was sent arrives all the same.
func TestCloseOnAFrozenLinkIsBounded(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		n := w.create(s, "0")
		link.Freeze(mem.Up)
		ctx := w.timeout(time.Second)
		closing := async(func() error { return s.Close(ctx) })
		w.pending(closing)
		if !done(s) {
			t.Error("Done is open while Close waits for the store")
		}
		sleep(time.Second)
		w.is(w.ended(closing), context.DeadlineExceeded)
		w.sees(n)
		w.ok(link.Heal())
		w.sees()
		w.ok(s.Close(w.ctx))
	})
}

// S5: and by their TTL if it never arrives.
func TestNodesVanishByTheTTLWhenCloseCannotReachTheStore(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		w.create(s, "0")
		link.Cut()
		w.is(s.Close(w.ctx), driver.ErrUnavailable)
		sleep(ttl)
		w.sees()
	})
}

func TestCloseOfALostSessionRemovesItsNodesAtOnce(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		n := w.create(s, "0")
		link.Freeze(mem.Up)
		<-s.Done()
		w.sees(n) // the store still waits for the rest of the TTL
		link.Blackhole(mem.Up)
		w.ok(link.Heal())
		w.ok(s.Close(w.ctx))
		w.sees()
		w.is(s.Err(), driver.ErrSessionLost)
	})
}

// N1
func TestCloseOfTheConnectionLeavesNothing(t *testing.T) {
	bubble(t, func(w world) {
		c := w.store.Open(namespace)
		s, other := w.session(c), w.session(c)
		n := w.create(s, "0")
		waits := async(func() error { return other.WaitDelete(w.ctx, n) })
		w.ok(c.Close())
		w.is(w.ended(waits), driver.ErrClosed)
		if got := w.store.Stats(); got != (mem.Stats{}) {
			t.Errorf("left: %+v", got)
		}
		w.is(s.Err(), driver.ErrClosed)
		w.ok(s.Close(w.ctx))
	})
}

// N1: an unreachable store does not hold Close up.
func TestCloseOfTheConnectionDoesNotWaitForTheStore(t *testing.T) {
	faults := map[string]func(*mem.Link){
		"cut":    (*mem.Link).Cut,
		"frozen": func(l *mem.Link) { l.Freeze(mem.Both) },
		"delay":  func(l *mem.Link) { l.Delay(mem.Both, time.Second) },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w world) {
				c := w.store.Open(namespace)
				s := w.session(c)
				w.create(s, "0")
				fault(c.Link())
				start := time.Now()
				w.ok(c.Close())
				if time.Since(start) != 0 || !done(s) {
					t.Errorf("after %v, Done closed: %v", time.Since(start), done(s))
				}
				sleep(ttl)
				w.sees()
			})
		})
	}
}

// F2: the nodes of a session go in one step, and of those a
// wait for several tells the first.
func TestNodesOfASessionGoTogether(t *testing.T) {
	ends := map[string]func(w world, owner driver.Session){
		"expired": func(w world, owner driver.Session) { w.store.Expire(owner.ID()) },
		"closed":  func(w world, owner driver.Session) { w.ok(owner.Close(w.ctx)) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w world) {
				s, _ := w.client()
				for range 50 { // the order that they go in is not the same each time
					owner, _ := w.client()
					nodes := []driver.Node{w.create(owner, "0"), w.create(owner, "1")}
					index := -1
					wait := async(func() (err error) {
						index, err = s.(driver.AnyWaiter).WaitAny(w.ctx, nodes)
						return err
					})
					w.pending(wait)
					end(w, owner)
					w.ok(w.ended(wait))
					if index != 0 {
						w.Fatalf("the index is %d; want 0", index)
					}
				}
			})
		})
	}
}

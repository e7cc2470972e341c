package mem_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// waiting starts a WaitDelete that finds the node there.
func (w world) waiting(s driver.Session, n driver.Node) <-chan error {
	w.Helper()
	result := async(func() error { return s.WaitDelete(w.ctx, n) })
	w.pending(result)
	return result
}

// W1
func TestWaitDeleteReturnsWhenTheNodeIsGone(t *testing.T) {
	ends := map[string]func(w world, owner driver.Session, n driver.Node){
		"deleted":   func(w world, owner driver.Session, n driver.Node) { w.ok(owner.Delete(w.ctx, n)) },
		"abandoned": func(w world, owner driver.Session, n driver.Node) { w.ok(owner.Abandon(w.ctx, dir, n.ID)) },
		"closed":    func(w world, owner driver.Session, _ driver.Node) { w.ok(owner.Close(w.ctx)) },
		"expired":   func(w world, owner driver.Session, _ driver.Node) { w.store.Expire(owner.ID()) },
		"removed":   func(w world, _ driver.Session, n driver.Node) { w.store.Remove(namespace, dir, n.Key) },
		"dir gone":  func(w world, _ driver.Session, _ driver.Node) { w.store.RemoveDir(namespace, dir) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w world) {
				owner, _ := w.client()
				s, _ := w.client()
				n := w.create(owner, "0")
				wait := w.waiting(s, n)
				end(w, owner, n)
				w.ok(w.ended(wait))
				w.ok(s.WaitDelete(w.ctx, n)) // at once, as it already is
			})
		})
	}
}

// W2
func TestWaitDeleteReturnsForNothingElse(t *testing.T) {
	bubble(t, func(w world) {
		owner, _ := w.client()
		s, link := w.client()
		before, n, after := w.create(owner, "0"), w.create(owner, "1"), w.create(owner, "2")
		wait := w.waiting(s, n)
		_, err := owner.Update(w.ctx, n, []byte("new"))
		w.ok(err)
		w.ok(owner.Delete(w.ctx, before))
		w.ok(owner.Delete(w.ctx, after))
		w.create(owner, "3")
		link.DropConnections()
		link.Cut()
		sleep(ttl / 3)
		w.ok(link.Heal())
		sleep(3 * ttl)
		w.pending(wait)
		w.ok(owner.Delete(w.ctx, n))
		w.ok(w.ended(wait))
	})
}

// W3
func TestWaitDeleteIsNotFooledByANamesake(t *testing.T) {
	bubble(t, func(w world) {
		owner, _ := w.client()
		s, slow := w.client()
		n := w.create(owner, "0")
		wait := w.waiting(s, n)
		slow.Cut() // the deletion is not seen when it happens
		w.ok(owner.Delete(w.ctx, n))
		later := w.create(owner, "0")
		w.ok(slow.Heal())
		w.ok(w.ended(wait))
		w.ok(s.WaitDelete(w.ctx, n))
		w.waiting(s, later)
	})
}

// W4
func TestTheEndOfTheSessionEndsTheWait(t *testing.T) {
	ends := map[string]struct {
		end  func(w world, s driver.Session, l *mem.Link)
		want error
	}{
		"closed":  {func(w world, s driver.Session, _ *mem.Link) { w.ok(s.Close(w.ctx)) }, driver.ErrClosed},
		"expired": {func(w world, s driver.Session, _ *mem.Link) { w.store.Expire(s.ID()) }, driver.ErrSessionLost},
		"frozen":  {func(_ world, _ driver.Session, l *mem.Link) { l.Freeze(mem.Both) }, driver.ErrSessionLost},
		"cut":     {func(_ world, _ driver.Session, l *mem.Link) { l.Cut() }, driver.ErrSessionLost},
	}
	for name, e := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w world) {
				owner, _ := w.client()
				s, link := w.client()
				wait := w.waiting(s, w.create(owner, "0"))
				e.end(w, s, link)
				<-s.Done()
				w.is(w.ended(wait), e.want)
			})
		})
	}
}

// W4: the session was ended together with what it waited for, and the news of
// the node must not pass for leave to go on.
func TestWaitDeleteOfOnesOwnNodeWhenTheSessionIsExpired(t *testing.T) {
	bubble(t, func(w world) {
		s, _ := w.client()
		wait := w.waiting(s, w.create(s, "0"))
		w.store.Expire(s.ID())
		w.is(w.ended(wait), driver.ErrSessionLost)
	})
}

// W4: the link brings the news of the node only after the session has ended.
func TestNewsAfterTheEndOfTheSessionDoNotCount(t *testing.T) {
	bubble(t, func(w world) {
		owner, _ := w.client()
		s, link := w.client()
		n := w.create(owner, "0")
		wait := w.waiting(s, n)
		link.Freeze(mem.Down)
		w.ok(owner.Delete(w.ctx, n))
		w.pending(wait)
		<-s.Done()
		w.is(w.ended(wait), driver.ErrSessionLost)
	})
}

// W5: whatever breaks, before the watch is set or after, the wait ends when the
// link is whole again, and not before.
func TestWaitDeleteOutlivesABrokenLink(t *testing.T) {
	for name, fail := range breaks {
		for _, early := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, early %v", name, early), func(t *testing.T) {
				bubble(t, func(w world) {
					owner, _ := w.client()
					s, link := w.client()
					n := w.create(owner, "0")
					if early {
						fail(link)
					}
					wait := w.waiting(s, n)
					fail(link)
					sleep(ttl / 3)
					w.ok(owner.Delete(w.ctx, n))
					w.pending(wait)
					w.ok(link.Heal())
					w.ok(w.ended(wait))
				})
			})
		}
	}
}

// W5: single losses heal without anybody's help.
func TestWaitDeleteSetsALostWatchAgain(t *testing.T) {
	for name, lose := range losses(mem.OpWait) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w world) {
				owner, _ := w.client()
				s, link := w.client()
				n := w.create(owner, "0")
				lose(link)
				wait := w.waiting(s, n)
				sleep(time.Second)
				if got := w.store.Stats().Watches; got != 1 {
					t.Errorf("%d watches", got)
				}
				w.ok(owner.Delete(w.ctx, n))
				w.ok(w.ended(wait))
			})
		})
	}
}

// W6
func TestWaitThatEndedLeavesNoWatch(t *testing.T) {
	links := map[string]func(*mem.Link){
		"sound":       func(*mem.Link) {},
		"frozen up":   func(l *mem.Link) { l.Freeze(mem.Up) },
		"frozen down": func(l *mem.Link) { l.Freeze(mem.Down) },
		"cut":         (*mem.Link).Cut,
	}
	for name, fault := range links {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w world) {
				owner, _ := w.client()
				s, link := w.client()
				n, m := w.create(owner, "0"), w.create(owner, "1")
				ctx, cancel := context.WithCancel(w.ctx)
				fault(link)
				one := async(func() error { return s.WaitDelete(ctx, n) })
				any := async(func() error {
					_, err := s.(driver.AnyWaiter).WaitAny(ctx, []driver.Node{n, m, n})
					return err
				})
				cancel()
				w.is(w.ended(one), context.Canceled)
				w.is(w.ended(any), context.Canceled)
				w.ok(link.Heal()) // and what was held does not set one
				if got := w.store.Stats().Watches; got != 0 {
					t.Errorf("%d watches are left", got)
				}
				w.ok(owner.Delete(w.ctx, n))
			})
		})
	}
}

// F2
func TestWaitAnyReturnsTheOneThatIsGone(t *testing.T) {
	bubble(t, func(w world) {
		owner, _ := w.client()
		s, _ := w.client()
		nodes := []driver.Node{w.create(owner, "0"), w.create(owner, "1"), w.create(owner, "2")}
		other := w.create(owner, "3")
		waiter := s.(driver.AnyWaiter)
		index := -1
		wait := async(func() (err error) {
			index, err = waiter.WaitAny(w.ctx, nodes)
			return err
		})
		w.ok(owner.Delete(w.ctx, other))
		_, err := owner.Update(w.ctx, nodes[0], nil)
		w.ok(err)
		w.pending(wait)
		if got := w.store.Stats().Watches; got != 1 {
			t.Errorf("%d watches; want one for all nodes", got)
		}
		w.ok(owner.Delete(w.ctx, nodes[1]))
		w.ok(w.ended(wait))
		if index != 1 {
			t.Errorf("the index is %d; want 1", index)
		}
		if i, err := waiter.WaitAny(w.ctx, nodes); i != 1 || err != nil {
			t.Errorf("%d, %v; want 1 at once", i, err)
		}
		_, err = waiter.WaitAny(w.ctx, nil)
		w.is(err, driver.ErrInvalid)
	})
}

// Everybody who waits for a node is woken, and those who gave up are not
// missed, wherever they stood among the others.
func TestManyWaitForOneNode(t *testing.T) {
	bubble(t, func(w world) {
		owner, _ := w.client()
		s, _ := w.client()
		n := w.create(owner, "0")
		var waits, quits []<-chan error
		ctx, cancel := context.WithCancel(w.ctx)
		for range 10 {
			quits = append(quits, async(func() error { return s.WaitDelete(ctx, n) }))
			waits = append(waits, w.waiting(s, n))
		}
		cancel()
		for _, quit := range quits {
			w.is(w.ended(quit), context.Canceled)
		}
		if got := w.store.Stats().Watches; got != len(waits) {
			t.Errorf("%d watches; want %d", got, len(waits))
		}
		w.ok(owner.Delete(w.ctx, n))
		for _, wait := range waits {
			w.ok(w.ended(wait))
		}
	})
}

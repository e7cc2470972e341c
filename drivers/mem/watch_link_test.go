package mem_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// V2, V3: a broken link shows nothing, and a healed one the latest state.
func TestWatchOutlivesABrokenLink(t *testing.T) {
	for name, fail := range breaks {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w world) {
				owner, _ := w.client()
				w.create(owner, "0")
				c := w.conn()
				fail(c.Link())
				early := w.observing(w.timeout(time.Hour), c)
				sleep(ttl)
				early.shows()
				w.ok(c.Link().Heal())
				early.shows("0=data of 0")

				fail(c.Link())
				w.create(owner, "1")
				sleep(ttl)
				w.ok(owner.Abandon(w.ctx, dir, "0"))
				early.shows()
				w.ok(c.Link().Heal())
				early.shows("1=data of 1")
				w.create(owner, "2")
				early.shows("1=data of 1 2=data of 2")
			})
		})
	}
}

// V2: what is held in a link comes late and in order.
func TestWatchOverASlowLink(t *testing.T) {
	bubble(t, func(w world) {
		owner, _ := w.client()
		c := w.conn()
		o := w.observing(w.timeout(time.Hour), c)
		o.shows("")
		c.Link().Delay(mem.Both, time.Second)
		w.create(owner, "0")
		sleep(time.Second + 1) // the news has come and the request goes
		w.create(owner, "1")
		sleep(2 * time.Second)
		o.shows("0=data of 0 1=data of 1")
		sleep(ttl)
		o.shows()
	})
}

// V3: single losses heal without anybody's help.
func TestWatchSetsALostWatchAgain(t *testing.T) {
	for name, lose := range losses(mem.OpWatch) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w world) {
				s, _ := w.client()
				w.create(s, "0")
				c := w.conn()
				lose(c.Link())
				o := w.observing(w.timeout(time.Hour), c)
				sleep(time.Second)
				o.shows("0=data of 0")
				if got := w.store.Stats().Watches; got != 1 {
					t.Errorf("%d watches", got)
				}
				lose(c.Link())
				w.create(s, "1")
				sleep(time.Second)
				o.shows("0=data of 0 1=data of 1")
			})
		})
	}
}

// V4, V5: whatever the link does, and nothing that it held sets a watch later.
func TestWatchEnds(t *testing.T) {
	links := map[string]func(*mem.Link){
		"sound":     func(*mem.Link) {},
		"cut":       (*mem.Link).Cut,
		"frozen":    func(l *mem.Link) { l.Freeze(mem.Both) },
		"blackhole": func(l *mem.Link) { l.Blackhole(mem.Both) },
		"slow":      func(l *mem.Link) { l.Delay(mem.Both, time.Minute) },
	}
	for name, fail := range links {
		for _, early := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, early %v", name, early), func(t *testing.T) {
				bubble(t, func(w world) {
					c := w.store.Open(namespace)
					if early {
						fail(c.Link())
					}
					ctx, cancel := context.WithCancel(w.ctx)
					canceled, late, closed := w.observing(ctx, c), w.observing(w.timeout(time.Second), c), w.observing(w.ctx, c)
					fail(c.Link())
					cancel()
					w.is(w.ended(canceled.result), context.Canceled)
					sleep(time.Second)
					w.is(w.ended(late.result), context.DeadlineExceeded)
					w.pending(closed.result)
					w.ok(c.Close())
					w.is(w.ended(closed.result), driver.ErrClosed)
					w.ok(c.Link().Heal())
					sleep(time.Minute)
					if got := w.store.Stats().Watches; got != 0 {
						t.Errorf("%d watches are left", got)
					}
					w.is(w.ended(w.observing(w.ctx, c).result), driver.ErrClosed)
				})
			})
		}
	}
}

// V4: the end is not hidden by news, and nothing comes after it.
func TestWatchThatEndsWhileItsConsumerIsBusy(t *testing.T) {
	ends := map[string]struct {
		end  func(c *mem.Conn, cancel context.CancelFunc)
		want error
	}{
		"ctx":   {func(_ *mem.Conn, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"close": {func(c *mem.Conn, _ context.CancelFunc) { _ = c.Close() }, driver.ErrClosed},
	}
	for name, e := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w world) {
				s, _ := w.client()
				c := w.conn()
				ctx, cancel := context.WithCancel(w.ctx)
				defer cancel()
				var errs []error
				for _, err := range c.Watch(ctx, dir) {
					if errs = append(errs, err); len(errs) == 1 {
						w.create(s, "0")
						e.end(c, cancel)
						if got := w.store.Stats().Watches; name == "close" && got != 0 {
							t.Errorf("%d watches are left of the closed connection", got)
						}
					}
				}
				if len(errs) != 2 || errs[0] != nil {
					t.Fatalf("yielded %v", errs)
				}
				w.is(errs[1], e.want)
			})
		})
	}
}

// Nothing happens before the range, and each range is a watch of its own.
func TestWatchIsLazy(t *testing.T) {
	bubble(t, func(w world) {
		s, _ := w.client()
		c := w.conn()
		states := c.Watch(w.ctx, dir)
		if got := w.store.Stats().Watches; got != 0 {
			t.Errorf("%d watches before the range", got)
		}
		for i := range 3 {
			w.create(s, fmt.Sprint(i))
			for nodes, err := range states {
				w.ok(err)
				if len(nodes) != i+1 {
					t.Errorf("range %d shows %q first", i, shown(nodes))
				}
				break
			}
		}
	})
}

// A request that lands after its watch has ended sets nothing.
func TestLateRequestOfAWatchSetsNothing(t *testing.T) {
	bubble(t, func(w world) {
		c := w.conn()
		held := c.Link().Hold(mem.OpWatch)
		ctx, cancel := context.WithCancel(w.ctx)
		o := w.observing(ctx, c)
		<-held.Caught()
		cancel()
		w.is(w.ended(o.result), context.Canceled)
		held.Release()
		if got := w.store.Stats().Watches; got != 0 {
			t.Errorf("%d watches are set", got)
		}
	})
}

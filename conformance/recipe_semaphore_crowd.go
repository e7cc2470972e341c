package conformance

import (
	"context"
	"errors"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
)

// permits are as many as there are in the cases that count who is inside.
const permits = 5

func semExcludes(t sem, d disturbance) {
	t.crowd(permits, d, func(c *coord.Client) (all []guest) {
		s := t.open(c, name, permits)
		for _, n := range []int{1, 2, 3, permits} {
			all = append(all, guest{s.Want(n), n})
		}
		return all
	})
}

// storm lets clients try again and again until the function returned is called.
func (t sem) storm(r *room, clients int) (end func()) {
	ctx, cancel := context.WithCancel(t.ctx)
	var over []<-chan struct{}
	for i := range clients {
		s := t.open(t.Client(), name, permits)
		over = append(over, t.Go(func() {
			for ctx.Err() == nil {
				h, err := s.Want(1 + i%3).Try(t.ctx)
				switch {
				case err == nil:
					t.inside(r, h, 1+i%3, permits)
				case !errors.Is(err, coord.ErrBusy):
					t.Fatalf("a try failed: %v", err)
				}
				t.pause()
			}
		}))
	}
	return func() {
		cancel()
		t.Trial.join("a try", over...)
	}
}

func semStorm(t sem) {
	var r room
	end := t.storm(&r, 5)
	var over []<-chan struct{}
	for i := range 3 {
		s := t.open(t.Client(), name, permits)
		over = append(over, t.Go(func() {
			for range 6 {
				n := permits - i
				h, err := s.Want(n).Acquire(t.ctx)
				if err != nil {
					t.Fatalf("an acquire in a storm: %v", err)
				}
				t.inside(&r, h, n, permits)
			}
		}))
	}
	for _, one := range over {
		if !t.within(t.h.Timeout, one) {
			t.Fatalf("who waits in earnest is not served among those who try")
		}
	}
	end()
	t.empty()
}

func semLossInStorm(t sem) {
	c, l := t.ClientOverLink()
	var r room
	held := t.take(t.want(c, permits-1, permits))
	r.enter(t.Trial, held, permits-1, permits)
	end := t.storm(&r, 4)
	all := t.bid(t.ctx, "who waits for all of them", t.want(t.Client(), permits, permits))
	l.Freeze(netfault.Both)
	h := t.wins(all) // while others are in, and r looks
	t.ends(held, "the holder that was cut off", coord.ErrSessionLost)
	t.inside(&r, h, permits, permits)
	t.heal(l)
	end()
	t.empty()
	t.release(t.take(t.want(t.Client(), permits, permits)))
}

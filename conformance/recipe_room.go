package conformance

import (
	"fmt"
	"sync"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// room is where holders are, as this process knows, which all of them share.
type room struct {
	mu     sync.Mutex
	inside []occupant
	served int
}

type occupant struct {
	hold   subject.Hold
	weight int // of what the room has place for
}

// enter fails the trial if there is no place. A hold that says of itself that it
// was lost takes none.
func (r *room) enter(t *Trial, h subject.Hold, weight, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := weight
	for _, o := range r.inside {
		if o.hold.Err() == nil {
			sum += o.weight
		}
	}
	if sum > most && h.Err() == nil {
		t.decide(Failed, fmt.Sprintf("%d of %d are held at once", sum, most))
	}
	r.inside = append(r.inside, occupant{h, weight})
	r.served++
}

// leave is to be called before the hold is released.
func (r *room) leave(h subject.Hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, o := range r.inside {
		if o.hold == h {
			r.inside = append(r.inside[:i], r.inside[i+1:]...)
			return
		}
	}
}

// count is how many have entered.
func (r *room) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.served
}

// inside lets a hold be in the room for a moment, and releases it.
func (a arena) inside(r *room, h subject.Hold, weight, most int) {
	r.enter(a.Trial, h, weight, most)
	a.pause()
	r.leave(h)
	a.release(h)
}

// guest is who goes in and out of a room.
type guest struct {
	want   subject.Want
	weight int
}

// crowd lets the guests of several clients go in and out of a room with place for
// most, with disturbances in between, and wants all of them served.
func (a arena) crowd(most int, d disturbance, guests func(*coord.Client) []guest) {
	const clients, rounds = 3, 4
	var r room
	var over []<-chan struct{}
	for range clients {
		for _, g := range guests(d.open()) {
			over = append(over, a.Go(func() {
				for range rounds {
					h, err := g.want.Acquire(a.ctx)
					if err != nil {
						a.Fatalf("an acquire failed: %v", err)
					}
					a.inside(&r, h, g.weight, most)
				}
			}))
		}
	}
	all := len(over) * rounds
	a.disturb(d, all, r.count)
	for _, one := range over {
		if !a.within(a.h.Timeout, one) {
			a.Fatalf("not everybody was served: %d of %d", r.count(), all)
		}
	}
	if n := r.count(); n != all {
		a.Fatalf("%d were served; want %d", n, all)
	}
	a.empty()
}

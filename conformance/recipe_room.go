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

// serves disturbs those who enter until all have, unless disturb is nil, and waits
// until those who bring them, over, have returned.
//
// The rest between two disturbances doubles when nobody has entered meanwhile, up
// to half a TTL, and is halved when somebody has. Where a store answers more slowly
// than the shortest rest, as one does that elects a leader, each attempt would
// otherwise be cut off before it is answered, and who cannot reach the store for as
// long as a TTL has failed, as it may.
func (a arena) serves(r *room, all int, disturb func(round int), over []<-chan struct{}) {
	least := a.h.TTL / 50
	rest := least
	for i := 0; disturb != nil && r.count() < all && a.ctx.Err() == nil; i++ {
		before := r.count()
		disturb(i)
		a.sleep(rest)
		if r.count() > before {
			rest = max(rest/2, least)
		} else {
			rest = min(2*rest, a.h.TTL/2)
		}
	}
	for _, one := range over {
		if !a.within(a.h.Timeout, one) {
			a.Fatalf("not everybody was served: %d of %d", r.count(), all)
		}
	}
	if n := r.count(); n != all {
		a.Fatalf("%d were served; want %d", n, all)
	}
}

// links are those of clients that are disturbed one after the other.
type links []Link

// linked opens clients whose links are collected.
func (t *Trial) linked(l *links) func() *coord.Client {
	return func() *coord.Client {
		c, link := t.ClientOverLink()
		*l = append(*l, link)
		return c
	}
}

func (l *links) at(round int) Link { return (*l)[round%len(*l)] }

// reset closes the connections of the link whose turn it is.
func (l *links) reset(round int) { l.at(round).DropConnections() }

// losing loses the replies of the link whose turn it is, for a moment.
func (t *Trial) losing(l *links) func(round int) {
	return func(round int) {
		link := l.at(round)
		link.DropReplies()
		t.sleep(t.h.TTL / 20)
		t.heal(link)
	}
}

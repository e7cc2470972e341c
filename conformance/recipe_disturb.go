package conformance

import "github.com/coordkit/coordkit/coord"

// disturbance is how clients are opened, and then disturbed one after the other.
type disturbance struct {
	open func() *coord.Client
	next func(round int) // nil: not at all
}

// undisturbed leaves clients alone.
func (t *Trial) undisturbed() disturbance { return disturbance{open: t.Client} }

// resets closes the connections of one client after the other.
func (t *Trial) resets() disturbance {
	var l links
	return disturbance{t.linked(&l), func(round int) { l.at(round).DropConnections() }}
}

// losses loses the replies to one client after the other, each time for a moment.
func (t *Trial) losses() disturbance {
	var l links
	return disturbance{t.linked(&l), func(round int) {
		l.at(round).DropReplies()
		t.sleep(t.h.TTL / 20)
		t.heal(l.at(round))
	}}
}

// links are those of clients, in the order in which they were opened.
type links []Link

func (l links) at(round int) Link { return l[round%len(l)] }

// linked opens clients whose links are collected.
func (t *Trial) linked(l *links) func() *coord.Client {
	return func() *coord.Client {
		c, link := t.ClientOverLink()
		*l = append(*l, link)
		return c
	}
}

// disturb disturbs clients until most have been served. The last quarter is left in
// peace: who misses that it is his turn is to be found out, and not woken by the next
// disturbance.
//
// The rest between two disturbances doubles when nobody was served meanwhile, up to
// half a TTL, and is halved when somebody was. Where a store answers more slowly
// than the shortest rest, as one does that elects a leader, each attempt would
// otherwise be cut off before it is answered, and who cannot reach the store for as
// long as a TTL has failed, as it may.
func (t *Trial) disturb(d disturbance, all int, served func() int) {
	most := all - all/4
	least := t.h.TTL / 50
	rest := least
	for i := 0; d.next != nil && served() < most && t.ctx.Err() == nil; i++ {
		before := served()
		d.next(i)
		t.sleep(rest)
		if served() > before {
			rest = max(rest/2, least)
		} else {
			rest = min(2*rest, t.h.TTL/2)
		}
	}
}

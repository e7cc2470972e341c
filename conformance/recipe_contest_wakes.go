package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// waking is about whom a release wakes.
func (cs contests) waking() []Case {
	return slices.Concat(
		cs.cases("eight in line", 0, contestWakes),
		cs.cases("eight of one process", 0, contestWakesOfOne),
	)
}

// wakeRule is the rule of recipes that let in one after the other.
func (cs contests) wakeRule(id string) Rule {
	return Rule{
		ID:    id,
		Text:  "A release wakes the next in line and the one behind it, and nobody else.",
		Cases: append(cs.waking(), cs.cases("a create's reply is late", 0, contestWakesLate)...),
	}
}

// news is what a client learns of the store.
type news struct {
	waits   atomic.Bool  // it has begun to wait
	all     atomic.Int64 // calls that have succeeded, and states that a watch has shown
	deleted atomic.Int64 // waits that have told of a deletion
	looks   atomic.Int64 // lists of the line
}

// hearing opens a client whose news are counted.
func (t *Trial) hearing(n *news) *coord.Client { return t.tapped(n.count) }

func (n *news) count(ctx context.Context, c *request, next func(context.Context) error) error {
	wait := c.op == "WaitDelete" || c.op == "WaitAny"
	if wait || c.op == "Watch" || c.op == "Conn.List" { // by which a line is followed that cannot be watched
		n.waits.Store(true)
	}
	c.shows = func() { n.all.Add(1) }
	err := next(ctx)
	if err == nil && c.op != "Watch" {
		n.all.Add(1)
	}
	if err == nil && wait {
		n.deleted.Add(1)
	}
	if c.op == "List" || c.op == "ListNames" {
		n.looks.Add(1)
	}
	return err
}

// turns returns what the i-th in line wants, so that one at a time is let in.
func (d duel) turns(i int, c *coord.Client) subject.Want {
	if i%2 == 0 {
		return d.one(c)
	}
	return d.other(c)
}

// contestWakes counts the waiting clients that learn anything when another one joins, and when
// one is let in.
func contestWakes(d duel) {
	const crowd = 8
	most := 2
	if !d.exact {
		most = 4 // a wait may break, and a list may be late
	}
	held := d.take(d.turns(0, d.Client()))
	var all [crowd]news
	var line []*bid
	woken := func(waiting []news) (n int) {
		for i := range waiting {
			if waiting[i].all.Swap(0) > 0 {
				n++
			}
		}
		return n
	}
	for i := range all {
		if i == crowd-1 {
			woken(all[:])
		}
		line = append(line, d.join(d.ctx, fmt.Sprintf("place %d", i), d.turns(i+1, d.hearing(&all[i])), i+2))
		d.Eventually(d.patience(), func() error { // or the next finds another to wait for
			if all[i].waits.Load() {
				return nil
			}
			return errors.New("who stands in line neither waits nor returns")
		})
	}
	d.stay([]subject.Hold{held}, line...)
	if n := woken(all[1 : crowd-1]); n > most-2 { // the first may follow the line
		d.Fatalf("a newcomer has woken %d of %d waiting clients", n, crowd-2)
	}
	for i, next := range line {
		woken(all[:])
		d.release(held)
		held = d.wins(next)
		if i > 1 { // two have shown it
			continue
		}
		d.stay([]subject.Hold{held}, line[i+1:]...)
		if n := woken(all[i:]); n > most {
			d.Fatalf("a release that lets in one has woken %d of %d waiting clients", n, crowd-i)
		}
	}
	d.release(held)
	d.empty()
}

// contestWakesOfOne counts what the store tells of deletions where all are of one process,
// which knows of them. If one has the lock at a time, it knows who is next, too.
func contestWakesOfOne(d duel) {
	const crowd = 8
	most := int64(2) // that begin to wait before the process knows of the one ahead
	if !d.exact {
		most = crowd + 1 // a watch of one's own node may tell of one's own release
	}
	var n news
	c := d.hearing(&n)
	held := d.take(d.turns(0, c))
	var line []*bid
	for i := range crowd {
		line = append(line, d.join(d.ctx, fmt.Sprintf("place %d", i), d.turns(i+1, c), i+2))
	}
	d.stay([]subject.Hold{held}, line...)
	n.deleted.Store(0)
	n.looks.Store(0)
	for _, next := range line {
		d.release(held)
		held = d.wins(next)
		d.pause()
	}
	if looks := n.looks.Load(); looks > most/2 && (d.arena.kind == "mutex" || d.arena.kind == "election") {
		d.Fatalf("a process has listed the line %d times, although it knows who is next; want at most %d", looks, most/2)
	}
	d.release(held)
	d.empty()
	if told := n.deleted.Load(); told > most {
		d.Fatalf("the store has told a process %d times of deletions that it has made itself; want at most %d", told, most)
	}
}

// contestWakesLate has a waiter of a process stand in line before the process knows of it,
// so that the one behind it waits for the store. That ends as soon as the process knows.
func contestWakesLate(d duel) {
	var first driver.Node
	var creates, asking, cut atomic.Int64
	reply := make(chan struct{}) // closed: the reply of the first create may come
	c := d.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		create := c.op == "Create" || c.op == "CreateList"
		early := len(c.nodes) > 0 && !ended(reply) && slices.ContainsFunc(c.nodes, first.Same)
		if early {
			asking.Add(1)
			defer asking.Add(-1)
		}
		err := next(ctx)
		if early && ctx.Err() != nil {
			cut.Add(1)
		}
		if create && creates.Add(1) == 1 {
			select { // if both are ready it is all the same
			case <-reply:
			case <-ctx.Done():
			}
		}
		return err
	})
	held := d.take(d.one(d.Client()))
	next := d.join(d.ctx, "the waiter whose create's reply is late", d.other(c), 2)
	first = d.entries(2)[1]
	last := d.join(d.ctx, "the waiter behind it, of the same process", d.one(c), 3)
	asks := func(want bool, otherwise string) {
		d.Eventually(d.patience(), func() error {
			if asking.Load() > 0 == want {
				return nil
			}
			return errors.New(otherwise)
		})
	}
	asks(true, "a waiter does not wait for the one ahead")
	d.release(d.take(d.first(c, "another")))
	d.pause()
	if cut.Load() > 0 {
		d.Fatalf("a waiter is woken by an entry of another line")
	}
	close(reply)
	asks(false, "a waiter waits for the store, although its process knows of the one ahead")
	d.release(held)
	d.release(d.wins(next))
	d.release(d.wins(last))
	d.empty()
}

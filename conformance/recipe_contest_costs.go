package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// costRule is about how often a client asks the store.
func (cs contests) costRule(id string) Rule {
	return Rule{
		ID:    id,
		Text:  "An acquire creates and lists, a release deletes, and a client asks the store for no more than it needs.",
		Cases: append(cs.cases("free, and after a wait", 0, contestCosts), cs.cases("refused", 0, contestCostsRefused)...),
	}
}

// costs is what a client has asked the store for.
type costs struct {
	requests, waits atomic.Int64
	lists           atomic.Int64 // with the data of all nodes
	create          int64        // how many requests it takes to create and to list
	names           bool         // there are lists without data
}

func (n *costs) count(ctx context.Context, c *request, next func(context.Context) error) error {
	switch c.op {
	case "WaitDelete", "WaitAny":
		n.waits.Add(1)
	case "List":
		n.lists.Add(1)
		n.requests.Add(1)
	case "Create", "CreateList", "ListNames", "Update", "Delete", "Abandon":
		n.requests.Add(1)
	}
	return next(ctx)
}

// contestCosts counts the requests of a client that acquires and releases. The case fails only
// if each of three rounds takes too many, because a request may have to be repeated.
func contestCosts(d duel) {
	var n costs
	c, third := d.tapped(n.count), d.Client()
	w := d.one(c)
	h := d.take(w) // and the session is there
	n.create = 2
	if offers[driver.CreateLister](h.Session().Driver()) {
		n.create = 1
	}
	n.names = offers[driver.NameLister](h.Session().Driver())
	d.sleep(d.h.TTL / 4) // its entry is watched by now
	d.release(h)
	d.pause()
	n.waits.Store(0)
	d.sleep(d.h.TTL / 4)
	if late := n.waits.Load(); late > 0 {
		d.Fatalf("%d waits begin after the release", late)
	}

	// A waiter writes that it waits: a gate that it deletes again, or a value that it replaces.
	says := map[string]int64{"semaphore": n.create + 1, "election": 1}[d.arena.kind]
	d.takesAtMost(&n, "to acquire and release what is free", n.create+1, func() { d.release(d.take(w)) })
	d.waitsBehind(third, w)
	d.takesAtMost(&n, "to wait, acquire and release", n.create+says+1, func() { d.waitsBehind(third, w) })
	if lists := n.lists.Load(); n.names && lists > 0 {
		d.Fatalf("%d lists are with the data of all nodes, though names would do", lists)
	}
	d.takesAtMost(&n, "to wait behind two, acquire and release", n.create+says+2, func() { d.waitsBehindTwo(third, w, d.pause) })
	if kind := d.arena.kind; offers[driver.AnyWaiter](h.Session().Driver()) && (kind == "mutex" || kind == "election") {
		d.takesAtMost(&n, "to be let in, once it knows that it is next, and to release", says+1, func() {
			d.waitsBehindTwo(third, w, func() {
				d.Eventually(d.patience(), func() error {
					if n.requests.Load() <= n.create {
						return errors.New("a waiter that can wait for several nodes does not look whether it is next")
					}
					return nil
				})
				n.requests.Store(0)
			})
		})
	}
	d.release(d.take(w)) // having waited, it begins as one that does
	d.takesAtMost(&n, "to acquire and release what is free, after a wait", n.create+1, func() { d.release(d.take(w)) })
}

// contestCostsRefused has the store refuse to create. There is nothing to clear up, unless
// the refusal came after the creation.
func contestCostsRefused(d duel) {
	var n costs
	var refuse, late atomic.Bool
	c := d.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		return n.count(ctx, c, func(ctx context.Context) error {
			if !refuse.Load() || !strings.HasPrefix(c.op, "Create") {
				return next(ctx)
			}
			refused := fmt.Errorf("%w: %w", driver.ErrDenied, errOnPurpose)
			if !late.Load() {
				return &driver.Error{Op: c.op, Kind: driver.ErrDenied, Err: refused}
			}
			if err := next(ctx); err != nil {
				return err
			}
			return &driver.Error{Op: c.op, Kind: driver.ErrUncertain, Err: refused}
		})
	})
	used := make(names)
	take := func() {
		h := d.take(d.one(c))
		used.add(d.entries(1)...)
		d.release(h)
	}
	take() // and the session is there
	for range 3 {
		refuse.Store(true)
		n.requests.Store(0)
		d.fails(d.bid(d.ctx, "an acquire that the store refuses", d.one(c)), coord.ErrDenied)
		d.pause()
		if made := n.requests.Load(); made > 1 {
			d.Fatalf("an acquire that the store refuses takes %d requests; want 1", made)
		}
		refuse.Store(false)
		take()
	}
	late.Store(true)
	for range 3 {
		refuse.Store(true)
		d.fails(d.bid(d.ctx, "an acquire that the store refuses late", d.one(c)), coord.ErrDenied)
		d.settles(func() error { d.empty(); return nil })
		refuse.Store(false)
		take()
	}
	d.few(used, 2) // a name may be taken before the one before is free again
}

// takesAtMost fails the trial if three rounds in a row take too many requests.
func (d duel) takesAtMost(n *costs, what string, most int64, round func()) {
	for range 3 {
		n.requests.Store(0)
		n.lists.Store(0)
		round()
		d.empty()
		if n.requests.Load() <= most {
			return
		}
	}
	d.Fatalf("it takes %d requests %s; want at most %d", n.requests.Load(), what, most)
}

// waitsBehind acquires behind another client, and releases.
func (d duel) waitsBehind(third *coord.Client, w subject.Want) {
	held := d.take(d.other(third))
	next := d.join(d.ctx, "the next in line", w, 2)
	d.pause()
	d.release(held)
	d.release(d.wins(next))
}

// waitsBehindTwo acquires behind two others, and releases.
func (d duel) waitsBehindTwo(third *coord.Client, w subject.Want, next func()) {
	first := d.take(d.one(third))
	second := d.join(d.ctx, "the second in line", d.other(third), 2)
	b := d.join(d.ctx, "the third in line", w, 3)
	d.pause()
	d.release(first)
	held := d.wins(second)
	next()
	d.release(held)
	d.release(d.wins(b))
}

package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// losesPlace wants a waiter whose entry an operator has removed to be told. If that was
// before the waiter could look at the line, it may have made another entry instead, at
// the end of the line: then it is given up.
func (d duel) losesPlace(b *bid, entry driver.Node, giveUp func()) {
	want := coord.ErrRemoved
	d.Eventually(d.patience()+d.h.TTL, func() error {
		if ended(b.over) {
			return nil
		}
		if d.hasAnother(entry) {
			giveUp()
			want = context.Canceled
			return nil
		}
		return errors.New(b.what + ": the acquire does not return, and has no other entry")
	})
	d.fails(b, want)
}

// hasAnother reports whether whose entry was removed has made another one. That is right if
// it had not looked at the line yet.
func (d duel) hasAnother(entry driver.Node) bool {
	return slices.ContainsFunc(d.contending(), func(n driver.Node) bool {
		return n.Session == entry.Session && n.ID == entry.ID && n.Token > entry.Token
	})
}

func contestRemoved(d duel) {
	a, b, c := d.Client(), d.Client(), d.Client()
	held := d.take(d.one(a))
	ctx, giveUp := context.WithCancel(d.ctx)
	defer giveUp()
	second := d.join(ctx, "the waiter whose entry was removed", d.other(b), 2)
	third := d.join(d.ctx, "the waiter behind it", d.other(c), 3)
	nodes := d.entries(3)
	d.removeNode(nodes[1])
	d.losesPlace(second, nodes[1], giveUp)
	d.stay([]subject.Hold{held}, third)
	d.removeNode(nodes[0])
	d.ends(held, "the holder whose entry was removed", coord.ErrRemoved)
	d.release(d.wins(third))
	d.empty()
	used := make(names)
	for range 6 {
		held := d.take(d.one(a))
		used.add(d.entries(1)...)
		d.removeNode(d.entries(1)[0])
		d.ends(held, "the holder whose entry was removed once more", coord.ErrRemoved)
		d.empty()
	}
	d.few(used, 3)
}

// names are those of the nodes that were seen.
type names map[string]bool

func (n names) add(nodes ...driver.Node) {
	for _, one := range nodes {
		n[one.ID] = true
	}
}

// few wants names to be used again, because stores remember those of deleted nodes.
func (d duel) few(used names, most int) {
	if len(used) > most {
		d.Fatalf("those in line had %d names, one after the other; want them used again, and at most %d", len(used), most)
	}
}

func contestRemovedDir(d duel) {
	a, b := d.Client(), d.Client()
	held := d.take(d.one(a))
	waiter := d.join(d.ctx, "the waiter in the removed directory", d.other(b), 2)
	entry := d.entries(2)[1]
	d.removeDir(d.dir())
	d.ends(held, "the holder in the removed directory", coord.ErrRemoved)
	switch over := d.within(d.patience(), waiter.over); {
	case !over || waiter.err != nil:
		d.fails(waiter, coord.ErrRemoved)
	case waiter.hold.Token() > entry.Token:
		// Its entry was removed before it could look at the line, so it made another,
		// ahead of which there is nothing.
		d.release(waiter.hold)
	default:
		// A waiter that is told of the holder's deletion first cannot tell that from a
		// grant. It is told of its own soon after.
		d.ends(waiter.hold, fmt.Sprintf("the waiter in the removed directory, with token %d", waiter.hold.Token()), coord.ErrRemoved)
	}
	later := d.take(d.other(b))
	if later.Token() <= held.Token() {
		d.Fatalf("token %d was given out after %d", later.Token(), held.Token())
	}
	again := d.join(d.ctx, "the first, once more", d.one(a), 2)
	d.release(later)
	d.release(d.wins(again))
	d.empty()
}

// contestRemovedOfOne removes entries of one process, whose waiters hear of each other
// directly.
func contestRemovedOfOne(d duel) {
	a, b := d.Client(), d.Client()
	held := d.take(d.one(a))
	ctx, giveUp := context.WithCancel(d.ctx)
	defer giveUp()
	second := d.join(ctx, "the waiter whose entry was removed, of the holder's process", d.other(a), 2)
	third := d.join(d.ctx, "the waiter behind it, of the same process", d.other(a), 3)
	last := d.join(d.ctx, "the waiter of another process", d.one(b), 4)
	entry := d.entries(4)[1]
	d.removeNode(entry)
	d.losesPlace(second, entry, giveUp)
	d.stay([]subject.Hold{held}, third, last)
	d.release(held)
	h := d.wins(third)
	d.stay([]subject.Hold{h}, last)
	d.removeNode(d.entries(2)[0])
	d.ends(h, "the holder whose entry was removed", coord.ErrRemoved)
	d.release(d.wins(last))
	d.empty()
}

// contestRemovedWithin removes an entry that was entered twice. Both holds end, and are
// released in either order, again and again.
func contestRemovedWithin(d duel) {
	a, b := d.Client(), d.Client()
	for _, order := range [][]int{{0, 1, 0, 1}, {1, 0, 1, 0}} {
		outer := d.take(d.one(a))
		inner := d.wins(d.bid(outer.Context(), "an acquire within a hold", d.one(a)))
		next := d.join(d.ctx, "the next in line", d.other(b), 2)
		d.removeNode(d.entries(2)[0])
		d.ends(inner, "the inner hold of an entry that was removed", coord.ErrRemoved)
		d.ends(outer, "the outer hold of an entry that was removed", coord.ErrRemoved)
		second := d.wins(next)
		d.reentersNoMore(d.one(a), inner)
		for _, i := range order {
			what := []string{"outer", "inner"}[i]
			if err := []subject.Hold{outer, inner}[i].Release(d.ctx); !errors.Is(err, coord.ErrNotHeld) {
				d.Fatalf("releasing the %s hold of an entry that was removed returned %s; want ErrNotHeld", what, errorOf(err))
			}
		}
		d.reentersNoMore(d.one(a), inner)
		d.stay([]subject.Hold{second})
		d.release(second)
		d.empty()
	}

	// What was released before the removal was not lost, and what was entered in it was.
	outer := d.take(d.one(a))
	inner := d.wins(d.bid(outer.Context(), "an acquire within a hold", d.one(a)))
	d.release(outer)
	d.removeNode(d.entries(1)[0])
	d.ends(inner, "the inner hold of an entry that was removed", coord.ErrRemoved)
	if err := inner.Release(d.ctx); !errors.Is(err, coord.ErrNotHeld) {
		d.Fatalf("releasing the inner hold of an entry that was removed returned %s; want ErrNotHeld", errorOf(err))
	}
	d.release(outer)
	d.reentersNoMore(d.one(a), inner)
	d.empty()
}

// reentersNoMore wants an acquire under the context of a hold that was lost to fail, at once
// and for that reason, also if the context was detached from its end.
func (d duel) reentersNoMore(w subject.Want, lost subject.Hold) {
	for what, ctx := range map[string]context.Context{"": lost.Context(), ", detached,": context.WithoutCancel(lost.Context())} {
		for _, acquire := range []func(context.Context) (subject.Hold, error){w.Acquire, w.Try} {
			b := &bid{}
			b.over = d.Go(func() { b.hold, b.err = acquire(ctx) })
			if !d.within(d.patience(), b.over) || !errors.Is(b.err, coord.ErrNotHeld) {
				d.Fatalf("an acquire under the context%s of a hold that was lost returned %s; want ErrNotHeld", what, result(b.hold, b.err))
			}
		}
	}
}

// contestRemovedAfterBreak: a wait of the store that breaks is begun again, so whose entry is
// removed later is told.
func contestRemovedAfterBreak(d duel) {
	var waits atomic.Int64
	c := d.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		if (c.op == "WaitDelete" || c.op == "WaitAny") && waits.Add(1) <= 3 {
			return &driver.Error{Op: c.op, Kind: driver.ErrUnavailable, Err: errOnPurpose}
		}
		return next(ctx)
	})
	held := d.take(d.one(c))
	d.sleep(max(d.h.TTL/2, 500*time.Millisecond)) // for the waits that break
	d.removeNode(d.entries(1)[0])
	d.ends(held, "the holder whose wait was broken before its entry was removed", coord.ErrRemoved)
	d.release(d.take(d.one(c)))
	d.empty()
}

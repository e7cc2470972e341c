package semaphore_test

import (
	"testing"
	"testing/synctest"

	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// One request to acquire what is free, and one to release it.
func TestRequests(t *testing.T) {
	bubbleOver(t, false, func(w *world) {
		var n counter
		a, b := w.counted(&n), w.client()
		h := a.acquire(2, 3)
		n.want(t, "Acquire", counts{requests: 1})
		w.release(h)
		n.want(t, "Release", counts{requests: 1})
		h, err := a.semaphore(3).TryAcquire(w.ctx, 1)
		w.is(err, nil)
		n.want(t, "TryAcquire", counts{requests: 2})
		w.release(h)
		n.next()

		// The first to be served watches the line, and takes its gate away.
		h = b.acquire(3, 3)
		first := a.acquiring(w.ctx, 3, 3)
		blocked(first)
		n.want(t, "joining as the first", counts{requests: 2, watches: 1})
		w.release(h)
		h = first.granted()
		n.want(t, "handoff to the first", counts{requests: 1, changes: 1})

		// Whoever is behind another sleeps until that one is in.
		first = b.acquiring(w.ctx, 3, 3)
		second := a.acquiring(w.ctx, 3, 3)
		blocked(first, second)
		n.want(t, "joining behind another", counts{requests: 2})
		w.release(h)
		h = first.granted()
		blocked(second)
		n.want(t, "release, and becoming the first", counts{requests: 2, wakes: 1, watches: 1})
		w.release(h)
		w.release(second.granted())
	})
}

// Whoever finds nobody ahead to wait for watches the line, and sleeps again when
// there is somebody: here the gate ahead of it was late.
func TestSleepsAgain(t *testing.T) {
	bubbleOver(t, false, func(w *world) {
		var n counter
		a, b := w.client(), w.client()
		h := a.acquire(1, 1)
		if _, err := b.Session(w.ctx); err != nil {
			t.Fatal(err)
		}
		link := b.conn.Link()
		entry := link.Hold(mem.OpCreate)
		first := b.acquiring(w.ctx, 1, 1)
		<-entry.Caught()
		gate := link.Hold(mem.OpCreate)
		entry.Release()
		<-gate.Caught()
		second := w.counted(&n).acquiring(w.ctx, 1, 1)
		blocked(first, second)
		n.want(t, "joining", counts{requests: 2, watches: 1})
		gate.Release()
		blocked(first, second)
		n.want(t, "the gate", counts{changes: 1})
		third := a.acquiring(w.ctx, 1, 1)
		blocked(first, second, third)
		n.want(t, "somebody joining", counts{})
		w.release(h)
		w.release(first.granted())
		w.release(second.granted())
		w.release(third.granted())
	})
}

// The bound on wakes: a change of the line wakes the first to be served, and each
// that is let in wakes one more. With a thousand processes waiting, and with a
// hundred permits as with one.
func TestNoHerd(t *testing.T) {
	bubbleOver(t, false, func(w *world) {
		const permits, crowd = 100, 1000
		var n counter
		holders := w.client()
		var held []*semaphore.Held
		for range permits {
			held = append(held, holders.acquire(1, permits))
		}
		var line []*attempt
		for range crowd {
			line = append(line, w.counted(&n).acquiring(w.ctx, 1, permits))
		}
		blocked(line...)
		joined := n.next()
		// Everybody's entry and gate, which the first watches come.
		if want := (counts{requests: 2 * crowd, watches: 1, changes: 2*crowd - 2}); joined.requests != want.requests ||
			joined.watches != want.watches || joined.wakes != 0 || joined.changes > want.changes {
			t.Errorf("joining took %+v; want no more than %+v", joined, want)
		}

		// One release: the first sees it and is let in; its gate goes, the next
		// wakes, looks at the line, and watches it.
		in := 0
		for range 20 {
			w.release(held[in])
			line[in].granted()
			blocked(line[in+1])
			n.want(t, "a release of one permit", counts{requests: 2, wakes: 1, watches: 1, changes: 1})
			in++
		}

		// Many permits at once: as many are let in, one after the other, and one
		// more wakes.
		w.store.Expire(held[in].Session().ID())
		let := permits - in
		for range let {
			line[in].granted()
			in++
		}
		blocked(line[in:]...)
		got := n.next()
		if got.wakes != int64(let) || got.watches != 1 || got.requests != int64(2*let) || got.changes > int64(let) {
			t.Errorf("the return of %d permits took %+v; want %d wakes, %d requests, and one watch",
				let, got, let, 2*let)
		}

		// And down to the last.
		for i := range crowd {
			w.release(line[i].granted())
		}
		synctest.Wait()
		got = n.next()
		left := int64(crowd - in)
		if got.wakes > left || got.requests > crowd+2*left || got.watches > left {
			t.Errorf("draining the line took %+v; want at most a wake for each of %d", got, left)
		}
	})
}

package semaphore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// One request to acquire what is free, and one to release it.
func TestRequests(t *testing.T) {
	bubbleFast(t, func(w *world) {
		var n recipetest.Counter
		a, b := w.counted(&n), w.client()
		h := a.acquire(2, 3)
		n.Want(t, "Acquire", recipetest.Counts{Sessions: 1, Requests: 1})
		w.release(h)
		n.Want(t, "Release", recipetest.Counts{Requests: 1})
		h, err := a.semaphore(3).TryAcquire(w.Ctx, 1)
		w.Is(err, nil)
		n.Want(t, "TryAcquire", recipetest.Counts{Requests: 2})
		w.release(h)
		n.Next()

		// The first to be served watches the line, and takes its gate away.
		h = b.acquire(3, 3)
		first := a.acquiring(w.Ctx, 3, 3)
		blocked(first)
		n.Want(t, "joining as the first", recipetest.Counts{Requests: 2, Watches: 1})
		w.release(h)
		h = first.Granted()
		n.Want(t, "handoff to the first", recipetest.Counts{Requests: 1, Changes: 1})

		// Whoever is behind another sleeps until that one is in.
		first = b.acquiring(w.Ctx, 3, 3)
		second := a.acquiring(w.Ctx, 3, 3)
		blocked(first, second)
		n.Want(t, "joining behind another", recipetest.Counts{Requests: 2})
		w.release(h)
		h = first.Granted()
		blocked(second)
		n.Want(t, "release, and becoming the first", recipetest.Counts{Requests: 2, Wakes: 1, Watches: 1})
		w.release(h)
		w.release(second.Granted())
	})
}

// A change of the limit is two writes and a watch, and a third write where it
// replaces another. Who comes in under a higher limit than it knew of says so, once.
func TestRequestsOfAChange(t *testing.T) {
	bubbleFast(t, func(w *world) {
		var n recipetest.Counter
		a, b := w.counted(&n), w.client()
		s := a.semaphore(1)
		wrote := func(what string, requests int64) {
			t.Helper()
			synctest.Wait()
			if got := n.Next(); got.Requests != requests || got.Watches != 1 {
				t.Errorf("%s took %+v; want %d requests and a watch", what, got, requests)
			}
		}
		w.setLimit(s, 2)
		wrote("SetLimit", 2)
		w.setLimit(s, 3)
		wrote("SetLimit again", 3)
		own, err := a.NewSession(w.Ctx, ttl)
		w.OK(err)
		w.setLimit(semaphore.New(a.Client, "s", 1, coord.WithSession(own)), 3)
		wrote("SetLimit on another session", 2)
		w.OK(own.Close(w.Ctx))
		time.Sleep(ttl)
		if got := n.Next(); got.Requests != 0 {
			t.Errorf("after the end of that session there were %+v; want it to be left alone", got)
		}
		w.close(a)

		a = w.counted(&n)
		_, err = a.Session(w.Ctx)
		w.OK(err)
		w.setLimit(b.semaphore(1), 4)
		s = a.semaphore(1)
		for i := range 3 {
			n.Next()
			h, err := s.Acquire(w.Ctx, 2)
			w.Is(err, nil)
			synctest.Wait()
			want := recipetest.Counts{Requests: 1}
			if i == 0 {
				want.Requests = 2
			}
			n.Want(t, "Acquire under a raised limit", want)
			w.release(h)
		}
		w.setLimit(b.semaphore(1), 1)
		n.Next()
		h := a.acquire(1, 1)
		n.Want(t, "Acquire under a lowered limit", recipetest.Counts{Requests: 1})
		w.release(h)
	})
}

// Whoever finds nobody ahead to wait for watches the line, and sleeps again when
// there is somebody: here the gate ahead of it was late.
func TestSleepsAgain(t *testing.T) {
	bubbleFast(t, func(w *world) {
		var n recipetest.Counter
		a, b := w.client(), w.client()
		h := a.acquire(1, 1)
		if _, err := b.Session(w.Ctx); err != nil {
			t.Fatal(err)
		}
		link := b.Link()
		entry := link.Hold(mem.OpCreate)
		first := b.acquiring(w.Ctx, 1, 1)
		<-entry.Caught()
		gate := link.Hold(mem.OpCreate)
		entry.Release()
		<-gate.Caught()
		second := w.counted(&n).acquiring(w.Ctx, 1, 1)
		blocked(first, second)
		n.Want(t, "joining", recipetest.Counts{Sessions: 1, Requests: 2, Watches: 1})
		gate.Release()
		blocked(first, second)
		n.Want(t, "the gate", recipetest.Counts{Changes: 1})
		third := a.acquiring(w.Ctx, 1, 1)
		blocked(first, second, third)
		n.Want(t, "somebody joining", recipetest.Counts{})
		w.release(h)
		w.release(first.Granted())
		w.release(second.Granted())
		w.release(third.Granted())
	})
}

// The bound on Wakes: a change of the line wakes the first to be served, and each
// that is let in wakes one more. With a thousand processes waiting, and with a
// hundred permits as with one.
func TestNoHerd(t *testing.T) {
	bubbleFast(t, func(w *world) {
		const permits, crowd = 100, 1000
		var n recipetest.Counter
		holders := w.client()
		var held []*semaphore.Held
		for range permits {
			held = append(held, holders.acquire(1, permits))
		}
		var line []*attempt
		for range crowd {
			line = append(line, w.counted(&n).acquiring(w.Ctx, 1, permits))
		}
		blocked(line...)
		joined := n.Next()
		// Everybody's entry and gate, which the first watches come.
		if want := (recipetest.Counts{Requests: 2 * crowd, Watches: 1, Changes: 2*crowd - 2}); joined.Requests != want.Requests ||
			joined.Watches != want.Watches || joined.Wakes != 0 || joined.Changes > want.Changes {
			t.Errorf("joining took %+v; want no more than %+v", joined, want)
		}

		// One release: the first sees it and is let in; its gate goes, the next
		// wakes, looks at the line, and watches it.
		in := 0
		for range 20 {
			w.release(held[in])
			line[in].Granted()
			blocked(line[in+1])
			n.Want(t, "a release of one permit", recipetest.Counts{Requests: 2, Wakes: 1, Watches: 1, Changes: 1})
			in++
		}

		// Many permits at once: as many are let in, one after the other, and one
		// more wakes.
		w.Store.Expire(held[in].Session().ID())
		let := permits - in
		for range let {
			line[in].Granted()
			in++
		}
		blocked(line[in:]...)
		got := n.Next()
		if got.Wakes != int64(let) || got.Watches != 1 || got.Requests != int64(2*let) || got.Changes > int64(let) {
			t.Errorf("the return of %d permits took %+v; want %d wakes, %d requests, and one watch",
				let, got, let, 2*let)
		}

		// And down to the last.
		for i := range crowd {
			w.release(line[i].Granted())
		}
		synctest.Wait()
		got = n.Next()
		left := int64(crowd - in)
		if got.Wakes > left || got.Requests > crowd+2*left || got.Watches > left {
			t.Errorf("draining the line took %+v; want at most a wake for each of %d", got, left)
		}
	})
}

package rwlock_test

import (
	"context"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/rwlock"
)

// The readers right behind come in, and no writer does, wherever it waits: in
// the process of the one who is downgraded or in another, right behind, behind
// readers, or having come after.
func TestDowngradeLetsReadersInAndNoWriter(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		for _, behind := range []*client{a, b} {
			h := a.lock()
			w1 := behind.writing(w.Ctx)
			r2 := behind.reading(w.Ctx)
			r := w.downgrade(h)
			w.Lost(h, coord.ErrReleased)
			w.Holds(r)
			if r.Token() != h.Token() {
				t.Errorf("token %d became %d", h.Token(), r.Token())
			}
			blocked(w1, r2) // the reader is behind the writer that waits
			w3 := behind.writing(w.Ctx)
			w.Nodes(4)
			w.unlock(h) // deferred, as it well may be
			w.Holds(r)
			blocked(w1, r2, w3)
			w.unlock(r)
			h1 := w1.Granted()
			blocked(r2, w3)
			w.unlock(h1)
			h2 := r2.Granted()
			blocked(w3)
			w.unlock(h2)
			w.unlock(w3.Granted())

			h = a.lock()
			r4, r5, w6, r7 := behind.reading(w.Ctx), behind.reading(w.Ctx), behind.writing(w.Ctx), behind.reading(w.Ctx)
			r = w.downgrade(h)
			h4, h5 := r4.Granted(), r5.Granted()
			blocked(w6, r7)
			w.unlock(h4, h5)
			blocked(w6, r7)
			w.unlock(r)
			w.unlock(w6.Granted())
			w.unlock(r7.Granted())
			w.Nodes(0)
		}
	})
}

// A writer that was let in behind a reader that was a writer, and so on.
func TestDowngradeAgainAndAgain(t *testing.T) {
	bubble(t, func(w *world) {
		c := []*client{w.client(), w.client()}
		var old *rwlock.ReadHeld
		for i := range 6 {
			next := c[i%2].writing(w.Ctx)
			if old != nil {
				blocked(next)
				w.unlock(old)
			}
			old = w.downgrade(next.Granted())
		}
		w.unlock(old)
		w.Nodes(0)
	})
}

func TestDowngradeKeepsTheContextsValues(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		type key struct{}
		h, err := a.locker().Lock(context.WithValue(w.Ctx, key{}, "v"))
		if err != nil {
			t.Fatal(err)
		}
		r := w.downgrade(h)
		if v := r.Context().Value(key{}); v != "v" {
			t.Errorf("the read hold's context has lost a value: %v", v)
		}
		_, err = h.Downgrade(w.Ctx)
		w.Is(err, coord.ErrReleased)
		w.unlock(r)
		_, err = h.Downgrade(w.Ctx)
		w.Is(err, coord.ErrNotHeld)
	})
}

// Whoever re-entered relies on being alone.
func TestDowngradeUnderOthersIsRefused(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.lock()
		inner, err := a.locker().RLock(h.Context())
		if err != nil {
			t.Fatal(err)
		}
		reader := b.reading(w.Ctx)
		_, err = h.Downgrade(w.Ctx)
		w.Is(err, coord.ErrInvalid)
		w.Holds(h, inner)
		w.Nodes(2)
		blocked(reader)
		w.unlock(inner)
		r := w.downgrade(h)
		w.unlock(r, reader.Granted())
	})
}

// What was acquired under a writer lives on when that is a reader, and speaks for it.
func TestContextsUnderADowngradedWriter(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		first := a.lock()
		apart, err := rwlock.New(a.Client, "other").Lock(first.Context())
		w.OK(err)
		down := w.downgrade(first)
		next := b.writing(w.Ctx)
		_, err = a.locker().Lock(apart.Context())
		w.Is(err, rwlock.ErrUpgrade)
		again, err := a.locker().RLock(apart.Context())
		w.OK(err)
		if again.Token() != down.Token() {
			t.Error("a re-entered lock has another token")
		}
		w.unlock(down)
		blocked(next)
		w.unlock(again)
		w.unlock(next.Granted(), apart)
	})
}

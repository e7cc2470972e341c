package semaphore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

func (w *world) setLimit(s *semaphore.Semaphore, n int) {
	w.Helper()
	if err := s.SetLimit(w.Ctx, n); err != nil {
		w.Fatalf("SetLimit(%d): %v", n, err)
	}
}

// Whoever comes with another limit than those who are there fails and is told
// who they are; they are not disturbed, and nor is anybody who waits.
func TestLimitsThatDifferAreReported(t *testing.T) {
	bubble(t, func(w *world) {
		conn := w.Store.Open(recipetest.Namespace)
		named, err := coord.New(conn, coord.Config{Owner: coord.Owner{Name: "billing"}})
		if err != nil {
			t.Fatal(err)
		}
		defer named.Close(context.Background())
		first, err := semaphore.New(named, "s", 3).Acquire(w.Ctx, 2)
		if err != nil {
			t.Fatal(err)
		}
		b := w.client()
		waiting := b.acquiring(w.Ctx, 2, 3)
		wrong := b.semaphore(4)
		for _, call := range []func(context.Context, int) (*semaphore.Held, error){wrong.Acquire, wrong.TryAcquire} {
			_, err := call(w.Ctx, 1)
			w.Is(err, semaphore.ErrLimit)
			var differ *semaphore.LimitError
			if !errors.As(err, &differ) || differ.Stated != 4 || differ.InForce != 3 || differ.Owner.Name != "billing" || differ.Name != "s" {
				t.Errorf("%+v", differ)
			}
		}
		w.entries(2)
		w.uses(b, 3, 2)
		if err := first.Release(w.Ctx); err != nil {
			t.Fatal(err)
		}
		w.release(waiting.Granted())
		if h, err := wrong.Acquire(w.Ctx, 4); err != nil { // nobody is there to disagree
			t.Error(err)
		} else {
			w.release(h)
		}
	})
}

func TestRaisingTheLimitLetsIn(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(2, 2)
		line := []*attempt{b.acquiring(w.Ctx, 1, 2), a.acquiring(w.Ctx, 1, 2), b.acquiring(w.Ctx, 2, 2)}
		blocked(line...)
		w.setLimit(w.client().semaphore(2), 4)
		h1, h2 := line[0].Granted(), line[1].Granted()
		blocked(line[2])
		w.uses(b, 4, 4)
		w.release(h)
		w.release(h1, h2, line[2].Granted())
	})
}

// What is held stays held, and nobody comes in until there is room again.
func TestLoweringTheLimit(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h1, h2, h3 := a.acquire(2, 5), b.acquire(2, 5), b.acquire(1, 5)
		first, heavy, last := b.acquiring(w.Ctx, 1, 5), a.acquiring(w.Ctx, 4, 5), b.acquiring(w.Ctx, 1, 5)
		w.setLimit(a.semaphore(5), 3)
		blocked(first, last)
		w.Holds(h1, h2, h3)
		w.uses(w.client(), 3, 5) // more than allowed, and said so
		c, err := b.semaphore(5).Contenders(w.Ctx)
		if err != nil || len(c.Holders) != 3 || c.Holders[0].Permits != 2 {
			t.Errorf("%+v, %v; want those who hold to show as holders", c, err)
		}
		_, err = a.semaphore(5).Acquire(w.Ctx, 4)
		w.Is(err, coord.ErrInvalid)
		w.release(h1)
		blocked(first, last)
		w.release(h2)
		in := first.Granted()
		heavy.Failed(coord.ErrInvalid) // can never hold, and is in nobody's way
		w.release(h3, in, last.Granted())
	})
}

// Whoever holds more than the lowered limit still counts in full.
func TestHolderAboveTheLoweredLimitCounts(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(5, 5)
		w.setLimit(b.semaphore(5), 2)
		next := b.acquiring(w.Ctx, 1, 5)
		blocked(next)
		w.uses(b, 2, 5)
		w.release(h)
		w.release(next.Granted())
	})
}

// The later of several changes counts, one notice of them is left, and whoever has
// another limit configured takes the one in force.
func TestTheLastChangeCounts(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		s := a.semaphore(1)
		for _, n := range []int{7, 3, 5} {
			w.setLimit(s, n)
		}
		w.notices(1)
		w.setLimit(b.semaphore(1), 2)
		w.notices(1)
		for _, configured := range []int{1, 2, 9} {
			c := w.client()
			h := c.acquire(2, configured)
			_, err := c.semaphore(configured).TryAcquire(w.Ctx, 1)
			w.Is(err, coord.ErrBusy)
			w.release(h)
		}
		w.setLimit(s, 3)
		late := a.Link().Hold(mem.OpDelete) // of what the next replaces
		w.setLimit(s, 4)
		<-late.Caught()
		w.release(b.acquire(4, 1))
		late.Release()
		w.notices(1)
	})
}

// Entries that somebody has overwritten are entries, and still have their name.
func TestOverwrittenEntriesCountByTheirNames(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(1, 3)
		w.overwrite(h)
		w.uses(b, 3, 1)
		next, last := b.acquiring(w.Ctx, 2, 3), b.acquiring(w.Ctx, 1, 3)
		in := next.Granted()
		blocked(last)
		c, err := b.semaphore(3).Contenders(w.Ctx)
		if err != nil || len(c.Holders) != 2 || c.Holders[0].Permits != 1 || len(c.Waiters) != 1 {
			t.Errorf("%+v, %v", c, err)
		}
		w.release(h)
		w.release(in, last.Granted())
	})
}

// Where the name has no room for it, nobody knows of how many permits they are.
func TestUnreadableEntriesCountAsAll(t *testing.T) {
	const many = semaphore.MaxLimit
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(1000, many)
		w.overwrite(h)
		next := b.acquiring(w.Ctx, 1, many)
		blocked(next)
		w.release(h)
		w.release(next.Granted())
	})
}

// overwrite replaces what the first entry in line says.
func (w *world) overwrite(h *semaphore.Held) {
	w.Helper()
	_, err := h.Session().Driver().Update(w.Ctx, w.of("p")[0], []byte("let go, please"))
	w.OK(err)
}

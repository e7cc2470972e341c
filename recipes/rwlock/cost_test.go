package rwlock_test

import (
	"testing"

	"github.com/coordkit/coordkit/internal/recipetest"
)

// One request to join, one to leave, and none to hand over, but for one look
// between writers of different processes: a writer that is gone may have become
// a reader.
func TestRequests(t *testing.T) {
	bubbleFast(t, func(w *world) {
		var n recipetest.Counter
		a, b := w.counted(&n), w.client()
		r := a.rlock()
		n.Want(t, "RLock", recipetest.Counts{Sessions: 1, Requests: 1})
		w.unlock(r)
		n.Want(t, "Unlock", recipetest.Counts{Requests: 1})
		h := a.lock()
		n.Want(t, "Lock", recipetest.Counts{Requests: 1})
		r = w.downgrade(h)
		n.Want(t, "Downgrade", recipetest.Counts{Requests: 2})
		w.unlock(r, h)
		n.Want(t, "Unlock", recipetest.Counts{Requests: 1})

		read := func(c *client) held { return c.rlock() }
		write := func(c *client) held { return c.lock() }
		for _, handoff := range []struct {
			name            string
			ahead           func(*client) held
			next            func(*client) *attempt
			requests, wakes int64 // when who is ahead is of another process
		}{
			{"a reader's to a writer", read, func(c *client) *attempt { return c.writing(w.Ctx) }, 0, 1},
			{"a writer's to a reader", write, func(c *client) *attempt { return c.reading(w.Ctx) }, 0, 1},
			{"a writer's to a writer", write, func(c *client) *attempt { return c.writing(w.Ctx) }, 1, 1},
		} {
			for _, holder := range []*client{a, b} {
				h := handoff.ahead(holder)
				n.Next()
				next := handoff.next(a)
				blocked(next)
				n.Want(t, handoff.name+": joining", recipetest.Counts{Requests: 1})
				w.unlock(h)
				got := next.Granted()
				if holder == a {
					n.Want(t, handoff.name+" release and handoff in one process", recipetest.Counts{Requests: 1})
				} else {
					n.Want(t, handoff.name+" handoff", recipetest.Counts{Requests: handoff.requests, Wakes: handoff.wakes})
				}
				w.unlock(got)
			}
		}
	})
}

// The readers behind one writer wake together, at no cost, and nobody else does:
// neither the writers behind them nor the readers behind those.
func TestWakesOnlyWhoComesIn(t *testing.T) {
	bubbleFast(t, func(w *world) {
		const crowd = 100
		var n recipetest.Counter
		first := w.client().lock()
		var readers, others []*attempt
		for range crowd {
			readers = append(readers, w.counted(&n).reading(w.Ctx))
		}
		for range 10 {
			others = append(others, w.counted(&n).writing(w.Ctx), w.counted(&n).reading(w.Ctx))
		}
		n.Want(t, "joining", recipetest.Counts{Sessions: crowd + 20, Requests: crowd + 20})
		w.unlock(first)
		var in []held
		for _, a := range readers {
			in = append(in, a.Granted())
		}
		blocked(others...)
		n.Want(t, "a writer's release", recipetest.Counts{Wakes: crowd})
		for _, r := range in[:crowd-1] {
			w.unlock(r)
		}
		n.Want(t, "the releases of all readers but the last", recipetest.Counts{Requests: crowd - 1})
		w.unlock(in[crowd-1])
		h := others[0].Granted()
		blocked(others[1:]...)
		n.Want(t, "the release of the last reader", recipetest.Counts{Requests: 1 + 1, Wakes: 1}) // many were ahead of the writer: it looks
		r := w.downgrade(h)
		h2 := others[1].Granted()
		blocked(others[2:]...)
		n.Want(t, "Downgrade", recipetest.Counts{Requests: 2 + 1, Wakes: 1}) // and so does a reader that had two writers ahead
		w.unlock(r, h2)
		for i := 2; i < len(others); i += 2 {
			w.unlock(others[i].Granted())
			w.unlock(others[i+1].Granted())
		}
	})
}

// Where lists are names, no data are read, not even of a downgraded writer.
func TestListsByNames(t *testing.T) {
	bubbleByNames(t, func(w *world) {
		asked := func(what string, named, full int64) {
			t.Helper()
			if n, f := w.lists.Next(); n != named || f != full {
				t.Errorf("%s took %d lists of names and %d with data; want %d and %d", what, n, f, named, full)
			}
		}
		a, b := w.client(), w.client()
		h := a.lock()
		first, second := b.writing(w.Ctx), a.writing(w.Ctx)
		blocked(first, second)
		asked("three writers", 3, 0)
		w.unlock(h)
		h1 := first.Granted()
		asked("a writer's handoff to a writer", 1, 0)
		r := w.downgrade(h1)
		blocked(second)
		asked("a downgrade, and a writer that looks what it was", 2, 0)
		reader := b.reading(w.Ctx)
		blocked(reader)
		asked("joining behind a downgraded writer", 1, 0)
		w.unlock(r)
		w.unlock(second.Granted())
		w.unlock(reader.Granted())
	})
}

package rwlock_test

import (
	"testing"

	"github.com/coordkit/coordkit/recipes/rwlock"
)

// One request to join, one to leave, and none to hand over, but for one look
// between writers of different processes: a writer that is gone may have become
// a reader.
func TestRequests(t *testing.T) {
	bubbleOver(t, false, func(w *world) {
		var n counter
		a, b := w.counted(&n), w.client()
		r := a.rlock()
		n.want(t, "RLock", 1, 0)
		w.unlock(r)
		n.want(t, "Unlock", 1, 0)
		h := a.lock()
		n.want(t, "Lock", 1, 0)
		r = w.downgrade(h)
		n.want(t, "Downgrade", 2, 0)
		w.unlock(r, h)
		n.want(t, "Unlock", 1, 0)

		read := func(c *client) held { return c.rlock() }
		write := func(c *client) held { return c.lock() }
		for _, handoff := range []struct {
			name            string
			ahead           func(*client) held
			next            func(*client) *attempt
			requests, wakes int64 // when who is ahead is of another process
		}{
			{"a reader's to a writer", read, func(c *client) *attempt { return c.writing(w.ctx) }, 0, 1},
			{"a writer's to a reader", write, func(c *client) *attempt { return c.reading(w.ctx) }, 0, 1},
			{"a writer's to a writer", write, func(c *client) *attempt { return c.writing(w.ctx) }, 1, 1},
		} {
			for _, holder := range []*client{a, b} {
				h := handoff.ahead(holder)
				n.requests.Store(0)
				next := handoff.next(a)
				blocked(next)
				n.want(t, handoff.name+": joining", 1, 0)
				w.unlock(h)
				next.granted()
				if holder == a {
					n.want(t, handoff.name+" release and handoff in one process", 1, 0)
				} else {
					n.want(t, handoff.name+" handoff", handoff.requests, handoff.wakes)
				}
				if next.w != nil {
					w.unlock(next.w)
				} else {
					w.unlock(next.r)
				}
			}
		}
	})
}

// The readers behind one writer wake together, at no cost, and nobody else does:
// neither the writers behind them nor the readers behind those.
func TestWakesOnlyWhoComesIn(t *testing.T) {
	bubbleOver(t, false, func(w *world) {
		const crowd = 100
		var n counter
		first := w.client().lock()
		var readers, others []*attempt
		for range crowd {
			readers = append(readers, w.counted(&n).reading(w.ctx))
		}
		for range 10 {
			others = append(others, w.counted(&n).writing(w.ctx), w.counted(&n).reading(w.ctx))
		}
		n.want(t, "joining", crowd+20, 0)
		w.unlock(first)
		var in []*rwlock.ReadHeld
		for _, a := range readers {
			in = append(in, a.read())
		}
		blocked(others...)
		n.want(t, "a writer's release", 0, crowd)
		for _, r := range in[:crowd-1] {
			w.unlock(r)
		}
		n.want(t, "the releases of all readers but the last", crowd-1, 0)
		w.unlock(in[crowd-1])
		h := others[0].wrote()
		blocked(others[1:]...)
		n.want(t, "the release of the last reader", 1+1, 1) // many were ahead of the writer: it looks
		r := w.downgrade(h)
		h2 := others[1].read()
		blocked(others[2:]...)
		n.want(t, "Downgrade", 2+1, 1) // and so does a reader that had two writers ahead
		w.unlock(r, h2)
		for i := 2; i < len(others); i += 2 {
			w.unlock(others[i].wrote())
			w.unlock(others[i+1].read())
		}
	})
}

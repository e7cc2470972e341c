package semaphore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// leaving has a client come with a wrong limit, which is refused and whose entry
// stays until leave is called.
func (w *world) leaving(n, of int) (leave func()) {
	w.Helper()
	c := w.client()
	deleting := c.Link().Hold(mem.OpDelete)
	wrong := c.acquiring(w.Ctx, n, of)
	<-deleting.Caught()
	c.Link().Freeze(mem.Up) // or it would be tried again
	return func() {
		w.Helper()
		deleting.Release()
		c.Link().Thaw(mem.Up)
		wrong.Failed(semaphore.ErrLimit)
	}
}

// The one who is wrong has not left yet when it becomes the first in line: who
// waits behind it is not refused for that, and does not profit from it either.
func TestWaiterIsNotRefusedForTheErrorOfAnother(t *testing.T) {
	for _, given := range []int{9, 2} {
		t.Run(fmt.Sprintf("%d instead of 3", given), func(t *testing.T) {
			bubble(t, func(w *world) {
				a, b := w.client(), w.client()
				h := a.acquire(3, 3)
				leave := w.leaving(2, given)
				first, second := b.acquiring(w.Ctx, 3, 3), b.acquiring(w.Ctx, 3, 3)
				blocked(first, second)
				w.release(h)
				blocked(first, second)
				leave()
				h = first.Granted()
				blocked(second)
				w.release(h)
				w.release(second.Granted())
			})
		})
	}
}

// The one who is wrong has not left yet when it becomes the first in line: who
// makes the same mistake does not come in beside those who hold, or before those who
// wait.
func TestWhoIsRefusedLetsNobodyIn(t *testing.T) {
	for name, wants := range map[string]int{"one holds": 1, "one waits": 3} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a, b, d := w.client(), w.client(), w.client()
				h := a.acquire(1, 3)
				leave := w.leaving(1, 9)
				right := b.acquiring(w.Ctx, wants, 3)
				if in := right.Done(); in != (wants == 1) {
					t.Errorf("who wants %d has come in: %t, %v", wants, in, right.Err)
				}
				w.release(h)
				_, err := d.semaphore(9).TryAcquire(w.Ctx, 7)
				w.Is(err, coord.ErrBusy)
				ctx, cancel := context.WithCancel(w.Ctx)
				same := d.acquiring(ctx, 7, 9)
				blocked(same)
				cancel()
				same.Failed(context.Canceled)
				w.entries(2)
				leave()
				w.release(right.Granted())
			})
		})
	}
}

// One who was given a lower limit is refused and has not left: who is right comes in
// if there is room for all under that limit, and waits otherwise.
func TestWhoIsRightWhileOneWithALowerLimitLeaves(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(1, 9)
		leave := w.leaving(1, 3)
		w.release(b.acquire(1, 9))
		_, err := b.semaphore(9).TryAcquire(w.Ctx, 2)
		w.Is(err, coord.ErrBusy)
		leave()

		more := a.acquire(2, 9)
		leave = w.leaving(1, 3)
		next := b.acquiring(w.Ctx, 5, 9)
		blocked(next)
		_, err = b.semaphore(9).TryAcquire(w.Ctx, 1)
		w.Is(err, coord.ErrBusy)
		leave()
		w.release(h, more, next.Granted())
	})
}

// Whoever was given the lower limit is let in for no more than that, and waits for no
// longer than it takes.
func TestWhoWaitsGoesByTheLowestLimit(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, d := w.client(), w.client(), w.client()
		h := a.acquire(3, 9)
		leave := w.leaving(1, 3)
		first, second := b.acquiring(w.Ctx, 2, 9), d.acquiring(w.Ctx, 1, 9)
		blocked(first, second)
		w.release(h) // three of the lower limit are free, if nobody can know for whom
		h1 := first.Granted()
		blocked(second)
		w.uses(a, 3, 3)
		leave()
		w.release(h1, second.Granted())
	})
}

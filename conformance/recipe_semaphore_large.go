package conformance

import (
	"errors"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// semLarge takes more than 999 permits. A semaphore that compares numbers as text, or has
// room for three digits, grants too many.
func semLarge(t sem) {
	a, b, c := t.Client(), t.Client(), t.Client()
	const limit = 1500
	s := t.open(a, name, limit)
	busy := func(n int) {
		if h, err := t.want(c, n, limit).Try(t.ctx); !errors.Is(err, coord.ErrBusy) {
			t.Fatalf("a try of %d permits with too few free returned %s; want ErrBusy", n, result(h, err))
		}
	}
	most := t.take(t.want(a, 1001, limit))
	t.inUse(s, limit, 1001)
	busy(500)
	some := t.take(t.want(b, 499, limit))
	t.inUse(s, limit, limit)
	busy(1)
	listed, err := t.want(c, 1, limit).Contenders(t.ctx)
	if err != nil || len(listed.Holders) != 2 || listed.Holders[0].Permits != 1001 || listed.Holders[1].Permits != 499 {
		t.Fatalf("Contenders: %+v, %s; want holders of 1001 and 499 permits", listed, errorOf(err))
	}
	t.fails(t.bid(t.ctx, "an acquire of 1501 of 1500", t.want(c, 1501, limit)), coord.ErrInvalid)
	t.entries(2)
	waiter := t.join(t.ctx, "a waiter for 999", t.want(c, 999, limit), 3)
	t.release(some)
	t.stay([]subject.Hold{most}, waiter)
	t.release(most)
	second := t.wins(waiter)
	waiter = t.join(t.ctx, "a waiter for 1500", t.want(a, limit, limit), 2)
	t.stay([]subject.Hold{second}, waiter)
	t.set(s, 2499)
	third := t.wins(waiter)
	t.inUse(s, 2499, 2499)
	t.release(second, third)
	t.entries(0)            // but for the notice of the limit
	const million = 1000000 // whose terms no node's name has room for
	h := t.take(t.open(a, "other", million).Want(400000))
	h2 := t.tries(t.open(b, "other", million).Want(500000), "a try of 500000 permits with 600000 free")
	if h, err := t.open(c, "other", million).Want(100001).Try(t.ctx); !errors.Is(err, coord.ErrBusy) {
		t.Fatalf("a try of 100001 permits with 100000 free returned %s; want ErrBusy", result(h, err))
	}
	t.release(h, h2)
}

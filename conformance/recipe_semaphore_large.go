package conformance

import (
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// semLarge takes more than 999 permits. A semaphore that compares numbers as text, or has
// room for three digits, grants too many.
func semLarge(t sem) {
	a, b, c := t.Client(), t.Client(), t.Client()
	var many []subject.Hold
	for range 12 {
		many = append(many, t.take(t.want(a, 99, semaphore.MaxLimit)))
	}
	t.release(many...)
	t.empty()

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
	ids := make(map[string]bool)
	for n := range 5 {
		h := t.take(t.want(a, 1000+n, limit))
		ids[t.entries(1)[0].ID] = true
		t.release(h)
	}
	if len(ids) > 2 { // of two slots
		t.Fatalf("five numbers of permits make %d ids; stores remember the names of what was deleted", len(ids))
	}
}

// semOverwritten: what an operator writes into an entry makes nobody come in.
func semOverwritten(t sem) {
	a, b := t.Client(), t.Client()
	overwrite := func(c *coord.Client, n driver.Node, value string) {
		s, err := c.Session(t.ctx)
		if err != nil {
			t.Fatalf("Session: %v", err)
		}
		t.Update(s.Driver(), n, []byte("{}\n"+value)...)
	}
	const limit = 1500
	s := t.open(b, name, limit)
	h := t.take(t.want(a, 1000, limit))
	for _, value := range []string{
		"", "let go", "5", "5/1500", "5/1500@", "5@1500", "/1500@1500", "5/@1500", "x/1500@1500", "5/x@1500", "5/1500@x",
		"0/1500@1500", "5/0@1500", "5/1500@0", "-5/1500@1500", "2147483648/2147483648@2147483648", "5 /1500@1500",
	} {
		overwrite(a, t.entries(1)[0], value)
		t.busy(t.want(b, 1, limit), fmt.Sprintf("TryAcquire when the holder's entry says %q, which may be any number,", value))
		t.inUse(s, limit, limit)
	}
	if c, err := t.want(b, 1, limit).Contenders(t.ctx); err != nil || len(c.Holders) != 1 || len(c.Waiters) != 0 {
		t.Fatalf("Contenders: %+v, %s; want one holder, whose entry was overwritten", c, errorOf(err))
	}
	waiter := t.join(t.ctx, "a waiter", t.want(b, 1000, limit), 2)
	t.gates(1)
	overwrite(b, t.entries(2)[1], "let go")
	t.stay([]subject.Hold{h}, waiter)
	t.release(h)
	t.release(t.wins(waiter))
	t.empty()

	// Of few permits the name says how many.
	h = t.take(t.want(a, 2, 3))
	for _, value := range []string{"1/3@3", "let go"} {
		overwrite(a, t.entries(1)[0], value)
		t.busy(t.want(b, 2, 3), "TryAcquire of two when two of three are held")
		t.inUse(t.open(b, name, 3), 3, 2)
	}
	s = t.open(b, name, 3)
	t.set(s, 1)
	t.inUse(s, 1, 2)
	t.release(h)

	// A notice that cannot be read is none, and one that claims to be of a later time than it
	// is overrides no later one.
	overwrite(b, t.notices(1)[0], "let go")
	t.inUse(s, 3, 0)
	overwrite(b, t.notices(1)[0], "5@18446744073709551615")
	t.set(t.open(a, name, 3), 7)
	t.inUse(s, 7, 0)
	t.entries(0)
}

package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// disagree wants an acquire to find that the limits differ.
func (t sem) disagree(w subject.Want, stated, inForce int, owner string) {
	for _, acquire := range []func(context.Context) (subject.Hold, error){w.Acquire, w.Try} {
		b := t.bid(t.ctx, "who was given another limit", subject.Want{Acquire: acquire})
		t.fails(b, semaphore.ErrLimit)
		var e *semaphore.LimitError
		if !errors.As(b.err, &e) || e.Name != name || e.Stated != stated || e.InForce != inForce || e.Owner.Name != owner || e.Owner.PID == 0 {
			t.Fatalf("it was told %s; want the limits %d, its own, and %d of %q", errorOf(b.err), stated, inForce, owner)
		}
	}
}

func semMismatch(t sem) {
	a, b := t.named(coord.Owner{Name: "first"}), t.Client()
	h := t.take(t.want(a, 1, 2))
	t.disagree(t.want(b, 1, 3), 3, 2, "first")
	t.disagree(t.want(b, 1, 1), 1, 2, "first")
	t.entries(1)
	t.holds(h)
	h1 := t.take(t.want(b, 1, 2))
	t.release(h, h1)
	t.empty()
	h = t.take(t.want(b, 3, 3)) // and now the other one is right
	t.disagree(t.want(a, 1, 2), 2, 3, "")
	t.release(h)
	t.empty()
	h = t.take(t.want(a, 1, 1))
	t.disagree(t.want(b, 1, 2), 2, 1, "first")
	t.release(h)
	t.empty()
}

func semMismatchWaiting(t sem) {
	a, b := t.named(coord.Owner{Name: "first"}), t.Client()
	h := t.take(t.want(a, 2, 2))
	waiter := t.join(t.ctx, "who agrees, and waits", t.want(t.Client(), 2, 2), 2)
	t.disagree(t.want(b, 1, 9), 9, 2, "first")
	t.entries(2)
	t.stay([]subject.Hold{h}, waiter)
	t.release(h)
	t.release(t.wins(waiter))
	t.empty()
}

func semNoLimit(t sem) {
	c := t.Client()
	most := semaphore.MaxLimit
	for _, limit := range []int{math.MinInt, -1, 0, most + 1, math.MaxInt} {
		s, fn := t.open(c, name, limit), func(context.Context, uint64) error { return nil }
		w := s.Want(1)
		for what, call := range map[string]func() error{
			"Acquire":    func() error { _, err := w.Acquire(t.ctx); return err },
			"TryAcquire": func() error { _, err := w.Try(t.ctx); return err },
			"Do":         func() error { return w.Do(t.ctx, fn) },
			"Contenders": func() error { _, err := w.Contenders(t.ctx); return err },
			"Revoke":     func() error { return w.Revoke(t.ctx, 1, "") },
			"SetLimit":   func() error { return s.SetLimit(t.ctx, 2) },
			"Limit":      func() error { _, _, err := s.Limit(t.ctx); return err },
		} {
			if err := call(); !errors.Is(err, coord.ErrInvalid) {
				t.Fatalf("%s under the limit %d returned %s; want ErrInvalid", what, limit, errorOf(err))
			}
		}
	}
	h := t.take(t.want(c, most, most))
	t.fails(t.bid(t.ctx, "an acquire of one more", t.want(c, most+1, most)), coord.ErrInvalid)
	t.release(h)
	t.fails(t.bid(t.ctx, "an acquire of one more than there are", t.want(c, most+1, most)), coord.ErrInvalid)
	t.empty()
}

func semTooMany(t sem) {
	a, b := t.Client(), t.Client()
	for range 2 {
		for _, n := range []int{-1, 0, 4, math.MaxInt} {
			t.fails(t.bid(t.ctx, fmt.Sprintf("an acquire of %d of 3", n), t.want(b, n, 3)), coord.ErrInvalid)
			if _, err := t.want(b, n, 3).Try(t.ctx); !errors.Is(err, coord.ErrInvalid) {
				t.Fatalf("TryAcquire of %d of 3 returned %s; want ErrInvalid", n, errorOf(err))
			}
		}
		t.take(t.want(a, 1, 3)) // and again, with one in use
	}
	t.entries(2)
}

// set changes the limit, and must.
func (t sem) set(s subject.Counting, limit int) {
	if err := s.SetLimit(t.ctx, limit); err != nil {
		t.Fatalf("SetLimit: %v", err)
	}
}

func semTooManyNow(t sem) {
	a, b := t.Client(), t.Client()
	h := t.take(t.want(a, 3, 3))
	large := t.join(t.ctx, "who waits for three", t.want(b, 3, 3), 2)
	small := t.join(t.ctx, "who waits for one", t.want(t.Client(), 1, 3), 3)
	t.set(t.open(a, name, 3), 2)
	t.stay([]subject.Hold{h}, small)
	t.release(h)
	t.fails(large, coord.ErrInvalid) // at the latest now
	t.release(t.wins(small))
	t.fails(t.bid(t.ctx, "who comes for three", t.want(b, 3, 3)), coord.ErrInvalid)
}

func semRaise(t sem) {
	a, b, c := t.Client(), t.Client(), t.Client()
	h := t.take(t.want(a, 1, 1))
	first := t.join(t.ctx, "the first who waits", t.want(b, 1, 1), 2)
	second := t.join(t.ctx, "the second who waits", t.want(a, 1, 1), 3)
	third := t.join(t.ctx, "the third who waits", t.want(c, 1, 1), 4)
	t.set(t.open(c, name, 1), 3)
	h1, h2 := t.wins(first), t.wins(second)
	t.stay([]subject.Hold{h, h1, h2}, third)
	t.busy(t.want(t.Client(), 1, 1), "TryAcquire by who was given the old limit, and finds the new one used up")
	t.inUse(t.open(t.Client(), name, 1), 3, 3)
	t.release(h)
	t.release(t.wins(third), h1, h2)
}

func semLower(t sem) {
	a, b := t.Client(), t.Client()
	var in []subject.Hold
	for range 3 {
		in = append(in, t.take(t.want(a, 1, 3)))
	}
	waiter := t.join(t.ctx, "who waits", t.want(b, 1, 3), 4)
	t.set(t.open(b, name, 3), 1)
	t.stay(in, waiter)
	t.inUse(t.open(a, name, 3), 1, 3)
	for len(in) > 1 {
		t.release(in[0])
		in = in[1:]
		t.stay(in, waiter)
		t.busy(t.want(t.Client(), 1, 3), "TryAcquire under the lowered limit")
	}
	t.release(in[0])
	h := t.wins(waiter)
	t.inUse(t.open(a, name, 3), 1, 1)
	t.release(h)
}

func semLastChange(t sem) {
	a, b := t.Client(), t.Client()
	sa, sb := t.open(a, name, 1), t.open(b, name, 1)
	for _, change := range []struct {
		by    subject.Counting
		limit int
	}{{sa, 5}, {sb, 3}, {sa, 4}, {sa, 2}, {sb, 7}} {
		t.set(change.by, change.limit)
		t.inUse(sa, change.limit, 0)
		t.inUse(sb, change.limit, 0)
		t.inUse(t.open(t.Client(), name, 9), change.limit, 0)
	}
	t.release(t.take(sa.Want(7)))
	for _, n := range []int{-1, 0, math.MaxInt} {
		if err := sa.SetLimit(t.ctx, n); !errors.Is(err, coord.ErrInvalid) {
			t.Fatalf("SetLimit(%d) returned %s; want ErrInvalid", n, errorOf(err))
		}
	}
	t.inUse(sb, 7, 0)
}

func semLimitCtx(t sem, fault func(Link)) {
	c, l := t.ClientOverLink()
	s := t.open(c, name, 3)
	t.release(t.take(s.Want(1)))
	fault(l)
	t.endWithCtx([]method{
		{"SetLimit", func(ctx context.Context) error { return s.SetLimit(ctx, 2) }},
		{"Limit", func(ctx context.Context) error { _, _, err := s.Limit(ctx); return err }},
	})
}

// limitFrozen are the cases of the calls about the limit.
func (open semaphoreOf) limitFrozen() []Case {
	cases := perDirection(func(t *Trial, fault func(Link)) {
		open.check(func(t sem) { semLimitCtx(t, fault) })(t)
	})
	for i := range cases {
		cases[i].Name = caseName("the limit", cases[i].Name) // a name is a namespace
	}
	return cases
}

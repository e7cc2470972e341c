package semaphore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

func TestNoMoreThanTheLimit(t *testing.T) {
	bubble(t, func(w *world) {
		c := []*client{w.client(), w.client(), w.client()}
		h1, h2, h3 := c[0].acquire(1, 3), c[0].acquire(1, 3), c[1].acquire(1, 3)
		var line []*attempt
		for i := range 6 {
			line = append(line, c[i%3].acquiring(w.ctx, 1, 3))
		}
		blocked(line...)
		last := h3.Token()
		for i, h := range []*semaphore.Held{h2, h1, h3} { // in no order
			w.release(h)
			in := line[i].granted()
			if in.Token() <= last || in.Permits() != 1 {
				t.Errorf("grant %d has token %d after %d", i, in.Token(), last)
			}
			last = in.Token()
			blocked(line[i+1:]...)
		}
		w.release(line[0].h, line[1].h, line[2].h)
		for _, a := range line[3:] {
			w.release(a.granted())
		}
		w.entries(0)
	})
}

// A large request is not overtaken by small ones that would fit, and when it
// gives up they come in, all at once.
func TestLargeRequestIsNotStarved(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		for _, c := range []*client{a, b} {
			small := a.acquire(1, 3)
			ctx, cancel := context.WithCancel(w.ctx)
			large := c.acquiring(ctx, 3, 3)
			s1, s2 := a.acquiring(w.ctx, 1, 3), b.acquiring(w.ctx, 1, 3)
			blocked(large, s1, s2)
			_, err := a.semaphore(3).TryAcquire(w.ctx, 1)
			w.is(err, coord.ErrBusy)
			cancel()
			large.failed(context.Canceled)
			w.release(s1.granted(), s2.granted())

			large = c.acquiring(w.ctx, 3, 3)
			s1, s2 = a.acquiring(w.ctx, 2, 3), b.acquiring(w.ctx, 2, 3)
			blocked(large, s1, s2)
			w.release(small)
			h := large.granted()
			blocked(s1, s2)
			w.release(h)
			h = s1.granted()
			blocked(s2)
			w.release(h)
			w.release(s2.granted())
			w.entries(0)
		}
	})
}

// Two who want both permits get them one after the other, and never one each.
func TestAllOrNothing(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(2, 2)
		second, third := b.acquiring(w.ctx, 2, 2), a.acquiring(w.ctx, 2, 2)
		blocked(second, third)
		w.release(h)
		h = second.granted()
		blocked(third)
		w.release(h)
		w.release(third.granted())
	})
}

func TestOneReleaseLetsSeveralIn(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(4, 4)
		in := []*attempt{b.acquiring(w.ctx, 1, 4), a.acquiring(w.ctx, 2, 4), b.acquiring(w.ctx, 1, 4)}
		out := b.acquiring(w.ctx, 1, 4)
		blocked(append(in, out)...)
		w.release(h)
		for _, one := range in {
			one.granted()
		}
		blocked(out)
		w.release(in[1].h)
		w.release(in[0].h, in[2].h, out.granted())
	})
}

func TestTryAcquire(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		s := b.semaphore(3)
		h, err := s.TryAcquire(w.ctx, 2)
		if err != nil || h.Permits() != 2 {
			t.Fatalf("%v, %v", h, err)
		}
		_, err = s.TryAcquire(w.ctx, 2)
		w.is(err, coord.ErrBusy)
		one, err := s.TryAcquire(w.ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		w.entries(2)
		waiting := a.acquiring(w.ctx, 2, 3)
		w.release(one)
		_, err = s.TryAcquire(w.ctx, 1) // fits, and somebody waits
		w.is(err, coord.ErrBusy)
		w.release(h)
		w.release(waiting.granted())
		w.entries(0)
	})
}

func TestContendersAndLimitShowPermits(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h1, h2 := a.acquire(2, 5), b.acquire(1, 5)
		w1, w2 := b.acquiring(w.ctx, 4, 5), a.acquiring(w.ctx, 1, 5)
		blocked(w1, w2)
		c, err := w.client().semaphore(5).Contenders(w.ctx)
		if err != nil || len(c.Holders) != 2 || len(c.Waiters) != 2 {
			t.Fatalf("%+v, %v; want two holders and two waiters", c, err)
		}
		if c.Holders[0].Permits != 2 || c.Holders[1].Permits != 1 || c.Waiters[0].Permits != 4 || c.Waiters[1].Permits != 1 ||
			c.Holders[0].Token != h1.Token() || c.Waiters[0].Owner.PID == 0 {
			t.Errorf("%+v", c)
		}
		w.uses(w.client(), 5, 3)
		w.release(h1, h2)
		w.release(w1.granted(), w2.granted())
	})
}

func TestInvalidArgumentsShowInEveryCall(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		never := func(context.Context, uint64) error { panic("called") }
		check := func(s *semaphore.Semaphore) {
			t.Helper()
			_, err1 := s.Acquire(w.ctx, 1)
			_, err2 := s.TryAcquire(w.ctx, 1)
			_, err3 := s.Contenders(w.ctx)
			_, _, err4 := s.Limit(w.ctx)
			err5, err6, err7 := s.SetLimit(w.ctx, 1), s.Revoke(w.ctx, 1, ""), s.Do(w.ctx, 1, never)
			for _, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
				w.is(err, coord.ErrInvalid)
			}
		}
		for _, name := range []string{"", strings.Repeat("x", 256)} {
			check(semaphore.New(c.Client, name, 1))
		}
		for _, limit := range []int{0, -1, semaphore.MaxLimit + 1} {
			check(semaphore.New(c.Client, "s", limit))
			w.is(c.semaphore(1).SetLimit(w.ctx, limit), coord.ErrInvalid)
			_, err := c.semaphore(1).Acquire(w.ctx, limit)
			w.is(err, coord.ErrInvalid)
		}
		// More than the limit never comes in, and is in nobody's way.
		h := c.acquire(1, 3)
		_, err := c.semaphore(3).Acquire(w.ctx, 4)
		w.is(err, coord.ErrInvalid)
		_, err = c.semaphore(3).TryAcquire(w.ctx, 4)
		w.is(err, coord.ErrInvalid)
		w.release(c.acquire(2, 3), h)
		most := semaphore.New(c.Client, "most", semaphore.MaxLimit)
		h, err = most.Acquire(w.ctx, semaphore.MaxLimit)
		if err != nil {
			t.Fatal(err)
		}
		_, err = most.TryAcquire(w.ctx, semaphore.MaxLimit) // and does not overflow
		w.is(err, coord.ErrBusy)
		w.release(h)
	})
}

// Each Acquire takes permits of its own, also under the context of another.
func TestNoReentry(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		outer := a.acquire(1, 2)
		inner, err := a.semaphore(2).Acquire(outer.Context(), 1)
		if err != nil || inner.Token() == outer.Token() {
			t.Fatal(err)
		}
		_, err = a.semaphore(2).TryAcquire(inner.Context(), 1)
		w.is(err, coord.ErrBusy)
		w.release(outer, inner)
	})
}

func TestDoReleases(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		s := a.semaphore(2)
		oops := errors.New("oops")
		err := s.Do(w.ctx, 2, func(_ context.Context, token uint64) error {
			if token == 0 {
				t.Error("no token")
			}
			_, err := a.semaphore(2).TryAcquire(w.ctx, 1)
			w.is(err, coord.ErrBusy)
			return oops
		})
		if err != oops {
			t.Errorf("Do returned %v; want fn's error as it is", err)
		}
		w.entries(0)
		func() {
			defer func() {
				if r := recover(); r != "boom" {
					t.Errorf("recovered %v", r)
				}
			}()
			_ = s.Do(w.ctx, 2, func(context.Context, uint64) error { panic("boom") })
		}()
		w.entries(0)
		err = s.Do(w.ctx, 1, func(ctx context.Context, _ uint64) error {
			w.store.Remove(namespace, dir, w.of("p")[0].Key)
			<-ctx.Done()
			return nil
		})
		w.is(err, coord.ErrNotHeld)
		w.is(err, coord.ErrRemoved)
	})
}

func TestRevocation(t *testing.T) {
	bubble(t, func(w *world) {
		a, c := w.client(), w.client()
		h, other := a.acquire(2, 3), a.acquire(1, 3)
		var asked coord.Revocation
		listening := w.attempt(func(at *attempt) { asked, at.err = h.Revoked(w.ctx) })
		deaf := w.attempt(func(at *attempt) { _, at.err = other.Revoked(w.ctx) })
		asking := w.attempt(func(at *attempt) { at.err = c.semaphore(3).Revoke(w.ctx, h.Token(), "upgrade") })
		<-listening.over
		if listening.err != nil || asked.Reason != "upgrade" || asked.By.PID != c.Owner().PID {
			t.Fatalf("%+v, %v", asked, listening.err)
		}
		blocked(asking, deaf)
		w.release(h)
		asking.granted()
		w.holds(other)
		w.release(other)
		<-deaf.over
		w.is(deaf.err, coord.ErrReleased)
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		h = a.acquire(1, 3)
		w.is(c.semaphore(3).Revoke(ctx, h.Token(), "nobody listens"), context.DeadlineExceeded)
		w.holds(h)
		w.release(h)
	})
}

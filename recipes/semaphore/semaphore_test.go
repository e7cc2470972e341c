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
			line = append(line, c[i%3].acquiring(w.Ctx, 1, 3))
		}
		blocked(line...)
		last := h3.Token()
		for i, h := range []*semaphore.Held{h2, h1, h3} { // in no order
			w.release(h)
			in := line[i].Granted()
			if in.Token() <= last || in.Permits() != 1 {
				t.Errorf("grant %d has token %d after %d", i, in.Token(), last)
			}
			last = in.Token()
			blocked(line[i+1:]...)
		}
		w.release(line[0].Held, line[1].Held, line[2].Held)
		for _, a := range line[3:] {
			w.release(a.Granted())
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
			ctx, cancel := context.WithCancel(w.Ctx)
			large := c.acquiring(ctx, 3, 3)
			s1, s2 := a.acquiring(w.Ctx, 1, 3), b.acquiring(w.Ctx, 1, 3)
			blocked(large, s1, s2)
			_, err := a.semaphore(3).TryAcquire(w.Ctx, 1)
			w.Is(err, coord.ErrBusy)
			cancel()
			large.Failed(context.Canceled)
			w.release(s1.Granted(), s2.Granted())

			large = c.acquiring(w.Ctx, 3, 3)
			s1, s2 = a.acquiring(w.Ctx, 2, 3), b.acquiring(w.Ctx, 2, 3)
			blocked(large, s1, s2)
			w.release(small)
			h := large.Granted()
			blocked(s1, s2)
			w.release(h)
			h = s1.Granted()
			blocked(s2)
			w.release(h)
			w.release(s2.Granted())
			w.entries(0)
		}
	})
}

// Two who want both permits get them one after the other, and never one each.
func TestAllOrNothing(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(2, 2)
		second, third := b.acquiring(w.Ctx, 2, 2), a.acquiring(w.Ctx, 2, 2)
		blocked(second, third)
		w.release(h)
		h = second.Granted()
		blocked(third)
		w.release(h)
		w.release(third.Granted())
	})
}

func TestOneReleaseLetsSeveralIn(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(4, 4)
		in := []*attempt{b.acquiring(w.Ctx, 1, 4), a.acquiring(w.Ctx, 2, 4), b.acquiring(w.Ctx, 1, 4)}
		out := b.acquiring(w.Ctx, 1, 4)
		blocked(append(in, out)...)
		w.release(h)
		for _, one := range in {
			one.Granted()
		}
		blocked(out)
		w.release(in[1].Held)
		w.release(in[0].Held, in[2].Held, out.Granted())
	})
}

func TestTryAcquire(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		s := b.semaphore(3)
		h, err := s.TryAcquire(w.Ctx, 2)
		if err != nil || h.Permits() != 2 {
			t.Fatalf("%v, %v", h, err)
		}
		_, err = s.TryAcquire(w.Ctx, 2)
		w.Is(err, coord.ErrBusy)
		one, err := s.TryAcquire(w.Ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		w.entries(2)
		waiting := a.acquiring(w.Ctx, 2, 3)
		w.release(one)
		_, err = s.TryAcquire(w.Ctx, 1) // fits, and somebody waits
		w.Is(err, coord.ErrBusy)
		w.release(h)
		w.release(waiting.Granted())
		w.entries(0)
	})
}

func TestContendersAndLimitShowPermits(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h1, h2 := a.acquire(2, 5), b.acquire(1, 5)
		w1, w2 := b.acquiring(w.Ctx, 4, 5), a.acquiring(w.Ctx, 1, 5)
		blocked(w1, w2)
		c, err := w.client().semaphore(5).Contenders(w.Ctx)
		if err != nil || len(c.Holders) != 2 || len(c.Waiters) != 2 {
			t.Fatalf("%+v, %v; want two holders and two waiters", c, err)
		}
		if c.Holders[0].Permits != 2 || c.Holders[1].Permits != 1 || c.Waiters[0].Permits != 4 || c.Waiters[1].Permits != 1 ||
			c.Holders[0].Token != h1.Token() || c.Waiters[0].Owner.PID == 0 {
			t.Errorf("%+v", c)
		}
		w.uses(w.client(), 5, 3)
		w.release(h1, h2)
		w.release(w1.Granted(), w2.Granted())
	})
}

func TestInvalidArgumentsShowInEveryCall(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		never := func(context.Context, uint64) error { panic("called") }
		check := func(s *semaphore.Semaphore) {
			t.Helper()
			_, err1 := s.Acquire(w.Ctx, 1)
			_, err2 := s.TryAcquire(w.Ctx, 1)
			_, err3 := s.Contenders(w.Ctx)
			_, _, err4 := s.Limit(w.Ctx)
			err5, err6, err7 := s.SetLimit(w.Ctx, 1), s.Revoke(w.Ctx, 1, ""), s.Do(w.Ctx, 1, never)
			for _, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
				w.Is(err, coord.ErrInvalid)
			}
		}
		for _, name := range []string{"", strings.Repeat("x", 256)} {
			check(semaphore.New(c.Client, name, 1))
		}
		tooMany := int64(semaphore.MaxLimit) + 1 // negative as an int of 32 bits
		for _, limit := range []int{0, -1, int(tooMany)} {
			check(semaphore.New(c.Client, "s", limit))
			w.Is(c.semaphore(1).SetLimit(w.Ctx, limit), coord.ErrInvalid)
			_, err := c.semaphore(1).Acquire(w.Ctx, limit)
			w.Is(err, coord.ErrInvalid)
		}
		// More than the limit never comes in, and is in nobody's way.
		h := c.acquire(1, 3)
		_, err := c.semaphore(3).Acquire(w.Ctx, 4)
		w.Is(err, coord.ErrInvalid)
		_, err = c.semaphore(3).TryAcquire(w.Ctx, 4)
		w.Is(err, coord.ErrInvalid)
		w.release(c.acquire(2, 3), h)
		most := semaphore.New(c.Client, "most", semaphore.MaxLimit)
		h, err = most.Acquire(w.Ctx, semaphore.MaxLimit)
		if err != nil {
			t.Fatal(err)
		}
		_, err = most.TryAcquire(w.Ctx, semaphore.MaxLimit) // and does not overflow
		w.Is(err, coord.ErrBusy)
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
		w.Is(err, coord.ErrBusy)
		w.release(outer, inner)
	})
}

func TestDoReleases(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		s := a.semaphore(2)
		oops := errors.New("oops")
		err := s.Do(w.Ctx, 2, func(_ context.Context, token uint64) error {
			if token == 0 {
				t.Error("no token")
			}
			_, err := a.semaphore(2).TryAcquire(w.Ctx, 1)
			w.Is(err, coord.ErrBusy)
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
			_ = s.Do(w.Ctx, 2, func(context.Context, uint64) error { panic("boom") })
		}()
		w.entries(0)
		err = s.Do(w.Ctx, 1, func(ctx context.Context, _ uint64) error {
			w.Remove(w.of("p")[0].Key)
			<-ctx.Done()
			return nil
		})
		w.Is(err, coord.ErrNotHeld)
		w.Is(err, coord.ErrRemoved)
	})
}

func TestRevocation(t *testing.T) {
	bubble(t, func(w *world) {
		a, c := w.client(), w.client()
		h, other := a.acquire(2, 3), a.acquire(1, 3)
		var asked coord.Revocation
		listening := w.attempt(func(at *attempt) { asked, at.Err = h.Revoked(w.Ctx) })
		deaf := w.attempt(func(at *attempt) { _, at.Err = other.Revoked(w.Ctx) })
		asking := w.attempt(func(at *attempt) { at.Err = c.semaphore(3).Revoke(w.Ctx, h.Token(), "upgrade") })
		<-listening.Over
		if listening.Err != nil || asked.Reason != "upgrade" || asked.By.PID != c.Owner().PID {
			t.Fatalf("%+v, %v", asked, listening.Err)
		}
		blocked(asking, deaf)
		w.release(h)
		asking.Granted()
		w.Holds(other)
		w.release(other)
		<-deaf.Over
		w.Is(deaf.Err, coord.ErrReleased)
		ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
		defer cancel()
		h = a.acquire(1, 3)
		w.Is(c.semaphore(3).Revoke(ctx, h.Token(), "nobody listens"), context.DeadlineExceeded)
		w.Holds(h)
		w.release(h)
	})
}

package conformance

import (
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// rwDowngradesThrough downgrades while something goes wrong: after an error the lock is
// held to write as it was, unless it was lost.
func rwDowngradesThrough(mishaps ...mishap) func(rw) {
	return func(t rw) {
		third := t.Client()
		t.steps(func(s *step) {
			w := t.take(t.write(s.client))
			next := t.join(t.ctx, "the writer right behind", t.write(third), 2)
			s.armed.Store(true)
			down, err := t.open(s.client, name).Downgrade(s.ctx, w)
			t.bears(s, "Downgrade", err)
			if s.lost.Load() != nil {
				if err == nil {
					t.ends(down, "a writer that was downgraded while its session ended", coord.ErrSessionLost)
				}
				h := t.wins(next)
				t.stay([]subject.Hold{h})
				t.release(h)
				t.empty()
				return
			}
			if err != nil {
				t.holds(w)
				t.settles(func() error { t.entries(2); return nil })
				t.waits(next)
				down = t.downgrade(s.client, w)
			}
			t.ends(w, "the write hold after Downgrade", coord.ErrReleased)
			t.entries(2)
			t.waits(next)
			t.holds(down)
			t.release(down, w)
			t.release(t.wins(next))
			t.empty()
		}, mishaps...)
	}
}

// proclaimsThrough proclaims while something goes wrong.
func proclaimsThrough(mishaps ...mishap) func(poll) {
	return func(t poll) {
		third := t.Client()
		t.steps(func(s *step) {
			l := t.elect(s.client, "0")
			s.armed.Store(true)
			err := l.Proclaim(s.ctx, []byte("1"))
			t.bears(s, "Proclaim", err)
			if s.lost.Load() != nil {
				t.ends(l, "a leader whose session ended", coord.ErrSessionLost)
				if err := l.Proclaim(t.ctx, []byte("2")); !errors.Is(err, coord.ErrNotHeld) {
					t.Fatalf("Proclaim after the session's end returned %s; want ErrNotHeld", errorOf(err))
				}
				t.empty()
				return
			}
			if err == nil {
				t.Eventually(t.patience(), t.leads(third, "1"))
			}
			t.proclaim(l, "2")
			t.settles(t.leads(third, "2"))
			t.resign(l)
			t.empty()
		}, mishaps...)
	}
}

// limitsThrough sets and asks for the limit while something goes wrong.
func limitsThrough(mishaps ...mishap) func(sem) {
	return func(t sem) {
		third := t.open(t.Client(), name, 9)
		t.steps(func(s *step) {
			mine := t.open(s.client, name, 9)
			t.set(mine, 2)
			s.armed.Store(true)
			failed := mine.SetLimit(s.ctx, 4)
			limit, _, asked := mine.Limit(s.ctx)
			t.bears(s, "SetLimit", failed)
			t.bears(s, "Limit", asked)
			if failed == nil && asked == nil && limit != 4 {
				t.Fatalf("Limit is %d after the limit was set to 4", limit)
			}
			t.Eventually(t.patience()+t.h.Expiry, func() error {
				now, _, err := third.Limit(t.ctx)
				if err != nil || now != 4 && (now != 2 || failed == nil) {
					return fmt.Errorf("the limit is %d, %s; it was 2 until SetLimit(4) returned %s, and Limit %d, when %s (number %d)",
						now, errorOf(err), errorOf(failed), limit, s.mishap.name, s.number)
				}
				return nil
			})
			t.set(mine, 6)
			t.inUse(third, 6, 0)
			t.gone(s.client)
			t.notices(0)
		}, mishaps...)
	}
}

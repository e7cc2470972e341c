package semaphore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/queue"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

func (s *schedule) acquire(number, k int, try bool) {
	ctx, cancel := context.WithCancel(s.w.ctx)
	if s.rng.IntN(3) == 0 {
		ctx, cancel = context.WithTimeout(s.w.ctx, time.Duration(s.rng.IntN(5000))*time.Millisecond)
	}
	n := 1 + s.rng.IntN(s.limit)
	call, what := s.sems[k].Acquire, "acquire"
	if try {
		call, what = s.sems[k].TryAcquire, "try"
	}
	me := &waiter{number: number, cancel: cancel}
	s.mu.Lock()
	s.log("%d: %s %d of %d", k, what, number, n)
	s.waiting = append(s.waiting, me)
	s.mu.Unlock()
	go func() {
		defer cancel()
		h, err := call(ctx, n)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting = slices.DeleteFunc(s.waiting, func(w *waiter) bool { return w == me })
		if err != nil {
			s.log("%d: %d failed: %v", k, number, err)
			s.excused(err)
			return
		}
		s.granted(k, number, h)
	}()
}

// excused wants an Acquire to have failed for a reason that there was.
func (s *schedule) excused(err error) {
	for _, e := range []error{context.Canceled, context.DeadlineExceeded, coord.ErrSessionLost, coord.ErrRemoved,
		coord.ErrBusy, coord.ErrUnavailable, coord.ErrUncertain} {
		if errors.Is(err, e) {
			return
		}
	}
	if !s.changes || !errors.Is(err, coord.ErrInvalid) { // more than the limit that was lowered
		s.wrong("there was no reason for %v", err)
	}
}

// granted checks the model: what is held is within the limit, and so is what
// stands in line up to the one who came in, so it has overtaken nobody.
func (s *schedule) granted(k, number int, h *semaphore.Held) {
	s.log("%d: %d granted %d with token %d", k, number, h.Permits(), h.Token())
	s.held = append(s.held, h)
	sum := 0
	for _, other := range s.held {
		if other.Err() == nil && !s.doomed[other.Token()] && !s.ended[other.Session().ID()] {
			sum += other.Permits()
		}
	}
	if sum > s.most {
		s.wrong("%d permits are held of %d", sum, s.most)
	}
	line := s.w.line()
	own := slices.IndexFunc(line, func(n driver.Node) bool { return n.Token == h.Token() })
	ahead := 0
	for _, n := range line[:own+1] {
		if queue.Kind(n) == "p" {
			ahead += permits(n)
		}
	}
	if ahead > s.most {
		s.wrong("%d has come in as the last of %d permits of %d", number, ahead, s.most)
	}
}

func permits(n driver.Node) (permits int) {
	_, _ = fmt.Sscanf(string(queue.Value(n)), "%d/", &permits)
	return permits
}

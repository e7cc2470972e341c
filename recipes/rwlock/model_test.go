package rwlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/queue"
	"github.com/coordkit/coordkit/recipes/rwlock"
)

// holding is a hold in the model.
type holding struct {
	held
	of      int // the client's number
	session string
	writes  bool
	write   *rwlock.WriteHeld // nil for a reader
}

// acquire begins one of the four ways to acquire the lock.
func (s *schedule) acquire(number, k int) {
	ctx, cancel := context.WithCancel(s.w.ctx)
	if s.rng.IntN(3) == 0 {
		ctx, cancel = context.WithTimeout(s.w.ctx, time.Duration(s.rng.IntN(5000))*time.Millisecond)
	}
	l := s.clients[k].locker()
	name, call := "RLock", rcall(l.RLock)
	switch p := s.rng.IntN(10); {
	case p < 4:
		name, call = "Lock", wcall(l.Lock)
	case p == 4:
		name, call = "TryLock", wcall(l.TryLock)
	case p == 5:
		name, call = "TryRLock", rcall(l.TryRLock)
	}
	s.begin(number, k, name, cancel, func() (*holding, error) { return call(ctx) })
}

func rcall(call func(context.Context) (*rwlock.ReadHeld, error)) func(context.Context) (*holding, error) {
	return func(ctx context.Context) (*holding, error) {
		h, err := call(ctx)
		if err != nil {
			return nil, err
		}
		return &holding{held: h, session: h.Session().ID()}, nil
	}
}

func wcall(call func(context.Context) (*rwlock.WriteHeld, error)) func(context.Context) (*holding, error) {
	return func(ctx context.Context) (*holding, error) {
		h, err := call(ctx)
		if err != nil {
			return nil, err
		}
		return &holding{held: h, session: h.Session().ID(), writes: true, write: h}, nil
	}
}

func (s *schedule) begin(number, k int, name string, cancel context.CancelFunc, call func() (*holding, error)) {
	me := &waiter{number: number, cancel: cancel}
	s.mu.Lock()
	s.log("%d: %s %d", k, name, number)
	s.waiting = append(s.waiting, me)
	s.mu.Unlock()
	go func() {
		defer cancel()
		h, err := call()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting = slices.DeleteFunc(s.waiting, func(w *waiter) bool { return w == me })
		if err != nil {
			s.log("%d: %d failed: %v", k, number, err)
			s.excused(err)
			return
		}
		h.of = k
		s.granted(number, h)
	}()
}

// downgrade begins to make a reader of a writer.
func (s *schedule) downgrade() {
	s.mu.Lock()
	var writers []*holding
	for _, h := range s.held {
		if h.write != nil {
			writers = append(writers, h)
		}
	}
	s.mu.Unlock()
	if len(writers) == 0 {
		return
	}
	h := writers[s.rng.IntN(len(writers))]
	ctx, cancel := context.WithTimeout(s.w.ctx, time.Duration(s.rng.IntN(2000))*time.Millisecond)
	s.begin(-1, h.of, fmt.Sprintf("downgrade the one with token %d", h.Token()), cancel, func() (*holding, error) {
		return rcall(h.write.Downgrade)(ctx)
	})
}

// reenter acquires under a hold's context: to read under any, to write under a
// writer's.
func (s *schedule) reenter(number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) == 0 {
		return
	}
	outer := s.held[s.rng.IntN(len(s.held))]
	l := s.clients[outer.of].locker()
	var h *holding
	var err error
	write := s.rng.IntN(2) == 0
	if write {
		h, err = wcall(l.Lock)(outer.Context())
	} else {
		h, err = rcall(l.RLock)(outer.Context())
	}
	s.log("%d: re-enter with %d (to write: %v) under token %d: %v", outer.of, number, write, outer.Token(), err)
	switch {
	case err == nil && h.Token() != outer.Token():
		s.wrong("re-entered with token %d under %d", h.Token(), outer.Token())
	case err == nil:
		h.of = outer.of
		h.writes = outer.writes // what is shared stays what it is
		s.granted(number, h)
	case write && !outer.writes && outer.Err() == nil && !errors.Is(err, rwlock.ErrUpgrade):
		s.wrong("an upgrade failed with %v", err)
	case (!write || outer.writes) && outer.Err() == nil:
		s.wrong("re-entry failed with %v", err)
	}
}

// excused wants an attempt to have failed for a reason that there was.
func (s *schedule) excused(err error) {
	for _, e := range []error{context.Canceled, context.DeadlineExceeded, coord.ErrSessionLost, coord.ErrRemoved,
		coord.ErrBusy, coord.ErrUnavailable, coord.ErrUncertain, coord.ErrReleased} {
		if errors.Is(err, e) {
			return
		}
	}
	if !strings.Contains(err.Error(), "only the last hold of it can be traded") {
		s.wrong("there was no reason for %v", err)
	}
}

// granted checks the model: a writer is alone, and nobody has overtaken anybody
// who stands in its way in the line.
func (s *schedule) granted(number int, h *holding) {
	s.log("%d: %d granted with token %d, to write: %v", h.of, number, h.Token(), h.writes)
	s.held = append(s.held, h)
	if !s.lives(h) {
		return
	}
	for _, other := range s.held {
		if other.Token() != h.Token() && (h.writes || other.writes) && s.lives(other) {
			s.wrong("%d holds with token %d (to write: %v) beside token %d (to write: %v)",
				number, h.Token(), h.writes, other.Token(), other.writes)
		}
	}
	for _, n := range s.w.line() {
		// Seq and token are one in this store. What stands in for a writer may
		// be left of a downgrade that came to nothing: then nobody holds it.
		if n.Seq < h.Token() && (h.writes && queue.Kind(n) != "d" || queue.Kind(n) == "w") {
			s.wrong("%d has come in with token %d past %s with token %d", number, h.Token(), n.ID, n.Token)
		}
	}
}

// lives reports whether a hold is one, as far as its owner can know.
func (s *schedule) lives(h *holding) bool {
	return h.Err() == nil && !s.doomed[h.Token()] && !s.ended[h.session]
}

package conformance

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// A call of a recipe makes several of the driver. What must hold when one of these goes
// wrong is tried with each of them in turn, whichever they are.

// step is a call of the driver, by its number, and a client that makes it.
type step struct {
	client *coord.Client
	ctx    context.Context // of the recipe's call
	cancel context.CancelFunc
	armed  atomic.Bool            // calls are counted
	ending sync.Mutex             // held while the session is ended, and while armed is cleared
	lost   atomic.Pointer[string] // the ID of the session that was ended in the store; nil: none
	hit    atomic.Pointer[string] // the method that the mishap happened to; nil: it has not
	dir    string                 // the line's
	gone   atomic.Bool            // the client's entry was removed
	passed func(c *request)       // if not nil, is called after each call that succeeds

	left     atomic.Pointer[time.Time] // when the recipe's call was given up during a call; nil: it was not
	once     sync.Once
	over     chan struct{} // closed when the recipe's call has returned
	returned time.Time     // when it has

	number, calls int64
	mishap        mishap
}

// mishap is what happens to a call of the driver.
type mishap struct {
	name    string
	happens func(ctx context.Context, t *Trial, s *step, c *request, next func() error) error
	bears   error // what the recipe's call may fail with; nil: it is to outlive this
}

var errOnPurpose = errors.New("made to fail")

var (
	whenRequestLost = mishap{"a request was lost", func(_ context.Context, _ *Trial, _ *step, c *request, next func() error) error {
		if c.op == "Watch" { // which heals by itself
			return next()
		}
		return &driver.Error{Op: "call", Kind: driver.ErrUnavailable, Err: errOnPurpose}
	}, nil}
	whenReplyLost = mishap{"a reply was lost", func(_ context.Context, _ *Trial, _ *step, _ *request, next func() error) error {
		if err := next(); err != nil {
			return err
		}
		return &driver.Error{Op: "call", Kind: driver.ErrUncertain, Err: errOnPurpose}
	}, nil}
	whenRefused = mishap{"the store refused a call", func(context.Context, *Trial, *step, *request, func() error) error {
		return &driver.Error{Op: "call", Kind: driver.ErrDenied, Err: errOnPurpose}
	}, coord.ErrDenied}
	whenGivenUpBefore = mishap{"it was given up before a call", func(_ context.Context, _ *Trial, s *step, _ *request, next func() error) error {
		s.cancel()
		return next()
	}, context.Canceled}
	whenGivenUpAfter = mishap{"it was given up after a call", func(_ context.Context, _ *Trial, s *step, _ *request, next func() error) error {
		defer s.cancel()
		return next()
	}, context.Canceled}
	// The call does not return before its ctx ends, or the recipe's call.
	whenGivenUpDuring = mishap{"it was given up during a call", func(ctx context.Context, _ *Trial, s *step, _ *request, next func() error) error {
		now := time.Now()
		s.left.Store(&now)
		s.cancel()
		select { // and then the call is made
		case <-ctx.Done():
		case <-s.over:
		}
		return next()
	}, context.Canceled}
	whenEndedBefore = mishap{"its session ended before a call", func(_ context.Context, t *Trial, s *step, c *request, next func() error) error {
		s.end(t, c)
		return next()
	}, coord.ErrSessionLost}
	whenEndedAfter = mishap{"its session ended after a call", func(_ context.Context, t *Trial, s *step, c *request, next func() error) error {
		defer s.end(t, c)
		return next()
	}, coord.ErrSessionLost}
	whenEndKnown = mishap{"its session's end was known after a call", func(_ context.Context, t *Trial, s *step, c *request, next func() error) error {
		err := next()
		if s.end(t, c); s.lost.Load() != nil {
			t.within(t.h.Expiry, c.session.Done())
			t.pause()
		}
		return err
	}, coord.ErrSessionLost}
	whenRemoved = mishap{"an operator removed its entry after a call", func(_ context.Context, t *Trial, s *step, c *request, next func() error) error {
		defer s.remove(t, c)
		return next()
	}, coord.ErrRemoved}
)

// end ends the session of a call in the store, if it is of one and the recipe's call
// has not been looked at: a call of the driver can outlive it.
func (s *step) end(t *Trial, c *request) {
	s.ending.Lock()
	defer s.ending.Unlock()
	if c.session == nil || c.session.Err() != nil || !s.armed.Load() {
		return
	}
	id := c.session.ID()
	s.lost.Store(&id)
	t.expire(c.session)
}

// remove has an operator remove what the session of a call has in line.
func (s *step) remove(t *Trial, c *request) {
	s.ending.Lock()
	defer s.ending.Unlock()
	if c.session == nil || !s.armed.Load() {
		return
	}
	for _, n := range t.Nodes(s.dir) {
		if n.Session == c.session.ID() {
			t.removeNode(n)
			s.gone.Store(true)
		}
	}
}

// returns notes that the recipe's call has returned.
func (s *step) returns() {
	s.once.Do(func() {
		s.returned = time.Now()
		close(s.over)
	})
}

// timed is a want that notes when its call has returned.
func (s *step) timed(w subject.Want) subject.Want {
	acquire, try, revoke := w.Acquire, w.Try, w.Revoke
	w.Acquire = func(ctx context.Context) (subject.Hold, error) {
		defer s.returns()
		return acquire(ctx)
	}
	w.Try = func(ctx context.Context) (subject.Hold, error) {
		defer s.returns()
		return try(ctx)
	}
	w.Revoke = func(ctx context.Context, token uint64, reason string) error {
		defer s.returns()
		return revoke(ctx, token, reason)
	}
	return w
}

// steps plays a scene with each call of the driver that the scene makes while it is
// armed, and lets each of some mishaps happen to it.
func (t *Trial) steps(scene func(*step), mishaps ...mishap) {
	const most = 30 // of calls that are made again and again there are more
	for _, m := range mishaps {
		for number := int64(1); number < most; number++ {
			s := &step{number: number, mishap: m, over: make(chan struct{})}
			s.ctx, s.cancel = context.WithCancel(t.ctx)
			s.client = t.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
				made := func() error {
					err := next(ctx)
					if err == nil && s.passed != nil {
						s.passed(c)
					}
					return err
				}
				if !s.armed.Load() || atomic.AddInt64(&s.calls, 1) != number {
					return made()
				}
				s.hit.Store(&c.op)
				return m.happens(ctx, t, s, c, made)
			})
			scene(s)
			s.cancel()
			_ = s.client.Close(t.ctx) // what Close owes is M18's matter
			if atomic.LoadInt64(&s.calls) < number {
				break // nothing has happened
			}
		}
	}
}

// bears fails the trial if the recipe's call may not end with err, or has not ended with its
// ctx.
func (t *Trial) bears(s *step, what string, err error) {
	s.returns()
	if left := s.left.Load(); left != nil && s.returned.Sub(*left)-t.pulse.lag(*left) > 100*time.Millisecond {
		t.Fatalf("%s did not return within 100 ms of its ctx's end when %s (number %d)", what, s.mishap.name, s.number)
	}
	s.ending.Lock()
	s.armed.Store(false)
	s.ending.Unlock()
	over := s.lost.Load() != nil
	switch m := s.mishap; {
	case err == nil:
	case !over && !s.gone.Load() && errors.Is(err, coord.ErrNotHeld):
		t.Fatalf("%s returned %q when %s (number %d), and nothing was lost", what, err, m.name, s.number)
	case over && errors.Is(err, coord.ErrNotHeld):
	case m.bears == nil, m.bears == coord.ErrSessionLost && !over, !errors.Is(err, m.bears):
		t.Fatalf("%s returned %q when %s (number %d)", what, err, m.name, s.number)
	}
}

// givenUp is every way in which the recipe's call is given up.
func givenUp() []mishap { return []mishap{whenGivenUpBefore, whenGivenUpDuring, whenGivenUpAfter} }

// sessionEnds is every way in which the session ends.
func sessionEnds() []mishap { return []mishap{whenEndedBefore, whenEndedAfter, whenEndKnown} }

// trouble is every mishap that leaves the session alive.
func trouble() []mishap {
	return append(givenUp(), whenRequestLost, whenReplyLost, whenRefused)
}

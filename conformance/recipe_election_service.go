package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/recipes/election"
)

// term is a leadership of a Run whose function waits to be told what to return.
type term struct {
	l       subject.Leadership
	ctx     context.Context
	returns chan error
}

// running is a Run under way, with all that it tells.
type running struct {
	t     poll
	terms chan term
	err   error
	over  <-chan struct{}

	mu   sync.Mutex
	told []string // what was called, in order
	last error    // with which Defeated was called
	why  error    // and the leadership's
}

// runs begins a Run.
func (t poll) runs(ctx context.Context, c *coord.Client, value string) *running {
	return t.runsWith(ctx, c, []byte(value), t.h.TTL/50, t.h.TTL/10)
}

// runsWith begins a Run with bounds of its pauses.
func (t poll) runsWith(ctx context.Context, c *coord.Client, value []byte, least, most time.Duration) *running {
	r := &running{t: t, terms: make(chan term)}
	opts := &election.RunOptions{
		Elected: func(*election.Leadership) { r.tell("elected") },
		Defeated: func(l *election.Leadership, err error) {
			r.tell("defeated")
			r.mu.Lock()
			defer r.mu.Unlock()
			r.last, r.why = err, l.Err()
		},
		MinBackoff: least, MaxBackoff: most,
	}
	r.over = t.Go(func() {
		r.err = t.open(c, name).Run(ctx, value, func(ctx context.Context, l subject.Leadership) error {
			r.tell("begun")
			defer r.tell("ended")
			one := term{l, ctx, make(chan error, 1)}
			select {
			case r.terms <- one:
			case <-t.ctx.Done():
				return t.ctx.Err()
			}
			select {
			case err := <-one.returns:
				return err
			case <-t.ctx.Done():
				return t.ctx.Err()
			}
		}, opts)
	})
	return r
}

func (r *running) tell(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, what)
}

// begins waits for the function to run.
func (r *running) begins(what string) term {
	timer := time.NewTimer(r.t.patience() + r.t.h.Expiry)
	defer timer.Stop()
	select { // whichever is first: what does not begin in time does not begin
	case one := <-r.terms:
		return one
	case <-r.over:
		r.t.Fatalf("%s: Run has returned %s; want it to run its function", what, errorOf(r.err))
	case <-timer.C:
		r.t.Fatalf("%s: Run does not run its function", what)
	}
	return term{}
}

// ends waits for Run to return, and wants an error that Is all of some, or none.
func (r *running) ends(what string, want ...error) {
	if !r.t.within(r.t.patience()+r.t.h.Expiry, r.over) {
		r.t.Fatalf("%s: Run does not return", what)
	}
	for _, w := range want {
		if !errors.Is(r.err, w) {
			r.t.Fatalf("%s: Run returned %s; want an error that Is %q", what, errorOf(r.err), w)
		}
	}
	if len(want) == 0 && r.err != nil {
		r.t.Fatalf("%s: Run returned %q; want nil", what, r.err)
	}
}

// toldOf wants Run to have called these, in this order.
func (r *running) toldOf(want ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.told, want) {
		r.t.Fatalf("Run has called %v; want %v", r.told, want)
	}
}

// defeatedWith wants Defeated to have been called with these.
func (r *running) defeatedWith(why, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !errors.Is(r.why, why) || !errors.Is(r.last, err) || err == nil && r.last != nil {
		r.t.Fatalf("Defeated was called with the error %s of a leadership that ended with %s; want %v and %q",
			errorOf(r.last), errorOf(r.why), err, why)
	}
}

var errOops = errors.New("oops")

// runReturns has functions return while their leaderships stand.
func runReturns(t poll) {
	for _, want := range []error{nil, errOops} {
		c := t.Client()
		r := t.runs(t.ctx, c, "v")
		one := r.begins("a Run where nobody leads")
		if err := t.leads(t.Client(), "v")(); err != nil {
			t.Fatalf("while a Run's function runs: %v", err)
		}
		other := t.Go(func() {
			_ = t.open(c, "other").Run(t.ctx, nil, func(context.Context, subject.Leadership) error { return nil }, nil)
		})
		t.Trial.join("a Run of another election, beside the first one", other)
		one.returns <- want
		if want == nil {
			r.ends("a Run whose function has returned nil")
		} else {
			r.ends("a Run whose function has returned an error", want)
		}
		t.ends(one.l, "the leadership of a function that has returned", coord.ErrReleased)
		r.toldOf("elected", "begun", "ended")
		t.empty()
	}
}

// runStepsDown lets another lead in between.
func runStepsDown(t poll) {
	r := t.runs(t.ctx, t.Client(), "v")
	one := r.begins("a Run where nobody leads")
	next := t.standing(t.ctx, t.Client(), "b", 2)
	why := fmt.Errorf("maintenance: %w", election.ErrStepDown)
	one.returns <- why
	b := t.elected(next, "the next in line, when a Run's function has stepped down")
	t.candidates(2) // it stands again
	r.toldOf("elected", "begun", "ended", "defeated")
	r.defeatedWith(coord.ErrReleased, why)
	t.resign(b)
	two := r.begins("a Run that stood again")
	if two.l.Token() <= b.Token() {
		t.Fatalf("a Run that stood again has token %d after %d", two.l.Token(), b.Token())
	}
	two.returns <- nil
	r.ends("a Run whose function has returned nil")
	r.toldOf("elected", "begun", "ended", "defeated", "elected", "begun", "ended")
	t.empty()
}

// runIsToldOfLoss removes the entries of leaders.
func runIsToldOfLoss(t poll) {
	ctx, stop := context.WithCancelCause(t.ctx)
	defer stop(nil)
	r := t.runs(ctx, t.Client(), "v")
	for range 2 {
		one := r.begins("a Run where nobody leads")
		t.removeNode(t.candidates(1)[0])
		if !t.within(t.patience()+t.h.TTL, one.ctx.Done()) {
			t.Fatalf("the ctx of a Run's function does not end when its leadership was lost")
		}
		if !errors.Is(context.Cause(one.ctx), coord.ErrRemoved) {
			t.Fatalf("the ctx of a Run's function ended for %q; want the loss", context.Cause(one.ctx))
		}
		one.returns <- errOops
	}
	two := r.begins("a Run whose leadership was lost twice")
	r.defeatedWith(coord.ErrRemoved, errOops)
	stop(errOops)
	if !t.within(t.patience(), two.ctx.Done()) {
		t.Fatalf("the ctx of a Run's function does not end with Run's")
	}
	t.holds(two.l)
	two.returns <- two.ctx.Err()
	r.ends("a Run whose ctx has ended", context.Canceled)
	r.toldOf("elected", "begun", "ended", "defeated", "elected", "begun", "ended", "defeated", "elected", "begun", "ended")
	t.empty()
}

// runStops ends Run's ctx wherever it is.
func runStops(t poll) {
	l := t.elect(t.Client(), "a")
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	r := t.runs(ctx, t.Client(), "b")
	t.candidates(2)
	stop()
	r.ends("a Run that waits to be elected, whose ctx has ended", context.Canceled)
	r.toldOf()
	t.candidates(1)
	t.resign(l)

	due, cancel := context.WithTimeout(t.ctx, t.h.TTL/2)
	defer cancel()
	r = t.runs(due, t.Client(), "b")
	one := r.begins("a Run where nobody leads")
	if _, any := one.ctx.Deadline(); !any {
		t.Fatalf("the ctx of a Run's function has no deadline, and Run's has")
	}
	<-due.Done()
	one.returns <- errOops
	r.ends("a Run whose deadline has passed", context.DeadlineExceeded, errOops)
	t.empty()
	runStopsPausing(t)
}

// runStopsPausing ends Run's ctx in a pause between two campaigns, which is a long one.
func runStopsPausing(t poll) {
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	r := t.runsWith(ctx, t.Client(), []byte("v"), time.Hour, time.Hour)
	r.begins("a Run where nobody leads").returns <- election.ErrStepDown
	t.empty()
	t.Eventually(t.patience(), func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if n := len(r.told); n < 4 {
			return fmt.Errorf("Run has called %v, and not Defeated", r.told)
		}
		return nil
	})
	stop()
	r.ends("a Run that pauses, whose ctx has ended", context.Canceled)
	r.toldOf("elected", "begun", "ended", "defeated")
}

// runEndsForGood meets what another campaign does not mend.
func runEndsForGood(t poll) {
	leading, standing := t.Client(), t.Client()
	a := t.runs(t.ctx, leading, "a")
	one := a.begins("a Run where nobody leads")
	b := t.runs(t.ctx, standing, "b")
	t.candidates(2)
	if err := standing.Close(t.ctx); err != nil {
		t.Fatalf("Close: %v", err)
	}
	b.ends("a Run that waits, whose client was closed", coord.ErrClosed)
	closes := func(what string, c *coord.Client, r *running, one term, err error) {
		closed := t.Go(func() { _ = c.Close(t.ctx) })
		if !t.within(t.patience(), one.ctx.Done()) {
			t.Fatalf("the ctx of a Run's function does not end when its client is closed")
		}
		one.returns <- err
		r.ends(what, coord.ErrClosed)
		t.Trial.join("Close", closed)
	}
	closes("a Run that leads, whose client was closed", leading, a, one, errOops)
	if !errors.Is(a.err, errOops) {
		t.Fatalf("a Run that leads, whose client was closed, returned %q; want its function's error, too", a.err)
	}
	c := t.Client()
	r := t.runs(t.ctx, c, "c")
	closes("a Run that leads and returns its ctx's error, whose client was closed", c, r, r.begins("a Run where nobody leads"), context.Canceled)
	if errors.Is(r.err, context.Canceled) {
		t.Fatalf("a Run whose client was closed returned %q, which Is context.Canceled; its own ctx has not ended", r.err)
	}
	for _, why := range []error{coord.ErrDenied, coord.ErrUnsupported} {
		refused := t.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
			if c.op == "Create" || c.op == "CreateList" {
				return &driver.Error{Op: c.op, Kind: why, Err: errOnPurpose}
			}
			return next(ctx)
		})
		t.runs(t.ctx, refused, "v").ends("a Run that the store refuses to let campaign", why)
	}
	t.runs(t.ctx, t.Client(), string(make([]byte, coord.MaxValue+1))).ends("a Run with a value that is too long", coord.ErrInvalid)
	t.empty()
}

// runPauses counts the campaigns of a Run that the store does not serve.
func runPauses(t poll) {
	c, o := t.interrupted()
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	r := t.runs(ctx, c, "v")
	one := r.begins("a Run where nobody leads")
	o.begin()
	one.returns <- election.ErrStepDown
	t.sleep(2 * t.h.TTL)
	o.end()
	two := r.begins("a Run, when the store is back")
	stop()
	two.returns <- nil
	r.ends("a Run whose ctx has ended", context.Canceled)
	t.empty()
}

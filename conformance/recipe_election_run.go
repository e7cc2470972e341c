package conformance

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

// electionRunRules are the promises of Run to services.
func electionRunRules(open electionOf) []Rule {
	return []Rule{
		{
			ID:   "K18",
			Text: "Run campaigns again after a loss, runs no two functions at a time, and resigns only after its function.",
			Cases: []Case{
				{Name: "ended by the store", Needs: NeedExpire, Check: open.check(runsAgain)},
				{Name: "a function that does not heed its ctx", Check: open.check(runResignsLast)},
				{Name: "a function that outlives its leadership", Needs: NeedExpire, Check: open.check(runsOne)},
				{Name: "its ctx ends beside such a function", Needs: NeedRemoveNode, Check: open.check(runStopsBeside)},
				{Name: "a function that panics", Check: open.check(runResignsAfterPanic)},
				{Name: "Elected panics", Check: open.check(runResignsAfterElected)},
				{Name: "a function that returns", Check: open.check(runReturns)},
				{Name: "a function that steps down", Check: open.check(runStepsDown)},
				{Name: "a function that is told of a loss", Needs: NeedRemoveNode, Check: open.check(runIsToldOfLoss)},
				{Name: "a value that is written over", Check: open.check(runKeepsValue)},
				{Name: "its ctx ends", Check: open.check(runStops)},
				{Name: "no campaign helps", Check: open.check(runEndsForGood)},
			},
		},
	}
}

// runsAgain has two Runs on each of two clients, whose sessions the store ends.
func runsAgain(t poll) {
	inside := make([]atomic.Int32, 2)
	terms := make(chan subject.Leadership)
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	var all []<-chan struct{}
	for i := range inside {
		c := t.Client()
		for range 2 {
			all = append(all, t.Go(func() {
				err := t.open(c, name).Run(ctx, nil, func(ctx context.Context, l subject.Leadership) error {
					if inside[i].Add(1) > 1 {
						t.decide(Failed, "two functions run at a time on one client")
					}
					defer inside[i].Add(-1)
					select {
					case terms <- l:
					case <-ctx.Done():
					}
					<-ctx.Done()
					return nil
				}, nil)
				if !errors.Is(err, context.Canceled) {
					t.decide(Failed, "Run returned "+errorOf(err)+"; want its ctx's error")
				}
			}))
		}
	}
	for range 5 {
		select {
		case l := <-terms:
			t.expire(l.Session().Driver())
		case <-t.ctx.Done():
			t.Fatalf("nobody is elected any more")
		}
	}
	stop()
	for _, one := range all {
		if !t.within(t.patience(), one) {
			t.Fatalf("Run does not return when its ctx has ended")
		}
	}
}

// service is a function for Run that goes on until it is let go, whatever becomes
// of its leadership.
type service struct {
	begun  chan subject.Leadership
	leave  chan struct{}
	inside atomic.Int32
}

func newService() *service {
	return &service{begun: make(chan subject.Leadership, 10), leave: make(chan struct{})}
}

// serves begins a Run of the service.
func (s *service) serves(t poll, ctx context.Context, c *coord.Client) (over <-chan struct{}) {
	return t.Go(func() {
		_ = t.open(c, name).Run(ctx, nil, func(_ context.Context, l subject.Leadership) error {
			if s.inside.Add(1) > 1 {
				t.decide(Failed, "two functions run at a time on one client")
			}
			defer s.inside.Add(-1)
			s.begun <- l
			select { // it heeds no ctx but the trial's
			case <-s.leave:
			case <-t.ctx.Done():
			}
			return nil
		}, nil)
	})
}

// begins waits for the function to run.
func (s *service) begins(t poll, what string) subject.Leadership {
	select {
	case l := <-s.begun:
		return l
	case <-t.ctx.Done():
		t.Fatalf("%s: its function does not run", what)
		return nil
	}
}

func runResignsLast(t poll) {
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	s := newService()
	run := s.serves(t, ctx, t.Client())
	l := s.begins(t, "Run")
	next := t.standing(t.ctx, t.Client(), "", 2)
	stop()
	t.settles(func() error { t.candidates(2); return l.Err() })
	t.stillStands(next, "the next in line, while the function runs")
	close(s.leave)
	t.resign(t.elected(next, "the next in line"))
	if !t.within(t.patience(), run) {
		t.Fatalf("Run does not return")
	}
}

// runsOne has a second Run on the client of a function that goes on when its
// leadership is lost. Elected, it must not run its function, and must not keep
// others from leading.
func runsOne(t poll) {
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	live, stopFirst := context.WithCancel(ctx)
	defer stopFirst()
	c, other := t.Client(), t.Client()
	s := newService()
	first := s.serves(t, live, c)
	l := s.begins(t, "the first Run")
	second := s.serves(t, ctx, c)
	t.candidates(2)
	between := t.standing(t.ctx, other, "", 3)
	t.expire(l.Session().Driver())
	b := t.elected(between, "the candidate of another client")
	t.candidates(2) // the second Run stands again
	t.resign(b)
	t.candidates(0) // it was elected, and lets others lead
	b = t.elect(other, "")
	t.settles(func() error { t.candidates(1); return b.Err() }) // it waits for the function before it stands again
	if len(s.begun) > 0 || s.inside.Load() != 1 {
		t.Fatalf("%d functions run; want the one whose leadership was lost", s.inside.Load())
	}
	stopFirst()
	close(s.leave)
	t.resign(b)
	s.begins(t, "the second Run, once the first one's function has returned")
	stop()
	for _, run := range []<-chan struct{}{first, second} {
		if !t.within(t.patience(), run) {
			t.Fatalf("Run does not return")
		}
	}
}

// runStopsBeside ends the ctx of a Run that was elected beside a function which outlives its
// leadership: when it waits for that, and when it has not got an answer yet to its
// resignation.
func runStopsBeside(t poll) {
	for _, answers := range []bool{true, false} {
		pass, let := context.WithCancel(t.ctx)
		defer let()
		deleting := make(chan struct{}, 10)
		c := t.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
			if c.op == "Delete" && !answers && pass.Err() == nil {
				deleting <- struct{}{}
				select { // it is made all the same
				case <-pass.Done():
				case <-ctx.Done():
				}
			}
			return next(ctx)
		})
		s := newService()
		first := s.serves(t, t.ctx, c)
		s.begins(t, "the first Run")
		ctx, stop := context.WithCancel(t.ctx)
		defer stop()
		second := s.serves(t, ctx, c)
		t.removeNode(t.candidates(2)[0])
		if answers {
			t.candidates(0)
		} else {
			select { // or nobody resigns
			case <-deleting:
			case <-t.ctx.Done():
			}
		}
		stop()
		if !t.within(t.patience(), second) {
			t.Fatalf("a Run that was elected beside a function that goes on does not return when its ctx has ended")
		}
		let()
		close(s.leave)
		t.Trial.join("the first Run, whose function returns", first)
		t.empty()
	}
}

func runResignsAfterPanic(t poll) {
	oops := errors.New("oops")
	t.runPanics("Run's function", oops, func(context.Context, subject.Leadership) error { panic(oops) }, nil)
}

func runResignsAfterElected(t poll) {
	oops := errors.New("oops")
	t.runPanics("RunOptions.Elected", oops, func(context.Context, subject.Leadership) error { return nil },
		&election.RunOptions{Elected: func(*election.Leadership) { panic(oops) }})
}

// runPanics wants Run to panic with what was thrown in it, and to have resigned.
func (t poll) runPanics(who string, oops error, fn subject.Term, opts *election.RunOptions) {
	var thrown any
	func() {
		defer func() { thrown = recover() }()
		_ = t.open(t.Client(), name).Run(t.ctx, nil, fn, opts)
	}()
	switch thrown {
	case oops:
	case nil:
		t.Fatalf("%s panicked, and Run returned", who)
	default:
		t.Fatalf("%s panicked with %q, and Run with %v", who, oops, thrown)
	}
	t.empty()
}

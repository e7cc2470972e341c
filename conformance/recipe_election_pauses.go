package conformance

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/recipes/election"
)

// pausing is a Run whose function steps down when it is told to.
type pausing struct {
	*running
	one term
}

func (t poll) pausing(least, most time.Duration) *pausing {
	r := t.runsWith(t.ctx, t.Client(), []byte("v"), least, most)
	return &pausing{r, r.begins("a Run where nobody leads")}
}

// again lets the function step down, and returns how long it takes until it runs again.
func (p *pausing) again() time.Duration {
	start := time.Now()
	p.one.returns <- election.ErrStepDown
	p.one = p.begins("a Run that stood again")
	return time.Since(start)
}

// end lets the function return.
func (p *pausing) end() {
	p.one.returns <- nil
	p.ends("a Run whose function has returned nil")
	p.t.empty()
}

// isPause wants a pause of Run to have lasted for about as long as it should: random by
// half, and, where something may be slow by itself, longer.
func (t poll) isPause(what string, took, about time.Duration) {
	if took < about/2 || t.Exact() && took > about*3/2+t.h.TTL/100 {
		t.Fatalf("%s lasts %v; want %v, give or take a half", what, took.Round(time.Microsecond), about)
	}
}

// runPausesWithinBounds has Runs whose functions step down at once: each pause is twice the
// one before, within MinBackoff and MaxBackoff.
func runPausesWithinBounds(t poll) {
	unit := t.h.TTL / 100
	p := t.pausing(unit, unit)
	least := t.h.TTL
	for range 30 {
		took := p.again()
		t.isPause("a pause of Run with one bound for all", took, unit)
		least = min(least, took)
	}
	if least >= 5*unit { // a store may be slow, but hardly so often
		t.Fatalf("the shortest of 30 pauses of Run lasts %v; want %v, give or take a half", least, unit)
	}
	p.end()
	p = t.pausing(5*unit, unit)
	for range 3 {
		t.isPause("a pause of Run whose MinBackoff is more than MaxBackoff", p.again(), 5*unit)
	}
	p.end()
	p = t.pausing(unit, 100*unit)
	for i := range 6 {
		t.isPause("a pause of Run that is longer from time to time", p.again(), unit<<i)
	}
	p.end()
}

// runPausesByDefault has a Run without bounds of its own. Those of the documentation are 100
// ms and 5 s; to reach the longer one takes long.
func runPausesByDefault(t poll) {
	steps := 4
	if t.Exact() {
		steps = 9
	}
	p := t.pausing(0, 0)
	for i := range steps {
		t.isPause("a pause of Run by default", p.again(), min(100*time.Millisecond<<i, 5*time.Second))
	}
	p.end()
}

// runPausesAfterWaiting has campaigns fail that have lasted for longer than MaxBackoff: they
// have led to nothing, and do not make the pauses short again.
func runPausesAfterWaiting(t poll) {
	unit := t.h.TTL / 100
	first := t.elect(t.Client(), "a")
	pauses := make(chan time.Duration)
	const rounds = 6
	var failed atomic.Pointer[time.Time] // the campaign before; nil: none has
	var failures atomic.Int64
	c := t.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		switch c.op {
		case "Create", "CreateList":
			if last := failed.Swap(nil); last != nil {
				select { // of a trial that is over nobody wants to know
				case pauses <- time.Since(*last):
				case <-t.ctx.Done():
				}
			}
		case "WaitDelete", "WaitAny":
			ownOnly := c.nodes[len(c.nodes)-1].Session == c.session.ID()
			if !ownOnly && failures.Add(1) <= rounds {
				t.sleep(12 * unit)
				now := time.Now()
				failed.Store(&now)
				return errOnPurpose
			}
		}
		return next(ctx)
	})
	r := t.runsWith(t.ctx, c, []byte("b"), unit, 10*unit)
	for i := range rounds {
		select {
		case took := <-pauses:
			t.isPause("a pause of Run after a campaign that was long and vain", took, min(unit<<i, 10*unit))
		case <-t.ctx.Done():
			t.Fatalf("a Run whose campaign has failed makes no other")
		}
	}
	t.candidates(2)
	t.resign(first)
	r.begins("a Run whose campaigns have failed").returns <- nil
	r.ends("a Run whose function has returned nil")
	t.empty()
}

// runPausesAnew lets the pauses of a Run grow, and then lets it lead for longer than
// MaxBackoff: its next pause must be short. The case fails only if three in a row are long,
// because a machine may stand still for a moment.
func runPausesAnew(t poll) {
	p := t.pausing(t.h.TTL/50, t.h.TTL)
	for range 6 {
		p.again()
	}
	var took time.Duration
	for range 3 {
		t.sleep(t.h.TTL * 5 / 4)
		if took = p.again(); took < t.h.TTL/4 {
			p.end()
			return
		}
	}
	t.Fatalf("a Run that has led for longer than MaxBackoff stands again after %v, three times in a row; its MinBackoff is %v",
		took.Round(time.Millisecond), t.h.TTL/50)
}

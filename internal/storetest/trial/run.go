package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/storetest/register"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// batch is the trials of one fault.
type batch struct {
	f       Fault
	o       Options
	history *history.History
	clock   clock
	trials  []*trial

	ctx      context.Context // of calls without a deadline
	cut      chan struct{}   // closed when the fault has begun
	letGo    chan struct{}   // closed by release
	release  func()          // lets whoever holds a lock unlock it
	end      chan struct{}   // closed when all is over
	calls    sync.WaitGroup  // those who hold and wait
	careless sync.WaitGroup  // those who go on after a loss
	left     map[string]int  // entries that are left, by lock
}

// ErrNotBegun says that the locks were not held, or not waited for, in useful time, as
// happens on a machine that is too busy. The fault has not happened.
var ErrNotBegun = errors.New("the trials have not begun")

// Run carries out the trials of a fault. The error says that it could not be done, and
// Is ErrNotBegun if all is as it was; what was found is in the Result. The clients are
// left to the caller.
func Run(ctx context.Context, f Fault, o Options) (Result, error) {
	calls, giveUp := context.WithCancel(ctx)
	defer giveUp()
	b := &batch{
		f: f, o: o, ctx: calls,
		history: history.New(history.Options{TTL: o.TTL, Late: grace}),
		cut:     make(chan struct{}), letGo: make(chan struct{}), end: make(chan struct{}),
		left: make(map[string]int),
	}
	b.release = sync.OnceFunc(func() { close(b.letGo) })
	rng := rand.New(rand.NewPCG(o.Seed, 0))
	for i := range o.Trials {
		t := &trial{
			b: b, name: fmt.Sprintf("%s %d", f.Name, i), log: register.Log{Object: new(register.Fenced)},
			quits: time.Duration(rng.Int64N(int64(o.TTL / 2))), first: max(0, rng.IntN(6)-3),
			told: make(chan struct{}), next: make(chan struct{}),
		}
		if rng.IntN(5) == 0 {
			t.early = 1 + time.Duration(rng.Int64N(int64(o.TTL/2)))
		}
		b.trials = append(b.trials, t)
	}
	stop := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() { b.clock.run(stop) })
	err := b.run()
	// Whatever has not come to an end by now is told to.
	b.release()
	giveUp()
	close(b.end)
	b.calls.Wait()
	b.careless.Wait()
	close(stop)
	ticking.Wait()
	return b.judge(), err
}

func (b *batch) run() error {
	if err := b.f.Holder.acquire(b); err != nil {
		return fmt.Errorf("%w: acquiring the locks: %w", ErrNotBegun, err)
	}
	if err := b.line(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotBegun, err)
	}
	if err := b.disturb(); err != nil {
		return err
	}
	b.pause(b.f.Settle)
	b.release()
	if !b.await(b.finished()) {
		b.history.Unresolved()
		return nil
	}
	b.empty()
	return nil
}

// disturb lets the fault happen.
func (b *batch) disturb() error {
	s := Scene{History: b.history}
	for _, t := range b.trials {
		if !t.isOver() {
			t.counts = true
			s.Locks = append(s.Locks, *t.lock)
		}
	}
	if b.f.MayEnd != "" {
		b.history.MayEnd(b.f.MayEnd)
	}
	defer b.history.Trouble("", b.f.Name)()
	err := b.suffer(s)
	if healed := b.f.Heal(b.ctx); healed != nil {
		err = errors.Join(err, fmt.Errorf("ending the fault: %w", healed))
	}
	if err == nil && b.f.Untold {
		b.told()
	}
	return err
}

// suffer lasts from the beginning of the fault to its end.
func (b *batch) suffer(s Scene) error {
	if err := b.f.Cut(b.ctx, s); err != nil {
		return fmt.Errorf("beginning the fault: %w", err)
	}
	close(b.cut)
	switch {
	case b.f.Lasts > 0:
		b.pause(b.f.Lasts)
	case !b.f.Untold:
		b.told()
	}
	if b.f.Meanwhile != nil {
		if err := b.f.Meanwhile(b.ctx); err != nil {
			return fmt.Errorf("while the fault lasts: %w", err)
		}
	}
	if b.f.Lasts == 0 {
		b.each(func(t *trial) <-chan struct{} { return t.next })
	}
	return nil
}

// told waits until every holder that had a lock knows that it has not any more.
func (b *batch) told() { b.each(func(t *trial) <-chan struct{} { return t.told }) }

// each waits for something of each trial that counts.
func (b *batch) each(event func(t *trial) <-chan struct{}) {
	all := make(chan struct{})
	go func() {
		defer close(all)
		for _, t := range b.trials {
			if t.counts {
				select { // the end of all ends it
				case <-event(t):
				case <-b.end:
				}
			}
		}
	}()
	b.await(all)
}

// line has the others join, one of them first, and waits until all stand in line.
func (b *batch) line() error {
	waiters := []func(t *trial){
		func(t *trial) { t.waitApart("N.next", b.f.Next) },
		func(t *trial) { t.waitApart("A.after", b.f.After) },
	}
	if c := b.f.Holder.client(); c != nil {
		waiters = append(waiters,
			func(t *trial) { _ = t.wait(HolderName+".stuck", c) },
			func(t *trial) { t.quit(HolderName+".quits", c) })
	}
	for _, t := range b.trials {
		t.first %= len(waiters)
		b.calls.Go(func() { waiters[t.first](t) })
	}
	if err := b.stand(1); err != nil {
		return err
	}
	for _, t := range b.trials {
		for i, wait := range waiters {
			if i != t.first {
				b.calls.Go(func() { wait(t) })
			}
		}
	}
	return b.stand(len(waiters))
}

// stand waits until so many wait for each lock, or its holder is gone.
func (b *batch) stand(waiters int) error {
	ctx, cancel := context.WithTimeout(b.ctx, b.o.Patience)
	defer cancel()
	for _, t := range b.trials {
		for !t.isOver() {
			c, err := b.look(ctx, t)
			if err == nil && len(c.Waiters) >= waiters {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("%s: the line is %+v; want %d waiters (%w)", t.name, c, waiters, err)
			}
			b.pause(5 * time.Millisecond) // the line tells nobody
		}
	}
	return nil
}

// look lists a line.
func (b *batch) look(ctx context.Context, t *trial) (coord.Contenders, error) {
	return mutex.New(b.f.After, t.name).Contenders(ctx)
}

// empty waits until nobody is left in any line.
func (b *batch) empty() {
	ctx, cancel := context.WithTimeout(b.ctx, b.o.Patience)
	defer cancel()
	for _, t := range b.trials {
		for {
			c, err := b.look(ctx, t)
			n := len(c.Holders) + len(c.Waiters)
			if err == nil && n == 0 {
				break
			}
			if ctx.Err() != nil {
				b.left[t.name] = max(1, n)
				break
			}
			b.pause(20 * time.Millisecond) // what was not confirmed may be on its way out
		}
	}
}

// finished is closed when every call has come to an end.
func (b *batch) finished() <-chan struct{} {
	done := make(chan struct{})
	go func() { b.calls.Wait(); close(done) }()
	return done
}

// await waits for an event, for as long as patience lasts.
func (b *batch) await(event <-chan struct{}) bool {
	timer := time.NewTimer(b.o.Patience)
	defer timer.Stop()
	select {
	case <-event:
		return true
	case <-timer.C:
	case <-b.ctx.Done():
	}
	return false
}

func (b *batch) mayLetGo() <-chan struct{} { return b.letGo }

// afterCut is closed so long after the fault began, and at the end.
func (b *batch) afterCut(d time.Duration) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		select { // the end of all ends it
		case <-b.cut:
			b.pause(d)
		case <-b.end:
		}
	}()
	return over
}

// pause waits, unless all is over.
func (b *batch) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select { // whichever comes first
	case <-timer.C:
	case <-b.ctx.Done():
	}
}

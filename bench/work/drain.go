package work

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
)

// batch is how many come to a line at a time.
const batch = 50

// Drain has a line form behind a holder, of waiters that belong to so many
// programs, and measures how fast it is served once the holder has gone.
func Drain(programs int) Case {
	of := fmt.Sprintf("%d programs", programs)
	if programs == 1 {
		of = "one program"
	}
	return Case{Name: fmt.Sprintf("drain-%d", programs), Kind: contest.Locks, Unit: "handoffs/s", Counts: true,
		About:   fmt.Sprintf("waiters of %s are served one after the other", of),
		Foreign: contest.ForeignCase{Name: "drain", Clients: programs, Waiters: 1, Keys: 1},
		run: func(ctx context.Context, t Turn) (contest.Sample, error) {
			all, end, err := t.programs(ctx, programs)
			if err != nil {
				return contest.Sample{}, err
			}
			s, err := drain(ctx, t, all)
			if closing := end(); err == nil && !s.Partial {
				err = closing
			}
			return s, err
		}}
}

// line is those who are drained. The first is the holder.
type line struct {
	Turn
	locks  []contest.Locker
	meter  *meter
	failed chan error
	wg     sync.WaitGroup

	mu     sync.Mutex
	served []int // in the order in which they got the lock
}

func drain(ctx context.Context, t Turn, programs []contest.Program) (contest.Sample, error) {
	n := t.Waiters + 1
	l := &line{Turn: t, meter: newMeter(n, 1), failed: make(chan error, n)}
	l.meter.ordered = false        // that is looked at in the end
	before := resources(l.Servers) // of a peer, each who waits may have a session of its own
	for i := range n {
		lock, err := programs[i%len(programs)].Locker(ctx, t.Key)
		if err != nil {
			return contest.Sample{}, err
		}
		l.locks = append(l.locks, lock)
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	if err := l.form(ctx, running); err != nil {
		stop()
		return contest.Sample{}, err
	}
	waiting := resources(l.Servers).since(before, t.Waiters)
	s, err := l.serve(ctx, stop)
	s.Waiting = &waiting
	return s, err
}

// form has the line stand.
func (l *line) form(ctx, running context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	l.meter.asks(0)
	if err := l.locks[0].Lock(ctx); err != nil {
		return err
	}
	l.meter.got(0, 1, number(l.locks[0]))
	for i := 1; i < len(l.locks); i++ {
		l.wg.Go(func() { l.wait(running, i) })
		if i%batch == 0 || i == len(l.locks)-1 {
			if err := l.await(ctx, i+1); err != nil {
				return err
			}
		}
	}
	settle(ctx)
	return nil
}

// wait is a waiter's life.
func (l *line) wait(ctx context.Context, who int) {
	l.meter.asks(who)
	err := l.locks[who].Lock(ctx)
	if err == nil {
		if !l.meter.got(who, 1, number(l.locks[who])) {
			err = errCrowd
		}
		l.mu.Lock()
		l.served = append(l.served, who)
		l.mu.Unlock()
		l.meter.releases(who, 1)
		err = errors.Join(err, l.locks[who].Unlock(ctx))
	}
	if err != nil {
		l.failed <- err
	}
}

// serve has the holder leave, and waits until everybody was served or the time
// is over.
func (l *line) serve(ctx context.Context, stop context.CancelFunc) (contest.Sample, error) {
	l.meter.inOrder()
	l.meter.begin()
	before, start := l.effort(ctx), time.Now()
	l.meter.releases(0, 1)
	if err := l.locks[0].Unlock(ctx); err != nil {
		return contest.Sample{}, err
	}
	all := make(chan struct{})
	go func() { l.wg.Wait(); close(all) }()
	var err error
	select {
	case <-all:
	case err = <-l.failed:
	case <-time.After(l.Most):
	}
	took := time.Since(start)
	l.mu.Lock()
	served := slices.Clone(l.served)
	l.mu.Unlock()
	l.meter.end()
	s, after := l.meter.result(), l.effort(ctx)
	s.Ops, s.Seconds = len(served), took.Seconds()
	s.Latencies, s.PerClient = nil, nil // which say how long the line is
	if s.Checked == 0 {                 // there are no numbers
		s.Checked, s.Violations = len(served), outOfOrder(served)
	}
	if err == nil && s.Ops < l.Waiters {
		s.Partial = true
		s.Note = fmt.Sprintf("%d of %d were served in %v", s.Ops, l.Waiters, l.Most)
	}
	stop()
	within(all, l.Linger) // who does not heed ctx is left behind
	if err != nil {
		return s, err
	}
	select {
	case err := <-l.failed:
		if !s.Partial {
			return s, err
		}
	default:
	}
	return s, l.spent(&s, before, after)
}

// inOrder has the meter look at the order from here on, by numbers alone.
func (m *meter) inOrder() {
	m.mu.Lock() // others have the lock while it is looked for in vain
	defer m.mu.Unlock()
	m.ordered, m.clocked = true, false
}

// await returns when so many stand in line.
func (l *line) await(ctx context.Context, want int) error {
	if l.Side.Standing == nil {
		settle(ctx)
		return nil
	}
	d := l.Dial
	d.Servers = l.Servers
	for {
		n, err := l.Side.Standing(ctx, d, l.Key)
		if err != nil {
			return fmt.Errorf("looking at the line: %w", err)
		}
		if n >= want {
			return nil
		}
		select {
		case err := <-l.failed:
			return err
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d of %d stand in line: %w", n, want, ctx.Err())
		}
	}
}

// settle gives those who came last the time to begin to watch, which nothing
// tells.
func settle(ctx context.Context) {
	select {
	case <-time.After(300 * time.Millisecond):
	case <-ctx.Done():
	}
}

// outOfOrder counts those who were served before somebody of an earlier batch.
// Numbers begin with 1.
func outOfOrder(served []int) int {
	n, first := 0, math.MaxInt
	for _, who := range slices.Backward(served) {
		b := (who - 1) / batch
		if b > first {
			n++
		}
		first = min(first, b)
	}
	return n
}

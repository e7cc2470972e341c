package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
)

// locker returns the i-th contender's lock, of a program.
type locker func(ctx context.Context, p contest.Program, i int) (contest.Locker, error)

// loop opens programs and has every contender lock and unlock again and again
// until the time is over, each ending what it has begun. Contender i belongs to
// program i, or to the only one.
func (t Turn) loop(ctx context.Context, programs int, m *meter, lock locker) (contest.Sample, error) {
	all, end, err := t.programs(ctx, programs)
	if err != nil {
		return contest.Sample{}, err
	}
	locks := make([]contest.Locker, len(m.asked))
	for i := range locks {
		if locks[i], err = lock(ctx, all[i%programs], i); err != nil {
			return contest.Sample{}, errors.Join(err, end())
		}
	}
	s, err := t.repeat(ctx, locks, m)
	if closing := end(); err == nil && !s.Partial {
		err = closing
	}
	return s, err
}

func (t Turn) repeat(ctx context.Context, locks []contest.Locker, m *meter) (contest.Sample, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	failed := make(chan error, len(locks))
	for who, lock := range locks {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := once(ctx, m, who, lock); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	err := first(failed, t.Warm)
	if err == nil { // and everybody has had the lock, if they all get it
		select {
		case err = <-failed:
		case <-m.served:
		case <-time.After(t.Linger):
		}
	}
	var before, after effort
	if err == nil {
		before = t.effort(ctx)
		m.begin()
		err = first(failed, t.Measured)
		m.end()
		after = t.effort(ctx)
	}
	close(stop)
	all := make(chan struct{})
	go func() { wg.Wait(); close(all) }()
	late := err != nil || !within(all, t.Linger)
	s := m.result()
	if late {
		cancel()
		s.Partial = true
		s.Note = fmt.Sprintf("somebody still waited %v after the rest had stopped", t.Linger)
		within(all, t.Linger) // who does not heed ctx is left behind
	}
	if err != nil {
		return s, err
	}
	select {
	case err := <-failed:
		if !late {
			return s, err
		}
	default:
	}
	return s, t.spent(&s, before, after)
}

// first returns the first failure within a time.
func first(failed <-chan error, limit time.Duration) error {
	select {
	case err := <-failed:
		return err
	case <-time.After(limit):
		return nil
	}
}

// within reports whether done is closed in time.
func within(done <-chan struct{}, limit time.Duration) bool {
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// weighty is a Locker of which more than one part can be held.
type weighty interface{ weight() int }

// number is that of a holder's entry; 0 if there is none.
func number(lock contest.Locker) uint64 {
	if n, ok := lock.(contest.Numbered); ok {
		return n.Number()
	}
	return 0
}

// firstHold is how long each contender holds the lock when it first has it, in the
// warm-up: long enough for another that is let in as well.
const firstHold = 2 * time.Millisecond

var errCrowd = errors.New("more hold the lock than may")

// once locks and unlocks.
func once(ctx context.Context, m *meter, who int, lock contest.Locker) error {
	start := time.Now()
	m.asks(who)
	if err := lock.Lock(ctx); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	weight := 1
	if w, ok := lock.(weighty); ok {
		weight = w.weight()
	}
	first := m.isFirst(who)
	alone := m.got(who, weight, number(lock))
	if alone && first {
		// A lock that is let go at once would hardly ever be seen to be held by two.
		time.Sleep(firstHold)
		alone = m.fits()
	}
	if !alone {
		return errCrowd
	}
	m.releases(who, weight)
	if err := lock.Unlock(ctx); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	m.done(who, start)
	return nil
}

package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/report"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// What follows tries the promise that matters most, on a real store and under
// real faults: whoever is cut off learns that it has lost its lock before
// anybody else is given it.

// fault is a way to cut a holder off from its store. One fault serves for the
// trials of many locks side by side.
type fault struct {
	name   string
	holder *coord.Client // is cut off
	next   *coord.Client // is not, or gets its store back before its own TTL has passed
	cut    func() error  // returns when the fault is in force
	heal   func() error  // gives holder its store back

	// whileCut runs after the holder has lost its locks and before the next
	// have them: to bring back a store that was cut off from everybody. It may
	// be nil.
	whileCut func() error
}

// margins are the times from a holder's Done to the return of the next
// holder's Lock, one for each trial.
type margins struct {
	name   string
	values []time.Duration
}

// tryLoss cuts holders of n locks each off, by several faults at a time that do
// not disturb each other, with a waiter for each lock, and fails the test for
// each lock that is given away before its holder was told. Anything else that
// goes wrong ends the test.
func tryLoss(t *testing.T, n int, cuts ...fault) []margins {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// Each holder has a session of its own, and they are opened at different
	// points of the interval between renewals: so the fault meets each at
	// another moment of its life.
	trials := make([][]*trial, len(cuts))
	var spread <-chan time.Time
	for round := range n {
		if round > 0 {
			<-spread
		}
		for i, cut := range cuts {
			var l *trial
			for l == nil {
				s, err := cut.holder.NewSession(ctx, 0)
				must(t, "opening a session", err)
				if i == 0 {
					spread = time.After(s.TTL() / 3 / time.Duration(n))
				}
				l = begin(ctx, t, cut, s, fmt.Sprintf("%s %d", cut.name, round))
			}
			trials[i] = append(trials[i], l)
		}
	}
	for _, cut := range cuts {
		must(t, "cut", cut.cut())
	}
	var all []margins
	for i, cut := range cuts {
		all = append(all, cut.see(ctx, t, trials[i]))
	}
	return all
}

// see waits for the loss and what follows, and judges.
func (cut fault) see(ctx context.Context, t *testing.T, trials []*trial) margins {
	t.Helper()
	for _, l := range trials {
		select {
		case <-l.first.Done():
		case <-ctx.Done():
			t.Fatalf("%s: the holder was never told", l.mutex)
		}
	}
	if cut.whileCut != nil {
		must(t, "while cut", cut.whileCut())
	}
	m := margins{name: cut.name}
	for _, l := range trials {
		l.over.Wait()
		m.values = append(m.values, l.judge(t))
	}
	// Before healing: a leader of etcd that was frozen for longer than the TTL
	// may revoke, when it goes on, what was renewed meanwhile (etcd#15247).
	for _, l := range trials {
		if err := l.second.Unlock(ctx); err != nil {
			t.Errorf("unlocking %s afterwards: %v", l.mutex, err)
		}
	}
	must(t, "heal", cut.heal())
	for _, l := range trials {
		l.empty(ctx, t, cut.next)
	}
	return m
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// trial is one lock, with a holder and the next in line.
type trial struct {
	mutex         string
	first, second *mutex.Held
	over          sync.WaitGroup

	toldAt, grantedAt time.Time
	toldFirst         bool // Done was closed when the next Lock returned
	err               error
}

// begin returns when the next stands in line; nil if a slow machine has cost the
// holder its session before that.
func begin(ctx context.Context, t *testing.T, cut fault, s *coord.Session, name string) *trial {
	t.Helper()
	l := &trial{mutex: name}
	var err error
	if l.first, err = mutex.New(cut.holder, name, coord.WithSession(s)).Lock(ctx); errors.Is(err, coord.ErrSessionLost) {
		return nil
	} else if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	l.over.Go(func() {
		select {
		case <-l.first.Done():
			l.toldAt = time.Now()
		case <-ctx.Done():
		}
	})
	next := mutex.New(cut.next, name)
	l.over.Go(func() {
		l.second, l.err = next.Lock(ctx)
		// The clocks are for the margin. What is judged is the order of
		// events: this look comes after the grant, whatever was scheduled how.
		select {
		case <-l.first.Done():
			l.toldFirst = true
		default:
		}
		l.grantedAt = time.Now()
	})
	stands := false
	await(ctx, t, next, func(c coord.Contenders) bool {
		stands = len(c.Waiters) == 1
		return stands || l.first.Err() != nil
	})
	if stands {
		return l
	}
	l.over.Wait()
	l.judge(t) // this loss keeps the promise, too
	must(t, "Unlock", l.second.Unlock(ctx))
	return nil
}

// await looks at the line from outside until it is as wanted.
func await(ctx context.Context, t *testing.T, m *mutex.Mutex, want func(coord.Contenders) bool) {
	t.Helper()
	for {
		c, err := m.Contenders(ctx)
		if err == nil && want(c) {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the line is %+v, %v", c, err)
		}
	}
}

func (l *trial) judge(t *testing.T) time.Duration {
	t.Helper()
	if l.err != nil {
		t.Fatalf("%s: the next holder's Lock: %v", l.mutex, l.err)
	}
	margin := l.grantedAt.Sub(l.toldAt)
	if !l.toldFirst {
		t.Errorf("%s: OVERLAP: the lock was given away %v before its holder was told", l.mutex, -margin)
	}
	if l.second.Token() <= l.first.Token() {
		t.Errorf("%s: token %d after %d", l.mutex, l.second.Token(), l.first.Token())
	}
	if err := l.first.Err(); !errors.Is(err, coord.ErrNotHeld) || !errors.Is(err, coord.ErrSessionLost) {
		t.Errorf("%s: the loser's Err is %v", l.mutex, err)
	}
	if err := l.second.Err(); err != nil {
		t.Errorf("%s: the next holder has lost the lock too: %v", l.mutex, err)
	}
	return margin
}

// empty wants nothing left in the line.
func (l *trial) empty(ctx context.Context, t *testing.T, c *coord.Client) {
	t.Helper()
	await(ctx, t, mutex.New(c, l.mutex), empty)
}

func empty(c coord.Contenders) bool { return len(c.Holders)+len(c.Waiters) == 0 }

// showMargins reports the least and the median margin of each cut and of all.
func showMargins(t *testing.T, title string, all []margins) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%-34s %6s %10s %10s\n", "from the loss to the next grant", "trials", "minimum", "median")
	var total []time.Duration
	row := func(name string, v []time.Duration) {
		if v = slices.Sorted(slices.Values(v)); len(v) > 0 {
			fmt.Fprintf(&b, "%-34s %6d %10v %10v\n", name, len(v),
				v[0].Round(time.Millisecond), v[len(v)/2].Round(time.Millisecond))
		}
	}
	for _, m := range all {
		row(m.name, m.values)
		total = append(total, m.values...)
	}
	row("all", total)
	report.Show(t, title, b.String())
}

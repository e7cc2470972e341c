// Package work is what the sides of a contest are made to do.
//
// Everything runs in one process and is seen by one clock: who asks, who gets,
// who releases. That more hold a lock than may is an error, of whichever side.
//
// # Order
//
// Where a line forms before it is drained, its waiters come in batches, each
// when the one before stands in the store; whoever is let in before all of an
// earlier batch is a violation of the order of arrival. Where contenders come
// again and again, one who asked 100 ms before another is taken to stand in line
// before it; if the other is let in first, that is a violation. Where entries are
// numbered in the order in which they came, as coordkit's tokens and the entries of
// etcd's floor are, nothing need be guessed: holders' numbers must rise, those of
// writers above all and those of readers above the writers'.
package work

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
)

// TTL is that of every side's sessions where it does not matter: nobody loses
// one while it works.
const TTL = 15 * time.Second

// Length says how long a turn is.
type Length struct {
	Warm, Measured time.Duration // of what is repeated
	Most           time.Duration // of what is done once
	Linger         time.Duration // for the last ones to end what they have begun
	Waiters        int           // who are drained
	Worn           int           // past locks of a key
	Changes        int           // that observers see
}

// Full and Short are the lengths of a whole run and of a short one.
var (
	Full = Length{Warm: 300 * time.Millisecond, Measured: time.Second, Most: 20 * time.Second,
		Linger: 4 * time.Second, Waiters: 1000, Worn: 50_000, Changes: 100}
	Short = Length{Warm: 100 * time.Millisecond, Measured: 400 * time.Millisecond, Most: 4 * time.Second,
		Linger: time.Second, Waiters: 200, Worn: 2000, Changes: 20}
)

// Turn is one side at one case, once.
type Turn struct {
	Side contest.Side
	Dial contest.Dial
	Key  string // one that nobody has used before
	Length
	// Counted is what the store has been made to do so far; nil if that is not
	// counted.
	Counted func() (requests, commits int64, err error)
	// Synced is how often the servers have written to their disks so far; nil if
	// they do not tell.
	Synced func(ctx context.Context) (int64, error)
	// Servers are where the members themselves are, as Dial may lead through proxies.
	Servers []string
	// Spawn starts a process that leads keys as the side does, and returns when it
	// does; it ends as kill does.
	Spawn func(ctx context.Context, d contest.Dial, side string, keys []string) (kill func() error, err error)
}

// Case is a kind of work.
type Case struct {
	// Name is its name in tables and of the flag that chooses it.
	Name string
	// About says what is done.
	About string
	// Kind is what a side must have to take part.
	Kind contest.Kind
	// Unit is that of the case's figure.
	Unit string
	// Less: the lower figure is the better one.
	Less bool
	// Once: one turn has enough samples of its own.
	Once bool
	// Near: sides are so near to each other, or their turns so far apart, that it
	// takes twice as many turns to tell which is ahead.
	Near bool
	// Cold: it need not be rehearsed.
	Cold bool
	// Long: a turn is twice as long as others, so that each contender comes several
	// times.
	Long bool
	// Value: the figure is the sample's Value, and not its rate.
	Value bool
	// Counts: requests and commits of each operation can be counted.
	Counts bool
	// TTL is that of sessions; 0 means the package's.
	TTL time.Duration
	// Foreign: what foreign sides call it; empty if they do not do it.
	Foreign contest.ForeignCase

	run func(ctx context.Context, t Turn) (contest.Sample, error)
}

// longest is how long a turn may take, whatever becomes of its servers: longer than
// any that has come to its end.
const longest = 20 * time.Minute

// Run has a side do the work. ctx bounds it, and longest; a side that does not come to
// an end is left behind, which the sample's Note says.
func (c Case) Run(ctx context.Context, t Turn) (contest.Sample, error) {
	if c.Long {
		t.Measured *= 2
	}
	if t.Side.Foreign != nil {
		return c.abroad(ctx, t)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("the turn took longer than %v", longest))
	defer cancel()
	return c.run(ctx, t)
}

// abroad has a foreign side do the work.
func (c Case) abroad(ctx context.Context, t Turn) (contest.Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute+2*(t.Warm+t.Measured+t.Most))
	defer cancel()
	f := c.Foreign
	f.Warm, f.Seconds = t.Warm.Seconds(), t.Measured.Seconds()
	if f.Waiters > 0 {
		f.Waiters = t.Waiters
	}
	if c.TTL > 0 {
		t.Dial.TTL = c.TTL
	}
	var before, after effort
	f.Begin, f.End = func() { before = t.effort(ctx) }, func() { after = t.effort(ctx) }
	s, err := t.Side.Foreign(ctx, t.Dial, f)
	if err != nil {
		return s, err
	}
	if f.Name == contest.Failover {
		s.Value, s.Worst, s.Note = inTTLs(s.Latencies, c.TTL)
		return s, nil
	}
	err = t.spent(&s, before, after)
	s.CPU = 0 // which is not that of its process
	return s, err
}

// Unasked says why a side that has what it takes does not take part; empty if it
// does.
func (c Case) Unasked(s contest.Side) string {
	if s.Foreign != nil && c.Foreign.Name == "" {
		return "this is not done with libraries of other languages"
	}
	return s.Lacks[c.Kind]
}

// Figure is what is compared of a sample.
func (c Case) Figure(s contest.Sample) float64 {
	if c.Value {
		return s.Value
	}
	return s.Rate()
}

// programs opens n of them, each of which knows the servers in another order.
// end closes them.
func (t Turn) programs(ctx context.Context, n int) (all []contest.Program, end func() error, err error) {
	end = func() error {
		var errs []error
		for _, p := range all {
			errs = append(errs, p.Close())
		}
		return errors.Join(errs...)
	}
	for i := range n {
		p, err := t.Side.Open(ctx, t.Dial.Of(i))
		if err != nil {
			_ = end() // what went wrong first counts
			return nil, nil, fmt.Errorf("opening program %d of %d: %w", i+1, n, err)
		}
		all = append(all, p)
	}
	return all, end, nil
}

// cpu is the processor time of this process so far.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

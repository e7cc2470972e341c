package work

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/bench/contest"
)

// Uncontended is lock and unlock by one who is alone.
func Uncontended() Case {
	return Case{Name: "uncontended", Kind: contest.Locks, Unit: "locks/s", Counts: true,
		About:   "one session locks and unlocks",
		Foreign: contest.ForeignCase{Name: "uncontended", Clients: 1, Keys: 1},
		run:     contend(1)}
}

// crowd is how many contenders are measured for longer, so that each has several
// turns.
const crowd = 32

// Contention is lock and unlock of one key by n sessions, each of a client of
// its own.
func Contention(n int) Case {
	return Case{Name: fmt.Sprintf("contention-%d", n), Kind: contest.Locks, Unit: "locks/s", Counts: true,
		About:   fmt.Sprintf("%d sessions, each of a client of its own, lock and unlock one key", n),
		Foreign: contest.ForeignCase{Name: "contention", Clients: n, Keys: 1},
		Near:    n == 2,
		Long:    n >= crowd,
		run:     contend(n)}
}

func contend(n int) func(context.Context, Turn) (contest.Sample, error) {
	return func(ctx context.Context, t Turn) (contest.Sample, error) {
		return t.loop(ctx, n, newMeter(n, 1), func(ctx context.Context, p contest.Program, _ int) (contest.Locker, error) {
			return p.Locker(ctx, t.Key)
		})
	}
}

// Keys is lock and unlock of n keys at the same time through one client.
func Keys(n int) Case {
	return Case{Name: fmt.Sprintf("keys-%d", n), Kind: contest.Locks, Unit: "locks/s", Counts: true,
		About:   fmt.Sprintf("%d locks are used at the same time through one client", n),
		Foreign: contest.ForeignCase{Name: "keys", Clients: 1, Keys: n},
		run: func(ctx context.Context, t Turn) (contest.Sample, error) {
			m := newMeter(n, n)
			m.ordered = false
			return t.loop(ctx, 1, m, func(ctx context.Context, p contest.Program, i int) (contest.Locker, error) {
				return p.Locker(ctx, fmt.Sprintf("%s-%d", t.Key, i))
			})
		}}
}

// Election is to be elected and to resign by n candidates, each of a client of its
// own. One candidate is alone; of more, each election is a handoff.
func Election(n int) Case {
	c := Case{Name: fmt.Sprintf("election-%d", n), Kind: contest.Elections, Unit: "elections/s", Counts: true,
		About: fmt.Sprintf("%d candidates, each of a client of its own, are elected and resign", n),
		run: func(ctx context.Context, t Turn) (contest.Sample, error) {
			return t.loop(ctx, n, newMeter(n, 1), func(ctx context.Context, p contest.Program, _ int) (contest.Locker, error) {
				return Candidate(ctx, p, t.Key)
			})
		}}
	if n == 1 {
		c.Name, c.About = "election", "one candidate is elected and resigns"
		c.Foreign = contest.ForeignCase{Name: "election", Clients: 1, Keys: 1}
	}
	return c
}

// Semaphore is acquire and release by contenders, each of a client of its own, of
// whom so many hold at a time.
func Semaphore(limit, contenders int) Case {
	return Case{Name: fmt.Sprintf("semaphore-%d", limit), Kind: contest.Permits, Unit: "acquisitions/s", Counts: true,
		About:   fmt.Sprintf("%d sessions, each of a client of its own, acquire and release one of %d permits", contenders, limit),
		Long:    true,
		Foreign: contest.ForeignCase{Name: "semaphore", Clients: contenders, Keys: 1, Limit: limit},
		run: func(ctx context.Context, t Turn) (contest.Sample, error) {
			s, err := t.loop(ctx, contenders, newMeter(contenders, limit), func(ctx context.Context, p contest.Program, _ int) (contest.Locker, error) {
				return p.(contest.Limited).Permit(ctx, t.Key, limit)
			})
			s.Handoffs = nil // of several holders it is not known who made room for whom
			return s, err
		}}
}

// ReadWrite is a read-write lock that sessions, each of a client of its own,
// take nine times to read and the tenth time to write.
func ReadWrite(sessions int) Case {
	return Case{Name: "readwrite", Kind: contest.ReadWrites, Unit: "locks/s", Counts: true,
		About:   fmt.Sprintf("%d sessions, each of a client of its own, lock to read (9 of 10 times) or to write, and unlock", sessions),
		Foreign: contest.ForeignCase{Name: "readwrite", Clients: sessions, Keys: 1},
		run: func(ctx context.Context, t Turn) (contest.Sample, error) {
			m := newMeter(sessions, sessions)
			m.ordered, m.mixed = false, true // readers come in together
			return t.loop(ctx, sessions, m, func(ctx context.Context, p contest.Program, i int) (contest.Locker, error) {
				read, write, err := p.(contest.ReadWriter).ReadWrite(ctx, t.Key)
				return &mixed{read: read, write: write, all: sessions, turn: i}, err
			})
		}}
}

// mixed is nine readers and a writer in turn. A writer holds all there is.
type mixed struct {
	read, write contest.Locker
	all, turn   int
}

func (l *mixed) writes() bool { return l.turn%10 == 0 }

func (l *mixed) now() contest.Locker {
	if l.writes() {
		return l.write
	}
	return l.read
}

func (l *mixed) Lock(ctx context.Context) error {
	l.turn++
	return l.now().Lock(ctx)
}

func (l *mixed) Unlock(ctx context.Context) error { return l.now().Unlock(ctx) }

// Number implements contest.Numbered: 0 where entries have none.
func (l *mixed) Number() uint64 { return number(l.now()) }

func (l *mixed) weight() int {
	if l.writes() {
		return l.all
	}
	return 1
}

package peers

import (
	"context"
	"strings"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/coord"
	_ "github.com/coordkit/coordkit/drivers/consul" // the stores that are compared
	_ "github.com/coordkit/coordkit/drivers/etcd"
	_ "github.com/coordkit/coordkit/drivers/mem"
	_ "github.com/coordkit/coordkit/drivers/zk"
	"github.com/coordkit/coordkit/recipes/election"
	"github.com/coordkit/coordkit/recipes/mutex"
	"github.com/coordkit/coordkit/recipes/rwlock"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// ours is coordkit, as a program uses it that knows nothing of its insides.
type ours struct{ client *coord.Client }

// Embedded returns the only side there is on the embedded store, whose servers are
// names: to try the work itself.
func Embedded() []contest.Side { return []contest.Side{oursOn("mem")} }

func oursOn(scheme string) contest.Side {
	open := func(ctx context.Context, d contest.Dial) (*coord.Client, error) {
		c := coord.Config{
			URL:        scheme + "://" + strings.Join(d.Servers, ",") + "/bench",
			SessionTTL: coord.Duration(d.TTL),
		}
		if d.TLS != nil {
			c.TLSCA, c.TLSCert, c.TLSKey = d.TLS.CA, d.TLS.ClientCert, d.TLS.ClientKey
		}
		return c.Open(ctx)
	}
	return contest.Side{
		Name:  contest.Ours,
		Kinds: []contest.Kind{contest.Locks, contest.Elections, contest.Observers, contest.Permits, contest.ReadWrites},
		Open: func(ctx context.Context, d contest.Dial) (contest.Program, error) {
			c, err := open(ctx, d)
			if err != nil {
				return nil, err
			}
			if _, err := c.Session(ctx); err != nil {
				_ = c.Close(ctx) // the first error counts
				return nil, err
			}
			return ours{c}, nil
		},
		Standing: func(ctx context.Context, d contest.Dial, key string) (int, error) {
			c, err := open(ctx, d)
			if err != nil {
				return 0, err
			}
			all, err := mutex.New(c, key).Contenders(ctx)
			if closing := c.Close(ctx); err == nil {
				err = closing
			}
			return len(all.Holders) + len(all.Waiters), err
		},
	}
}

func (p ours) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return p.client.Close(ctx)
}

// tokened is what all of them give. The token is the number of the entry.
type tokened interface{ Token() uint64 }

// ourLock is a contender: acquire is Lock of a recipe, and release ends what it
// gave.
type ourLock[held tokened] struct {
	acquire func(ctx context.Context) (held, error)
	release func(h held, ctx context.Context) error
	held    held
}

func (l *ourLock[held]) Lock(ctx context.Context) (err error) {
	l.held, err = l.acquire(ctx)
	return err
}

// Number implements contest.Numbered.
func (l *ourLock[held]) Number() uint64 { return l.held.Token() }

func (l *ourLock[held]) Unlock(ctx context.Context) error { return l.release(l.held, ctx) }

func (p ours) Locker(_ context.Context, key string) (contest.Locker, error) {
	m := mutex.New(p.client, key)
	return &ourLock[*mutex.Held]{acquire: m.Lock, release: (*mutex.Held).Unlock}, nil
}

// Candidate implements contest.Candidates.
func (p ours) Candidate(_ context.Context, key string) (contest.Locker, error) {
	e := election.New(p.client, key)
	stand := func(ctx context.Context) (*election.Leadership, error) { return e.Campaign(ctx, nil) }
	return &ourLock[*election.Leadership]{acquire: stand, release: (*election.Leadership).Resign}, nil
}

// Permit implements contest.Limited.
func (p ours) Permit(_ context.Context, key string, limit int) (contest.Locker, error) {
	s := semaphore.New(p.client, key, limit)
	one := func(ctx context.Context) (*semaphore.Held, error) { return s.Acquire(ctx, 1) }
	return &ourLock[*semaphore.Held]{acquire: one, release: (*semaphore.Held).Release}, nil
}

// ReadWrite implements contest.ReadWriter.
func (p ours) ReadWrite(_ context.Context, key string) (read, write contest.Locker, err error) {
	l := rwlock.New(p.client, key)
	return &ourLock[*rwlock.ReadHeld]{acquire: l.RLock, release: (*rwlock.ReadHeld).Unlock},
		&ourLock[*rwlock.WriteHeld]{acquire: l.Lock, release: (*rwlock.WriteHeld).Unlock}, nil
}

// Lead implements contest.Observed.
func (p ours) Lead(ctx context.Context, key string) (func(context.Context, string) error, func(context.Context) error, error) {
	l, err := election.New(p.client, key).Campaign(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, value string) error { return l.Proclaim(ctx, []byte(value)) }, l.Resign, nil
}

// Observe implements contest.Observed.
func (p ours) Observe(ctx context.Context, key string, see func(value string)) error {
	for seen, err := range election.New(p.client, key).Observe(ctx) {
		if err != nil {
			return err
		}
		see(string(seen.Leader.Value))
	}
	return nil
}

package soak

import (
	"context"
	"strings"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/recipes/election"
	"github.com/coordkit/coordkit/recipes/mutex"
	"github.com/coordkit/coordkit/recipes/rwlock"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// lineName is the name of every recipe. It is an odd one, so that it is encoded.
const lineName = "a soak_test"

// Recipes returns all recipes, in the order in which programs wait for one while
// they hold another.
func Recipes() []Recipe {
	mutexes := func(u User, name string) subject.Want {
		return subject.MutexOf(mutex.New(u.Client, name, u.options()...))
	}
	locks := func(u User, name string) subject.ReadWrite {
		return subject.RWLockOf(rwlock.New(u.Client, name, u.options()...))
	}
	semaphores := func(u User, name string, limit int) subject.Counting {
		return subject.SemaphoreOf(semaphore.New(u.Client, name, limit, u.options()...))
	}
	elections := func(u User, name string) subject.Electing {
		return subject.ElectionOf(election.New(u.Client, name, u.options()...))
	}
	all := []Recipe{
		Mutex("mutex", lineName, mutexes),
		RWLock("rwlock", lineName, locks),
		Semaphore("semaphore", lineName, []int{5}, semaphores),
		Semaphore("semaphore, resized", lineName+" resized", []int{3, 4, 6}, semaphores),
		Election("election", lineName, elections),
	}
	for i := range all {
		all[i].Misuses = misuses(all[i])
	}
	return all
}

// Mutex makes a Recipe of a mutex, sound or broken. line is the name of the mutex.
func Mutex(name, line string, open func(u User, line string) subject.Want) Recipe {
	the := func(u User) subject.Want { return open(u, line) }
	want := wanting(history.Exclusive, 0, the)
	want.Enter = ways(history.Exclusive, the)
	return waiting(Recipe{Name: name, Kind: "mutex", Dir: lineDir("mutex", line), Wants: []Want{want}}, the)
}

// RWLock makes a Recipe of a read-write lock.
func RWLock(name, line string, open func(u User, line string) subject.ReadWrite) Recipe {
	reader := func(u User) subject.Want { return open(u, line).Read }
	writer := func(u User) subject.Want { return open(u, line).Write }
	read, write := wanting(history.Shared, 0, reader), wanting(history.Exclusive, 0, writer)
	read.Enter = ways(history.Shared, reader)
	read.Refused, read.Refusal = ways(history.Exclusive, writer), rwlock.ErrUpgrade
	write.Enter = append(ways(history.Shared, reader), read.Refused...)
	write.Downgrade = func(ctx context.Context, u User, h Hold) (Hold, error) {
		return given(open(u, line).Downgrade(ctx, h.(subject.Hold)))
	}
	write.Downgraded = &read
	return waiting(Recipe{Name: name, Kind: "rwlock", Dir: lineDir("rwlock", line), Wants: []Want{write, read}}, reader)
}

// Semaphore makes a Recipe of a semaphore, whose limit is changed if there are
// several. The highest of them must not be exceeded; and while it may be any of them
// some want more than the lowest.
func Semaphore(name, line string, limits []int, open func(u User, line string, limit int) subject.Counting) Recipe {
	r := Recipe{Name: name, Kind: "semaphore", Dir: lineDir("semaphore", line), Limits: limits}
	most, least := r.limit()
	sizes := []int{1, 2, least}
	if most > least {
		sizes = []int{1, least, least + 1}
		r.SetLimit = func(ctx context.Context, u User, limit int) error {
			return open(u, line, limits[0]).SetLimit(ctx, limit)
		}
		// The notice of a change stays as long as the client, or until the next.
		r.Stays = func(n driver.Node) bool { return strings.HasPrefix(n.ID, "l") }
	}
	for _, n := range sizes {
		r.Wants = append(r.Wants, wanting(history.Permits, n, func(u User) subject.Want { return open(u, line, limits[0]).Want(n) }))
	}
	return waiting(r, func(u User) subject.Want { return open(u, line, limits[0]).Want(1) })
}

// waiting adds what every recipe has.
func waiting(r Recipe, the func(User) subject.Want) Recipe {
	r.Contenders = func(ctx context.Context, u User) (coord.Contenders, error) { return the(u).Contenders(ctx) }
	r.Revoke = func(ctx context.Context, u User, token uint64, reason string) error {
		return the(u).Revoke(ctx, token, reason)
	}
	return r
}

// ways are how something is acquired under a hold's context.
func ways(kind history.Kind, the func(User) subject.Want) []Entry {
	return []Entry{
		{kind, func(ctx context.Context, u User) (Hold, error) { return given(the(u).Acquire(ctx)) }},
		{kind, func(ctx context.Context, u User) (Hold, error) { return given(the(u).Try(ctx)) }},
	}
}

// given keeps a nil hold of one type from being one of another that is not nil.
func given(h subject.Hold, err error) (Hold, error) {
	if err != nil {
		return nil, err
	}
	return h, nil
}

// wanting makes a way to want something.
func wanting(kind history.Kind, permits int, the func(User) subject.Want) Want {
	return Want{
		Kind: kind, Permits: permits,
		Acquire: func(ctx context.Context, u User, _ *history.Op) (Hold, error) { return given(the(u).Acquire(ctx)) },
		Try:     func(ctx context.Context, u User, _ *history.Op) (Hold, error) { return given(the(u).Try(ctx)) },
		Do: func(ctx context.Context, u User, _ *history.Op, fn func(context.Context, uint64) error) error {
			return the(u).Do(ctx, fn)
		},
	}
}

// lineDir is the directory of a recipe's line.
func lineDir(kind, name string) string {
	dir, err := coord.Dir(kind, name)
	if err != nil { // of constants
		panic(err)
	}
	return dir
}

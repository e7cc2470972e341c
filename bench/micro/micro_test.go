package micro

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/coordkit/coordkit/coord"
	_ "github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/election"
	"github.com/coordkit/coordkit/recipes/mutex"
	"github.com/coordkit/coordkit/recipes/rwlock"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// dial opens n clients of a store of the benchmark's own.
func dial(b *testing.B, n int) []*coord.Client {
	b.Helper()
	var all []*coord.Client
	for range n {
		c, err := coord.Open(context.Background(), "mem://micro/bench")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := c.Close(context.Background()); err != nil {
				b.Error(err)
			}
		})
		all = append(all, c)
	}
	return all
}

// BenchmarkUncontended is to acquire and to release, alone.
func BenchmarkUncontended(b *testing.B) {
	ctx := context.Background()
	c := dial(b, 1)[0]
	m, rw, s, e := mutex.New(c, "m"), rwlock.New(c, "rw"), semaphore.New(c, "s", 10), election.New(c, "e")
	for _, recipe := range []struct {
		name string
		once func() error
	}{
		{"mutex", cycle(ctx, m.Lock, (*mutex.Held).Unlock)},
		{"read", cycle(ctx, rw.RLock, (*rwlock.ReadHeld).Unlock)},
		{"write", cycle(ctx, rw.Lock, (*rwlock.WriteHeld).Unlock)},
		{"semaphore", cycle(ctx, func(ctx context.Context) (*semaphore.Held, error) { return s.Acquire(ctx, 1) }, (*semaphore.Held).Release)},
		{"election", cycle(ctx, func(ctx context.Context) (*election.Leadership, error) { return e.Campaign(ctx, nil) }, (*election.Leadership).Resign)},
	} {
		b.Run(recipe.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := recipe.once(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func cycle[H any](ctx context.Context, acquire func(context.Context) (H, error), release func(H, context.Context) error) func() error {
	return func() error {
		h, err := acquire(ctx)
		if err != nil {
			return err
		}
		return release(h, ctx)
	}
}

// BenchmarkHandoff is a line that never gets shorter: who was served joins again
// at its end. An operation is to be served, to release and to join. It is measured
// from when as many turns were taken as there are contenders, until the last
// operation, with all still in line.
//
// Who is not served within 100 ms is looked after, in case somebody else removes it:
// of a crowd, which every line is that takes so long here, by one look for all.
func BenchmarkHandoff(b *testing.B) {
	for _, line := range []struct {
		of                string
		waiters, programs int
	}{
		{"clients", 1, 2}, {"clients", 100, 101},
		{"one-client", 1, 1}, {"one-client", 100, 1}, {"one-client", 1000, 1}, {"one-client", 10_000, 1}, {"one-client", 20_000, 1},
	} {
		b.Run(fmt.Sprintf("%s/%d", line.of, line.waiters), func(b *testing.B) {
			all := dial(b, line.programs)
			for _, c := range all {
				if _, err := c.Session(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			handOff(b, all, line.waiters+1)
		})
	}
}

func handOff(b *testing.B, programs []*coord.Client, contenders int) {
	ctx := context.Background()
	holder, err := mutex.New(programs[0], "m").Lock(ctx)
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	left := contenders + b.N // guarded by the lock
	for i := range contenders {
		m := mutex.New(programs[i%len(programs)], "m")
		wg.Go(func() {
			for more := true; more; {
				held, err := m.Lock(ctx)
				if err != nil {
					b.Error(err)
					return
				}
				left--
				more = left > 0
				switch left {
				case b.N: // the line has turned once
					b.ResetTimer()
				case 0: // who still waits is let through without being measured
					b.StopTimer()
				}
				if err := held.Unlock(ctx); err != nil {
					b.Error(err)
				}
			}
		})
	}
	stand(b, programs[0], contenders+1)
	runtime.GC() // of what earlier benchmarks have left
	b.ReportAllocs()
	if err := holder.Unlock(ctx); err != nil {
		b.Fatal(err)
	}
	wg.Wait()
}

// stand waits until n stand in line. To list it costs the store nothing while
// others only join.
func stand(b *testing.B, c *coord.Client, n int) {
	dir, err := coord.Dir("mutex", "m")
	if err != nil {
		b.Fatal(err)
	}
	for {
		line, err := c.List(context.Background(), dir)
		if err != nil {
			b.Fatal(err)
		}
		if len(line) == n {
			return
		}
		runtime.Gosched() // it is they whom the store serves next
	}
}

// BenchmarkGoroutines is what a handoff is compared with: as many goroutines wait,
// each on a channel, and wake each other in turn, as in BenchmarkHandoff of one
// client. An operation is to be woken, to touch what one has, and to wake the next.
// The more wait, the longer ago is it that one ran last, and the less of what it
// touches is still in the processor's cache: no line is quite flat.
//
// How much that takes depends on how it is touched: in a row, the processor fetches
// ahead; scattered, where each line of the cache tells which is next, as pointers do,
// it waits for each. A handoff is between the two, and rather like the second.
func BenchmarkGoroutines(b *testing.B) {
	for _, touch := range []struct {
		how  string
		step int
	}{{"row", 1}, {"scattered", 29}} { // odd, so that all are touched
		for _, waiters := range []int{1, 100, 1000, 10_000, 20_000} {
			b.Run(fmt.Sprintf("%s/%d", touch.how, waiters), func(b *testing.B) {
				wakeInTurn(b, waiters, touch.step)
			})
		}
	}
}

// wakeInTurn has goroutines wake each other. Each goes through what it has by steps of
// so many lines.
func wakeInTurn(b *testing.B, waiters, step int) {
	turns := make([]chan int, waiters+1)
	for i := range turns {
		turns[i] = make(chan int, 1)
	}
	var wg sync.WaitGroup
	for i := range turns {
		next := turns[(i+1)%len(turns)]
		wg.Go(func() {
			own := newBelongings(step)
			for left := range turns[i] {
				own.touch()
				switch left {
				case b.N: // all have run once
					b.ResetTimer()
				case 0:
					b.StopTimer()
					for _, turn := range turns {
						close(turn)
					}
					return
				}
				next <- left - 1
			}
		})
	}
	turns[0] <- b.N + len(turns)
	wg.Wait()
}

// belongings are 4 KiB, which is about what a waiter of one client has, its stack
// and its entry.
type belongings [64]line

// line is one of a processor's cache.
type line struct {
	next, touched int
	_             [48]byte
}

func newBelongings(step int) *belongings {
	var all belongings
	for i := range all {
		all[i].next = (i + step) % len(all)
	}
	return &all
}

func (all *belongings) touch() {
	i := 0
	for range all {
		all[i].touched++
		i = all[i].next
	}
}

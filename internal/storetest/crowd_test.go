package storetest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/report"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// crowd has a crowd wait for one lock: everybody is served, in order, and
// afterwards nothing is left of them. check may be nil.
func crowd(t *testing.T, title string, waiters, together int, open func() []*coord.Client, check func(cost)) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	clients := open()
	c := stand(t, waiters, together, clients...)
	closeAll(t, clients)
	if err := leaked(before); err != nil {
		t.Errorf("goroutines are left: %v", err)
	}
	report.Show(t, title, c.String())
	if check != nil {
		check(c)
	}
}

// cost is what a crowd takes.
type cost struct {
	usage   // per waiter
	drain   time.Duration
	waiters int
	crossed int // handoffs from one client to another
}

func (c cost) String() string {
	return fmt.Sprintf("each %.2f goroutines, %.1f KiB of heap, %.1f KiB of stack; drained in %v, %v a handoff",
		c.goroutines, c.heap/1024, c.stack/1024, c.drain.Round(time.Millisecond), (c.drain / time.Duration(c.waiters)).Round(time.Microsecond))
}

// stand lets waiters line up, so many together, of each client as many, measures
// them, drains the line, and wants them served in the order of their places.
func stand(t testing.TB, waiters, together int, clients ...*coord.Client) cost {
	var wg sync.WaitGroup
	defer wg.Wait() // after cancel: nobody is to fail a test that is over
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	m := mutex.New(clients[0], "crowd")
	held, err := m.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	before := use()
	served := make([]uint64, 0, waiters) // guarded by the lock
	var line []coord.Contender
	for i := range waiters {
		m := mutex.New(clients[i%len(clients)], "crowd")
		wg.Go(func() {
			held, err := m.Lock(ctx)
			if err != nil {
				if !t.Failed() { // nobody needs ten thousand more
					t.Error(err)
				}
				return
			}
			served = append(served, held.Token())
			if err := held.Unlock(ctx); err != nil {
				t.Error(err)
			}
		})
		if come := i + 1; come == waiters || come%together == 0 {
			line = lineOf(ctx, t, mutex.New(clients[0], "crowd"), come)
		}
	}
	// Those who came last have not been standing for long enough to be watched
	// for the removal of their entries, which is part of what a waiter costs.
	time.Sleep(300 * time.Millisecond)
	c := cost{usage: use().since(before, float64(waiters)), waiters: waiters}

	start := time.Now()
	if err := held.Unlock(ctx); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	c.drain = time.Since(start)
	ahead := held.Session().ID()
	for i, w := range line {
		if i >= len(served) || served[i] != w.Token {
			t.Fatalf("the entry at place %d of %d was not served as the %dth", i, len(line), i)
		}
		if w.Session != ahead {
			c.crossed++
		}
		ahead = w.Session
	}
	return c
}

// lineOf returns the waiters once there are as many as wanted.
func lineOf(ctx context.Context, t testing.TB, m *mutex.Mutex, n int) []coord.Contender {
	for {
		c, err := m.Contenders(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Waiters) == n {
			return c.Waiters
		}
		select {
		case <-time.After(30 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%d of %d stand in line", len(c.Waiters), n)
		}
	}
}

// usage is what a process uses: goroutines, and bytes.
type usage struct{ goroutines, heap, stack float64 }

func use() usage {
	for range 5 { // each halves the stacks that joining had made grow
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{float64(runtime.NumGoroutine()), float64(m.HeapAlloc), float64(m.StackInuse)}
}

// since returns the n-th part of what has been added.
func (u usage) since(before usage, n float64) usage {
	return usage{(u.goroutines - before.goroutines) / n, (u.heap - before.heap) / n, (u.stack - before.stack) / n}
}

func closeAll(t testing.TB, clients []*coord.Client) {
	t.Helper()
	for _, c := range clients {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

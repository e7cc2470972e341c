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
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/report"
	"github.com/coordkit/coordkit/internal/testserver"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// A crowd waits for one lock in one process: everybody is served, in order, and
// afterwards nothing is left of them.
func TestCrowdOnMem(t *testing.T) {
	crowd(t, "mem", func(t testing.TB) *coord.Client { return benchClient(t) }, 10_000)
}

func TestCrowdOnEtcd(t *testing.T) {
	etcd := testserver.StartEtcd(t, testserver.EtcdOptions{})
	crowd(t, "etcd", func(t testing.TB) *coord.Client { return etcdClient(t, etcd) }, 1_000)
}

func crowd(t *testing.T, store string, open func(testing.TB) *coord.Client, waiters int) {
	before := goleak.IgnoreCurrent()
	c := open(t)
	cost := stand(t, c, waiters)
	if err := c.Close(context.Background()); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := goleak.Find(before); err != nil {
		t.Errorf("goroutines are left: %v", err)
	}
	report.Show(t, fmt.Sprintf("%s: %d waiters on one lock in one process", store, waiters), cost.String())
}

// cost is what a crowd takes.
type cost struct {
	usage   // per waiter
	drain   time.Duration
	waiters int
}

func (c cost) String() string {
	return fmt.Sprintf("each %.2f goroutines, %.1f KiB of heap, %.1f KiB of stack; drained in %v, %v a handoff",
		c.goroutines, c.heap/1024, c.stack/1024, c.drain.Round(time.Millisecond), (c.drain / time.Duration(c.waiters)).Round(time.Microsecond))
}

// stand lets waiters line up, measures them, drains the line, and wants them
// served in the order of their places in it.
func stand(t testing.TB, c *coord.Client, waiters int) cost {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	m := mutex.New(c, "crowd")
	held, err := m.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	before := use()
	served := make([]uint64, 0, waiters) // guarded by the lock
	var wg sync.WaitGroup
	for range waiters {
		wg.Go(func() {
			held, err := m.Lock(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			served = append(served, held.Token())
			if err := held.Unlock(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	line := lineOf(ctx, t, m, waiters)
	// Those who came last have not been standing for long enough to be watched
	// for the removal of their entries, which is part of what a waiter costs.
	time.Sleep(300 * time.Millisecond)
	after := use()

	start := time.Now()
	if err := held.Unlock(ctx); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	drain := time.Since(start)
	for i, w := range line {
		if i >= len(served) || served[i] != w.Token {
			t.Fatalf("the entry at place %d of %d was not served as the %dth", i, len(line), i)
		}
	}
	return cost{after.since(before, float64(waiters)), drain, waiters}
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
		case <-time.After(20 * time.Millisecond):
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

func BenchmarkCrowdOnMem(b *testing.B) {
	benchCrowd(b, func(b testing.TB) *coord.Client { return benchClient(b) }, 10_000)
}

func BenchmarkCrowdOnEtcd(b *testing.B) {
	etcd := testserver.StartEtcd(b, testserver.EtcdOptions{})
	benchCrowd(b, func(b testing.TB) *coord.Client { return etcdClient(b, etcd) }, 1_000)
}

func benchCrowd(b *testing.B, open func(testing.TB) *coord.Client, waiters int) {
	var last cost
	for b.Loop() {
		c := open(b)
		last = stand(b, c, waiters)
		if err := c.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(last.heap, "heap-B/waiter")
	b.ReportMetric(last.stack, "stack-B/waiter")
	b.ReportMetric(last.goroutines, "goroutines/waiter")
	b.ReportMetric(float64(last.drain.Nanoseconds())/float64(waiters), "ns/handoff")
}

func benchClient(t testing.TB) *coord.Client {
	c, err := coord.New(mem.NewStore().Open("bench"), coord.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func etcdClient(t testing.TB, etcd *testserver.Etcd) *coord.Client {
	c, err := coord.Open(context.Background(), etcdURL(etcd))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

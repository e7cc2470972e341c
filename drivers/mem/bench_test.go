package mem_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// benchSession returns a session of a new store whose directory "q" holds n
// nodes of another session.
func benchSession(b *testing.B, n int) driver.Session {
	conn := mem.NewStore().Open("bench")
	b.Cleanup(func() { _ = conn.Close() })
	var sessions [2]driver.Session
	for i := range sessions {
		s, err := conn.OpenSession(context.Background(), time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		sessions[i] = s
	}
	for i := range n {
		if _, err := sessions[1].Create(context.Background(), "q", fmt.Sprint(i), nil); err != nil {
			b.Fatal(err)
		}
	}
	return sessions[0]
}

func BenchmarkCreateDelete(b *testing.B) {
	ctx := context.Background()
	s := benchSession(b, 0)
	b.ReportAllocs()
	for b.Loop() {
		n, err := s.Create(ctx, "q", "0", nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Delete(ctx, n); err != nil {
			b.Fatal(err)
		}
	}
}

// The same for a program that uses all processors, each on a directory of its
// own.
func BenchmarkCreateDeleteParallel(b *testing.B) {
	ctx := context.Background()
	s := benchSession(b, 0)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		dir := fmt.Sprintf("q:%p", pb)
		for pb.Next() {
			n, err := s.Create(ctx, dir, "0", nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Delete(ctx, n); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A line of constant length: one joins at the end, the head leaves.
func BenchmarkCreateList(b *testing.B) {
	for _, n := range []int{1, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ctx := context.Background()
			s := benchSession(b, n)
			ids := make([]string, n+1)
			for i := range ids {
				ids[i] = fmt.Sprint(i)
			}
			lister, _ := driver.As[driver.CreateLister](s)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_, line, err := lister.CreateList(ctx, "q", ids[i%len(ids)], nil)
				if err != nil || len(line) != n+1 {
					b.Fatal(len(line), err)
				}
				if err := s.Delete(ctx, line[0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The costly case: who joined leaves again from the end of the line, so the
// next listing copies the line.
func BenchmarkCreateListGiveUp(b *testing.B) {
	for _, n := range []int{1, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ctx := context.Background()
			s := benchSession(b, n)
			lister, _ := driver.As[driver.CreateLister](s)
			b.ReportAllocs()
			for b.Loop() {
				own, line, err := lister.CreateList(ctx, "q", "0", nil)
				if err != nil || len(line) != n+1 {
					b.Fatal(len(line), err)
				}
				if err := s.Delete(ctx, own); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// From the deletion in one goroutine to the return of WaitDelete in another,
// with the creation of the next node to wait for.
func BenchmarkWaitDeleteWake(b *testing.B) {
	ctx := context.Background()
	s := benchSession(b, 0)
	nodes, woken := make(chan driver.Node), make(chan error)
	go func() {
		defer close(woken)
		for n := range nodes {
			woken <- s.WaitDelete(ctx, n)
		}
	}()
	b.ReportAllocs()
	for b.Loop() {
		n, err := s.Create(ctx, "q", "0", nil)
		if err != nil {
			b.Fatal(err)
		}
		nodes <- n
		if err := s.Delete(ctx, n); err != nil {
			b.Fatal(err)
		}
		if err := <-woken; err != nil {
			b.Fatal(err)
		}
	}
	close(nodes)
	<-woken
}

// A line of 10,000 waiters, each waiting for the one ahead, drains: the figures
// are for one of them, joining, being woken and leaving.
func BenchmarkDrain(b *testing.B) {
	const waiters = 10000
	ctx := context.Background()
	s := benchSession(b, 0)
	lister, _ := driver.As[driver.CreateLister](s)
	b.ReportAllocs()
	for b.Loop() {
		first, err := s.Create(ctx, "q", "first", nil)
		if err != nil {
			b.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range waiters {
			own, line, err := lister.CreateList(ctx, "q", fmt.Sprint(i), nil)
			if err != nil {
				b.Fatal(err)
			}
			wg.Go(func() {
				if err := s.WaitDelete(ctx, line[len(line)-2]); err != nil {
					b.Error(err)
				}
				if err := s.Delete(ctx, own); err != nil {
					b.Error(err)
				}
			})
		}
		if err := s.Delete(ctx, first); err != nil {
			b.Fatal(err)
		}
		wg.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/waiters, "ns/waiter")
}

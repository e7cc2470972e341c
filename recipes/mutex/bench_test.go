package mutex_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/mutex"
)

func BenchmarkUncontended(b *testing.B) {
	ctx := context.Background()
	m := mutex.New(benchClient(b), "m")
	b.ReportAllocs()
	for b.Loop() {
		held, err := m.Lock(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := held.Unlock(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHandoff is a line that never gets shorter: each grant unlocks and
// joins again at the end.
func BenchmarkHandoff(b *testing.B) {
	for _, waiters := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(waiters), func(b *testing.B) {
			ctx := context.Background()
			m := mutex.New(benchClient(b), "m")
			b.ReportAllocs()
			var wg sync.WaitGroup
			left := b.N // guarded by m
			for range waiters + 1 {
				wg.Go(func() {
					for more := true; more; {
						held, err := m.Lock(ctx)
						if err != nil {
							b.Error(err)
							return
						}
						left--
						more = left > 0
						if err := held.Unlock(ctx); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

func benchClient(b *testing.B) *coord.Client {
	c, err := coord.New(mem.NewStore().Open("bench"), coord.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close(context.Background()) })
	return c
}

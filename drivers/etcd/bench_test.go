package etcd

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// BenchmarkAcquire is a lock that nobody else wants: join the line, leave it.
func BenchmarkAcquire(b *testing.B) {
	f := start(b)
	s := f.open(time.Minute)
	ctx := within(b)
	for b.Loop() {
		n, _, err := s.CreateList(ctx, "lock", "0", nil)
		must(b, err)
		must(b, s.Delete(ctx, n))
	}
}

// BenchmarkContended is one lock that several programs want all the time. An
// operation is one turn.
func BenchmarkContended(b *testing.B) {
	for _, programs := range []int{2, 8, 32} {
		b.Run(fmt.Sprint(programs), func(b *testing.B) {
			etcd := single.Get(b)
			ns := namespace(b)
			var sessions []*session
			for range programs {
				c := newConn(newClient(b, etcd.ClientConfig()), ns, nil, defaultTiming)
				defer c.Close()
				s, err := c.OpenSession(within(b), time.Minute)
				must(b, err)
				sessions = append(sessions, s.(*session))
			}
			turns := make(chan struct{})
			var wg sync.WaitGroup
			ctx := within(b)
			for _, s := range sessions {
				wg.Go(func() {
					for range turns {
						n, err := queue(ctx, s, "0")
						if err == nil {
							err = s.Delete(ctx, n)
						}
						if err != nil {
							b.Error(err)
						}
					}
				})
			}
			for b.Loop() {
				turns <- struct{}{}
			}
			close(turns)
			wg.Wait()
		})
	}
}

// BenchmarkDeletionToWait is the time from a deletion to the end of another
// program's wait, on a store that others write to as well.
func BenchmarkDeletionToWait(b *testing.B) {
	f, other := start(b), start(b)
	other.conn.keyspace = f.conn.keyspace
	s, owner := f.open(time.Minute), other.open(time.Minute)
	ctx := within(b)
	for b.Loop() {
		n, err := owner.Create(ctx, "d", "0", nil)
		must(b, err)
		_, err = f.admin.Put(ctx, string(f.keyspace)+"/noise", "") // after the list, before the watch
		must(b, err)
		done := make(chan error, 1)
		go func() { done <- s.WaitDelete(ctx, n) }()
		must(b, owner.Delete(ctx, n))
		must(b, <-done)
	}
	_, err := f.admin.Delete(within(b), string(f.keyspace)+"/noise")
	must(b, err)
}

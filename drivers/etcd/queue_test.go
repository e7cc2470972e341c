package etcd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coordkit/coordkit/coord/driver"
)

// queue is the simplest lock: join the line, wait for the one ahead.
func queue(ctx context.Context, s *session, id string) (held driver.Node, err error) {
	held, all, err := s.CreateList(ctx, "lock", id, nil)
	if err != nil {
		return held, err
	}
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Seq < held.Seq {
			if err := s.WaitDelete(ctx, all[i]); err != nil {
				return held, err
			}
			if i > 0 {
				all, err = s.List(ctx, "lock")
				if err != nil {
					return held, err
				}
				i = len(all)
			}
		}
	}
	return held, nil
}

// Several connections contend for one lock, and many give up half way: no two
// hold it at a time, tokens rise from holder to holder, and nothing is left.
func TestContendedQueue(t *testing.T) {
	var (
		wg      sync.WaitGroup
		holders atomic.Int32
		mu      sync.Mutex
		last    uint64
		rounds  atomic.Int32
	)
	f := start(t)
	for range 3 {
		c := newConn(newClient(t, single.Get(t).ClientConfig()), string(f.keyspace), nil, defaultTiming)
		s, err := c.OpenSession(within(t), time.Minute)
		must(t, err)
		for slot := range 4 {
			wg.Go(func() { contend(t, s.(*session), fmt.Sprint(slot), &holders, &mu, &last, &rounds) })
		}
		t.Cleanup(func() { must(t, c.Close()) })
	}
	wg.Wait()
	f.wantKeys("lock", 0)
	if rounds.Load() == 0 {
		t.Error("nobody ever got the lock")
	}
}

func contend(t *testing.T, s *session, id string, holders *atomic.Int32, mu *sync.Mutex, last *uint64, rounds *atomic.Int32) {
	for i := range 25 {
		ctx, cancel := within(t), context.CancelFunc(func() {})
		if i%3 == 2 {
			ctx, cancel = context.WithTimeout(ctx, rand.N(10*time.Millisecond))
		}
		n, err := queue(ctx, s, id)
		cancel()
		if err != nil {
			if i%3 != 2 {
				t.Errorf("lock: %v", err)
			}
			if err := s.Abandon(within(t), "lock", id); err != nil {
				t.Errorf("abandon: %v", err)
			}
			continue
		}
		if holders.Add(1) != 1 {
			t.Error("two hold the lock")
		}
		mu.Lock()
		if n.Token <= *last {
			t.Errorf("token %d after %d", n.Token, *last)
		}
		*last = n.Token
		mu.Unlock()
		rounds.Add(1)
		holders.Add(-1)
		if err := s.Delete(within(t), n); err != nil {
			t.Errorf("unlock: %v", err)
		}
	}
}

// N1: what a connection of Open has used is gone when Close returns.
func TestNothingIsLeft(t *testing.T) {
	etcd := single.Get(t)
	member := etcd.Member(0)
	admin := newClient(t, etcd.ClientConfig())
	eventually(t, "no watches of earlier tests", func() bool { return openWatches(t, member) == 0 })
	leases, err := admin.Leases(within(t))
	must(t, err)
	before := goleak.IgnoreCurrent()

	c, err := opener(t).Open(within(t), targetOf(t, etcd))
	must(t, err)
	var waits []<-chan error
	for range 3 {
		s, err := c.OpenSession(within(t), time.Minute)
		must(t, err)
		for i := range 3 {
			n, err := s.Create(within(t), fmt.Sprint("d", i), "0", nil)
			must(t, err)
			waits = append(waits, waiting(within(t), s, n))
		}
	}
	must(t, c.Close())
	for _, w := range waits {
		wantIs(t, receive(t, "the wait", w), driver.ErrClosed)
	}
	for end := time.Now().Add(patience); time.Now().Before(end); { // goleak itself is not patient
		if err = goleak.Find(before); err == nil {
			break
		}
	}
	if err != nil {
		t.Error(err)
	}
	after, err := admin.Leases(within(t))
	must(t, err)
	for _, l := range after.Leases { // of those before, which other tests left, some may have run out
		if !slices.Contains(leases.Leases, l) {
			t.Errorf("lease %x is left", l.ID)
		}
	}
	eventually(t, "no watch", func() bool { return openWatches(t, member) == 0 })
}

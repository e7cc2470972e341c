package zk

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// Locks whose directories have seen so many holders that the sequence passes, on
// the way, the number from which on it is not relied upon, or runs out.
func TestLocksAcrossTheWrap(t *testing.T) {
	t.Parallel()
	z := testserver.StartZooKeeper(t, testserver.ZooKeeperOptions{ExtraConfig: unlimited})
	f := startOn(t, z, nil)
	const before = 20 // creations that are left
	starts := map[string]int32{"exhausted": exhausted - before, "2147483647": 1<<31 - 1 - before}
	next := make(map[string]int32)
	for name, n := range starts {
		for _, kind := range []string{"line", "crowd"} {
			next[f.dir(lockDir(t, kind+name))] = n
		}
	}
	must(t, wear(within(t), z, next))
	var clients []*coord.Client
	for range 4 {
		c, err := coord.New(f.peer().conn, coord.Config{})
		must(t, err)
		clients = append(clients, c)
	}
	defer func() {
		for _, c := range clients {
			must(t, c.Close(within(t)))
		}
	}()
	for name, n := range starts {
		t.Run("line "+name, func(t *testing.T) { lineUp(t, f, clients, "line"+name, n+before) })
		t.Run("crowd "+name, func(t *testing.T) { contend(t, f, clients, "crowd"+name, n+before) })
	}
}

func lockDir(t *testing.T, name string) string {
	t.Helper()
	dir, err := coord.Dir("mutex", name)
	must(t, err)
	return dir
}

// lineUp has twice as many line up as fit before the bound, one after the other,
// and wants them to hold the lock in that order, alone.
func lineUp(t *testing.T, f *fixture, clients []*coord.Client, name string, bound int32) {
	const many = 40
	ctx := within(t)
	held, err := mutex.New(clients[0], name).Lock(ctx)
	must(t, err)
	dir := lockDir(t, name)
	first := len(f.names(dir))
	served := make(chan int, many)
	var holders atomic.Int32
	var standing sync.WaitGroup
	for i := range many {
		standing.Go(func() {
			h, err := mutex.New(clients[i%len(clients)], name).Lock(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			if n := holders.Add(1); n != 1 {
				t.Errorf("%d hold the lock", n)
			}
			served <- i
			holders.Add(-1)
			if err := h.Unlock(ctx); err != nil {
				t.Error(err)
			}
		})
		eventually(t, "the next is in line", func() bool { return len(f.names(dir)) > first+i })
	}
	wantPassed(t, f.names(dir), bound)
	if len(served) > 0 {
		t.Error("somebody holds the lock while another does")
	}
	must(t, held.Unlock(ctx))
	standing.Wait()
	close(served)
	var got []int
	for i := range served {
		got = append(got, i)
	}
	if len(got) != many || !slices.IsSorted(got) {
		t.Errorf("served were %v", got)
	}
}

// wantPassed fails unless some sequences are below the bound and some are not.
func wantPassed(t *testing.T, names []string, bound int32) {
	t.Helper()
	var below, beyond int
	for _, base := range names {
		switch n, ok := parseName(base); {
		case !ok:
		case n.sequence >= 0 && n.sequence < bound:
			below++
		default:
			beyond++
		}
	}
	if below == 0 || beyond == 0 {
		t.Errorf("%d sequences are below %d and %d beyond it; want some of both", below, bound, beyond)
	}
}

// contend has all take the lock again and again. Nobody holds it together with
// another, and tokens rise.
func contend(t *testing.T, f *fixture, clients []*coord.Client, name string, bound int32) {
	const programs, turns = 8, 10
	ctx := within(t)
	var holders atomic.Int32
	var last uint64 // guarded by the lock
	var taking sync.WaitGroup
	turn := func(ctx context.Context, token uint64) error {
		if n := holders.Add(1); n != 1 {
			return fmt.Errorf("%d hold the lock", n)
		}
		defer holders.Add(-1)
		if token <= last {
			return fmt.Errorf("token %d after %d", token, last)
		}
		last = token
		return nil
	}
	for p := range programs {
		m := mutex.New(clients[p%len(clients)], name)
		taking.Go(func() {
			for range turns {
				if err := m.Do(ctx, turn); err != nil {
					t.Error(err)
				}
			}
		})
	}
	taking.Wait()
	s := f.open(long) // whose node tells how far the sequence came
	n, err := s.Create(ctx, lockDir(t, name), "0", nil)
	must(t, err)
	if p := sequenceOf(t, n); p >= 0 && p < bound {
		t.Errorf("the sequence stands at %d after %d turns; want %d or beyond", p, programs*turns, bound)
	}
	if n.Token <= last {
		t.Errorf("token %d after %d", n.Token, last)
	}
	must(t, s.Close(ctx))
}

func sequenceOf(t *testing.T, n driver.Node) int32 {
	t.Helper()
	_, base := cut(n.Key)
	p, ok := parseName(base)
	if !ok {
		t.Fatalf("%q is no node's name", base)
	}
	return p.sequence
}

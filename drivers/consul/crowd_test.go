package consul

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// With Consul's own limits a process may wait on any number of locks, and watch
// them as well.
func TestWaitingOnManyLocks(t *testing.T) {
	f := startOn(t, standard.Get(t), brief())
	s, owner := f.open(time.Minute), f.open(time.Minute)
	const many = 300
	told := make(chan int, many)
	ahead := make([]driver.Node, many)
	var joining sync.WaitGroup
	for i := range many {
		joining.Go(func() {
			dir := fmt.Sprint("mutex:", i)
			var err error
			if ahead[i], err = owner.Create(within(t), dir, "0", nil); err != nil {
				t.Errorf("create: %v", err)
				return
			}
			own, all, err := s.CreateList(within(t), dir, "0", nil)
			if err != nil || len(all) != 2 {
				t.Errorf("create and list: %d nodes, %v", len(all), err)
				return
			}
			go func() {
				i, err := s.WaitAny(within(t), []driver.Node{own, ahead[i]})
				if err != nil {
					t.Errorf("wait: %v", err)
				}
				told <- i
			}()
		})
	}
	joining.Wait()
	eventually(t, "all 600 nodes are to be watched, those of pairs aside", func() bool {
		f.watches.mu.Lock()
		defer f.watches.mu.Unlock()
		due := 0
		for _, l := range f.watches.lines {
			for _, s := range l.spots {
				if wanted, _ := s.wanted(); wanted {
					due++
				}
			}
		}
		return due == 2*(many-maxEyes)
	})
	for i := range 2 * maxScans {
		viewing(t.Context(), t, f.conn, fmt.Sprint("mutex:", i)).until("both nodes", func(nodes []driver.Node) bool { return len(nodes) == 2 })
	}
	f.eventuallyWatched(maxEyes + maxBroad + 1 + maxScans + 1)
	for _, n := range ahead {
		f.remove(n.Key)
	}
	for range many {
		if i := receive(t, "a wait", told); i != 1 {
			t.Errorf("told of index %d; want 1", i)
		}
	}
	if s := f.tap.state(); s.refused > 0 || s.most > maxConns {
		t.Errorf("%d requests were refused; at most %d connections were open", s.refused, s.most)
	}
}

// A thousand goroutines queue up for one lock in one process.
func TestThousandWaitsOnOneLock(t *testing.T) {
	timing := brief()
	timing.attempt = patience // the wait for one's turn counts
	f := startOn(t, standard.Get(t), timing)
	s := f.open(2 * time.Minute) // of which an attempt has a third
	const many = 1000
	nodes := make([]driver.Node, many)
	var joining, waits sync.WaitGroup
	for i := range many {
		joining.Go(func() {
			n, err := s.Create(within(t), "d", fmt.Sprint(i), nil)
			if err != nil {
				t.Errorf("create: %v", err)
				return
			}
			nodes[i] = n
			waits.Go(func() {
				if err := s.WaitDelete(within(t), n); err != nil {
					t.Errorf("wait: %v", err)
				}
			})
		})
	}
	joining.Wait()
	_, err := f.admin.KV().DeleteTree(f.dir("d"), nil)
	must(t, err)
	waits.Wait()
	if s := f.tap.state(); s.refused > 0 || s.most > maxCalls+maxLineEyes+1+maxKeepers {
		t.Errorf("%d requests were refused; at most %d connections were open", s.refused, s.most)
	}
	f.wantIdle()
}

// Many wait in line for one lock, in two processes: it goes from one to
// the next in order, and a cycle takes two entries of Raft's log.
func TestManyInLine(t *testing.T) {
	consul := standard.Get(t)
	f, g := startOn(t, consul, defaultTiming), startOn(t, consul, defaultTiming)
	g.keyspace = f.keyspace
	sessions := []*session{f.open(time.Minute), g.open(time.Minute)}
	const many = 300
	nodes := make([]driver.Node, many)
	for i := range nodes {
		nodes[i] = f.create(sessions[i%2], "d", fmt.Sprint(i))
	}
	order := make(chan int, many)
	var leaving sync.WaitGroup
	for i := 1; i < many; i++ {
		s, own, ahead := sessions[i%2], nodes[i], nodes[i-1]
		leaving.Go(func() {
			told, err := s.WaitAny(t.Context(), []driver.Node{own, ahead})
			if err != nil || told != 1 {
				t.Errorf("the wait of %d: index %d, %v", i, told, err)
			}
			order <- i
			if err := s.Delete(within(t), own); err != nil {
				t.Errorf("the deletion of %d: %v", i, err)
			}
		})
	}
	f.eventuallyWaiting("d", many/2-1)
	g.eventuallyWaiting("d", many/2)
	must(t, sessions[0].Delete(within(t), nodes[0]))
	for want := 1; want < many; want++ {
		if i := receive(t, "the next one's turn", order); i != want {
			t.Fatalf("it is the turn of %d after %d", i, want-1)
		}
	}
	leaving.Wait() // the last one has its turn before it leaves
	after := f.create(sessions[0], "d", "after")
	if entries := after.Token - nodes[0].Token; entries > 2*many+many/10 {
		t.Errorf("%d cycles took %d entries", many, entries)
	}
	for _, f := range []*fixture{f, g} {
		if s := f.tap.state(); s.refused > 0 || s.most > maxCalls+maxLineEyes+1+maxKeepers {
			t.Errorf("%d requests were refused; at most %d connections were open", s.refused, s.most)
		}
	}
	must(t, sessions[0].Close(within(t)))
	must(t, sessions[1].Close(within(t)))
}

package zk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// By name, nothing is read but names, however many are there and whoever has
// made them.
func TestNamesCost(t *testing.T) {
	f := start(t)
	other := f.peer()
	s, o := f.open(long), other.open(long)
	const many = 100
	for i := range many {
		other.create(o, "d", fmt.Sprint(i))
	}
	var own driver.Node
	wantSent(t, "joining a line", f.tap.during(func() {
		n, all, err := s.CreateList(within(t), "d", "0", []byte("own"))
		must(t, err)
		if own = n; len(all) != many+1 || !all[many].Same(n) {
			t.Errorf("joined %+v", all)
		}
	}), sent{"multi": 1, "children": 1})
	wantSent(t, "a list", f.tap.during(func() {
		all, err := s.ListNames(within(t), "d", math.MaxUint64)
		must(t, err)
		if len(all) != many+1 || !all[many].Same(own) {
			t.Errorf("listed %+v", all)
		}
	}), sent{"children": 1})
	all, err := s.ListNames(within(t), "missing", math.MaxUint64)
	if err != nil || len(all) != 0 {
		t.Errorf("listed %+v, %v", all, err)
	}
}

// Where the names do not tell the order, nodes are read.
func TestNamesBeyondTheSequence(t *testing.T) {
	f := start(t)
	s := f.open(long)
	f.create(s, "d", "bystander")
	forge := func(sequence int) string {
		path := fmt.Sprintf("%s/0123456789abcdef-0-1-%010d", f.dir("d"), sequence)
		_, err := f.admin.Create(path, nil, 0, f.acl)
		must(t, err)
		return path
	}
	forged := []string{forge(exhausted), forge(3)}
	n, all, err := s.CreateList(within(t), "d", "0", nil)
	must(t, err)
	if n := sequenceOf(t, n); n != 3 {
		t.Fatalf("the node has sequence %d; want that of what is forged", n)
	}
	if len(all) != 2 || !all[1].Same(n) {
		t.Errorf("made %+v and listed %+v", n, all)
	}
	all, err = s.ListNames(within(t), "d", math.MaxUint64)
	must(t, err)
	if len(all) != 2 || !all[1].Same(n) {
		t.Errorf("listed %+v", all)
	}
	for _, path := range forged {
		must(t, f.admin.Delete(path, -1))
	}
}

// programs are clients that share nothing but the store.
func programs(t *testing.T, conns ...*fixture) (clients []*coord.Client) {
	t.Helper()
	for _, f := range conns {
		c, err := coord.New(f.conn, coord.Config{SessionTTL: coord.Duration(long)})
		must(t, err)
		t.Cleanup(func() {
			if err := c.Close(context.Background()); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		clients = append(clients, c)
	}
	return clients
}

// What somebody else put into a line under a node's name blocks nobody, wherever
// it stands, and holds nobody's place.
func TestForgedPlacesBlockNobody(t *testing.T) {
	f := start(t)
	clients := programs(t, f, f.peer(), f.peer())
	dir, err := coord.Dir("mutex", "m")
	must(t, err)
	f.create(f.open(long), dir, "bystander") // makes the directory
	must(t, f.admin.Delete(f.dir(dir)+"/"+f.names(dir)[0], -1))
	var forged []string
	// created counts what was ever created in the directory, which is the
	// sequence of the next.
	created := 1
	forge := func(sequence int) {
		path := fmt.Sprintf("%s/0123456789abcdef-0-%d-%010d", f.dir(dir), len(forged), sequence)
		_, err := f.admin.Create(path, nil, 0, f.acl)
		must(t, err)
		forged = append(forged, path)
		created++
	}
	ctx := within(t)
	forge(0) // the head
	m := mutex.New(clients[0], "m")
	held, err := m.Lock(ctx)
	must(t, err)
	created++
	if _, err := mutex.New(clients[1], "m").TryLock(ctx); !errors.Is(err, coord.ErrBusy) {
		t.Errorf("TryLock beside a holder: %v", err)
	}
	forge(created)     // right behind the holder
	forge(created + 1) // has the number of the next
	var waiting sync.WaitGroup
	served := make(chan int, 6)
	for i := range cap(served) {
		waiting.Go(func() {
			h, err := mutex.New(clients[(i+1)%len(clients)], "m").Lock(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			served <- i
			if err := h.Unlock(ctx); err != nil {
				t.Error(err)
			}
		})
		created++
		eventually(t, "the next is in line", func() bool { return len(f.names(dir)) == 1+len(forged)+i+1 })
		forge(created + i%2) // in the middle, every other with the number of the next
	}
	contenders, err := m.Contenders(ctx)
	must(t, err)
	if len(contenders.Holders) != 1 || len(contenders.Waiters) != cap(served) {
		t.Errorf("contenders are %+v", contenders)
	}
	must(t, held.Unlock(ctx))
	waiting.Wait()
	for want := range len(served) {
		if i := <-served; i != want {
			t.Errorf("waiter %d was served as number %d", i, want)
		}
	}
	for _, path := range forged {
		must(t, f.admin.Delete(path, -1))
	}
}

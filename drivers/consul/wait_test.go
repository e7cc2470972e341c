package consul

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// In the middle of a line: the entry before one's own goes, the one before that, or one's
// own, or a namesake comes.
func TestWaitAny(t *testing.T) {
	f := start(t)
	s, owner := f.open(time.Minute), f.open(time.Minute)
	for gone, what := range []string{"one's own", "the one before", "the one before that"} {
		before, ahead := f.create(owner, "d", "0"), f.create(owner, "d", "1")
		nodes := []driver.Node{f.create(s, "d", "0"), ahead, before}
		told := make(chan int, 1)
		go func() {
			i, err := s.WaitAny(within(t), nodes)
			if err != nil {
				t.Error(err)
			}
			told <- i
		}()
		f.eventuallyWatched(1)
		f.remove(nodes[gone].Key)
		if gone == 1 { // and its slot is used again at once
			f.create(owner, "d", "1")
		}
		if i := receive(t, "the wait", told); i != gone {
			t.Errorf("%s is gone: told of index %d", what, i)
		}
		_, err := f.admin.KV().DeleteTree(f.dir("d"), nil)
		must(t, err)
	}
}

// Waits in more directories than there may be queries are told all the same, also if a
// directory is deleted as a whole.
func TestWaitingOnManyNodes(t *testing.T) {
	f := startOn(t, standard.Get(t))
	s, owner := f.open(time.Minute), f.open(time.Minute)
	const many = 40
	var waits []<-chan error
	var nodes []driver.Node
	for i := range many {
		for id := range 6 {
			n := f.create(owner, fmt.Sprint("mutex:", i), fmt.Sprint(id))
			nodes, waits = append(nodes, n), append(waits, waiting(within(t), s, n))
		}
	}
	f.eventuallyWatched(mostKeys + mostDirs + 1)
	for i, n := range nodes {
		if i%6 == 0 && i < 6*many/2 {
			_, err := f.admin.KV().DeleteTree(n.Key[:strings.LastIndexByte(n.Key, '/')+1], nil)
			must(t, err)
		} else {
			f.remove(n.Key)
		}
	}
	for _, w := range waits {
		must(t, receive(t, "a wait", w))
	}
	if s := f.tap.state(); s.refused > 0 || s.most > maxConns+3 {
		t.Errorf("%d requests were refused; at most %d connections were open", s.refused, s.most)
	}
}

// Waits for one key share a query.
func TestWaitsShareAQuery(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	n := f.create(f.open(time.Minute), "d", "0")
	var waits []<-chan error
	counted := f.tap.during(func() {
		for range 50 {
			waits = append(waits, waiting(within(t), s, n), waiting(within(t), other, n))
		}
		f.eventuallyWaiting("d", len(waits))
		f.eventuallyWatched(1)
		f.remove(n.Key)
		for _, w := range waits {
			must(t, receive(t, "a wait", w))
		}
	})
	if n := counted["watch"]; n > 3 { // a wait that begins after the deletion asks for itself
		t.Errorf("100 waits made %d queries", n)
	}
}

// Many wait in line for one lock, in two processes: it goes from one to
// the next in order, and a cycle takes two entries of Raft's log.
func TestManyInLine(t *testing.T) {
	consul := standard.Get(t)
	f, g := startOn(t, consul), startOn(t, consul)
	g.keyspace, g.scopes.keyspace = f.keyspace, f.keyspace
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
		if s := f.tap.state(); s.refused > 0 || s.most > maxConns+3 {
			t.Errorf("%d requests were refused; at most %d connections were open", s.refused, s.most)
		}
	}
	must(t, sessions[0].Close(within(t)))
	must(t, sessions[1].Close(within(t)))
}

// The query of a wait that was given up is found by the next wait.
func TestQueriesLapse(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	counted := f.tap.during(func() {
		for range 20 {
			ctx, cancel := context.WithCancel(within(t))
			wait := waiting(ctx, s, n)
			f.eventuallyWatched(1)
			cancel()
			wantIs(t, receive(t, "the wait", wait), context.Canceled)
		}
	})
	if n := counted["watch"]; n > 3 {
		t.Errorf("%d queries for waits one after the other", n)
	}
}

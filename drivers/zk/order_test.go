package zk

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
)

// creation is a node with the time in which it was made.
type creation struct {
	node       driver.Node
	begun, end time.Time
}

// Several programs create at once in a directory whose sequence runs out. The
// server then gives many nodes the same number, and at times begins anew. The
// order still is that of creation, for all.
func TestSequenceRunsOut(t *testing.T) {
	z := testserver.StartZooKeeper(t, testserver.ZooKeeperOptions{ExtraConfig: unlimited})
	ns := "/" + namespaceOf(t)
	must(t, wear(within(t), z, map[string]int32{ns + "/d": 1<<31 - 20}))
	f := startOn(t, z, nil)
	f.conn.space = space(ns)
	var mu sync.Mutex
	var made []creation
	var creating sync.WaitGroup
	for p := range 4 {
		by := f.peer()
		s := by.open(long)
		for g := range 2 {
			creating.Go(func() {
				for i := range 12 {
					c := creation{begun: time.Now()}
					c.node = by.create(s, "d", fmt.Sprint(p, "x", g, "x", i))
					c.end = time.Now()
					mu.Lock()
					made = append(made, c)
					mu.Unlock()
				}
			})
		}
	}
	creating.Wait()
	for _, a := range made {
		for _, b := range made {
			if a.end.Before(b.begun) && (a.node.Seq >= b.node.Seq || a.node.Token >= b.node.Token) {
				t.Errorf("%s was made before %s, and is not before it", a.node.Key, b.node.Key)
			}
		}
	}
	slices.SortFunc(made, func(a, b creation) int { return cmp.Compare(a.node.Seq, b.node.Seq) })
	nodes, err := f.List(within(t), "d")
	must(t, err)
	var czxid int64
	sequences := make(map[int32]int)
	for i, n := range nodes {
		if len(nodes) != len(made) || !n.Same(made[i].node) || n.Seq != made[i].node.Seq {
			t.Fatalf("listed %+v; want %+v", n, made[i].node)
		}
		_, stat, err := f.admin.Exists(n.Key)
		must(t, err)
		if stat.Czxid <= czxid {
			t.Errorf("%s was made at %x, that before it at %x", n.Key, stat.Czxid, czxid)
		}
		czxid = stat.Czxid
		_, base := cut(n.Key)
		p, _ := parseName(base)
		sequences[p.sequence]++
	}
	if len(sequences) == len(nodes) {
		t.Error("the sequence did not run out")
	}

	// In line there, and after the directory was made again.
	s := f.open(long)
	last, all, err := s.CreateList(within(t), "d", "last", nil)
	must(t, err)
	if len(all) != len(nodes)+1 || !all[len(nodes)].Same(last) {
		t.Errorf("the last is not last of %d", len(all))
	}
	wait := waiting(within(t), s, nodes[len(nodes)-1])
	must(t, removeAll(f.admin, f.dir("d")))
	must(t, receive(t, "the wait", wait))
	next := f.create(s, "d", "next")
	if next.Token <= last.Token || next.Seq <= last.Seq {
		t.Errorf("after the directory was made again a node has token %d; before it was %d", next.Token, last.Token)
	}
}

// Fencing tokens over directories that come and go.
func TestTokensOutliveTheDirectory(t *testing.T) {
	f := start(t)
	s := f.open(long)
	var last driver.Node
	for range 20 {
		for range 3 {
			n := f.create(s, "d", "0")
			if n.Token <= last.Token {
				t.Fatalf("token %d after %d", n.Token, last.Token)
			}
			_, stat, err := f.admin.Exists(n.Key)
			must(t, err)
			if n.Token > uint64(stat.Czxid) {
				t.Fatalf("token %d is beyond the node's czxid %d", n.Token, stat.Czxid)
			}
			last = n
			must(t, s.Delete(within(t), n))
		}
		must(t, removeAll(f.admin, f.dir("d")))
	}
}

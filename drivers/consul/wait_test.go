package consul

import (
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// When somebody empties the directory a wait is told of any of its nodes, by whichever
// query.
func TestWaitAnyOfARemovedDirectory(t *testing.T) {
	f := start(t)
	s, owner := f.open(time.Minute), f.open(time.Minute)
	for _, size := range []int{2, 3, 12, 128} {
		nodes := f.fill(owner, "d", size)
		told := make(chan error, 1)
		go func() {
			_, err := s.WaitAny(within(t), nodes)
			told <- err
		}()
		eventually(t, "it waits", func() bool { return f.tap.state().watches > 0 })
		_, err := f.admin.KV().DeleteTree(f.dir("d"), nil)
		must(t, err)
		must(t, receive(t, "the wait", told))
	}
}

// The usual case: one's own node and the one ahead, which goes.
func TestWaitAnyForOneAhead(t *testing.T) {
	f := startOn(t, single.Get(t), brief())
	s, owner := f.open(time.Minute), f.open(time.Minute)
	for round := range 3 {
		ahead := f.create(owner, "d", "0")
		own := f.create(s, "d", "0")
		told := make(chan int, 1)
		go func() {
			i, err := s.WaitAny(within(t), []driver.Node{own, ahead})
			if err != nil {
				t.Error(err)
			}
			told <- i
		}()
		f.eventuallyWatched(1)
		want := 1
		switch round {
		case 0:
			f.remove(ahead.Key)
		case 1: // and its slot is used again at once
			must(t, owner.Delete(within(t), ahead))
			f.create(owner, "d", "0")
		case 2: // after a while one's own is watched too
			f.eventuallyWatched(2)
			f.remove(own.Key)
			want = 0
		}
		if i := receive(t, "the wait", told); i != want {
			t.Errorf("round %d: told of index %d; want %d", round, i, want)
		}
		must(t, s.Delete(within(t), own))
	}
}

// Whoever is second in line watches the directory with one query, which tells of
// both nodes.
func TestSecondInLine(t *testing.T) {
	f := startOn(t, single.Get(t), brief())
	s, owner := f.open(time.Minute), f.open(time.Minute)
	queue := func() (ahead, own driver.Node, told <-chan int) {
		t.Helper()
		before := f.create(owner, "d", "1")
		ahead = f.create(owner, "d", "0")
		must(t, owner.Delete(within(t), before))
		own, all, err := s.CreateList(within(t), "d", "0", nil)
		must(t, err)
		if len(all) != 2 {
			t.Fatalf("listed %+v", all)
		}
		c := make(chan int, 1)
		go func() {
			i, err := s.WaitAny(within(t), []driver.Node{own, ahead})
			if err != nil {
				t.Error(err)
			}
			c <- i
		}()
		f.eventuallyWatched(1)
		return ahead, own, c
	}
	wantTold := func(what string, told <-chan int, want int) {
		t.Helper()
		if i := receive(t, what, told); i != want {
			t.Errorf("%s: told of index %d; want %d", what, i, want)
		}
	}

	ahead, own, told := queue()
	f.remove(ahead.Key)
	wantTold("the one ahead is gone", told, 1)
	must(t, s.Delete(within(t), own))

	ahead, own, told = queue()
	must(t, owner.Delete(within(t), ahead))
	f.remove(f.create(owner, "d", "0").Key)
	wantTold("the one ahead is gone and another has come and gone", told, 1)
	must(t, s.Delete(within(t), own))

	_, own, told = queue()
	f.remove(own.Key)
	wantTold("one's own is gone", told, 0)
	_, err := f.admin.KV().DeleteTree(f.dir("d"), nil)
	must(t, err)

	_, _, told = queue()
	_, err = f.admin.KV().DeleteTree(f.dir("d"), nil)
	must(t, err)
	wantTold("both are gone", told, 0)

	// By a prefix that is shorter than the directory's, in which there is nothing to
	// tell by then of when that was.
	_, _, told = queue()
	_, err = f.admin.KV().DeleteTree(strings.TrimSuffix(f.dir("d"), "/"), nil)
	must(t, err)
	wantTold("both are gone by another prefix", told, 0)

	// When the line grows long the wait goes on in the usual way.
	ahead, own, told = queue()
	f.fill(owner, "d", 2*shortLine)
	eventually(t, "it is watched by an eye", func() bool {
		f.watches.mu.Lock()
		defer f.watches.mu.Unlock()
		l := f.watches.lines[f.dir("d")]
		return l != nil && l.eyes == 2
	})
	f.remove(ahead.Key)
	wantTold("the one ahead is gone", told, 1)
	must(t, s.Delete(within(t), own))
	must(t, owner.Close(within(t)))
	f.wantIdle()
}

package zk

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/internal/testserver"
)

// V3: what happens while there is no connection is shown when there is one again.
func TestWatchOverABrokenLink(t *testing.T) {
	for name, fault := range map[string]func(*netfault.Group){
		"cut":    func(g *netfault.Group) { g.Cut() },
		"frozen": func(g *netfault.Group) { g.Freeze(netfault.Both) },
	} {
		t.Run(name, func(t *testing.T) {
			f, g := linked(t)
			owner := f.peerOn(endpoints(f.zk))
			s := owner.open(long)
			missing := f.watch(within(t), "missing")
			missing.wantNext()
			w := f.watch(within(t), "d")
			w.wantNext()
			a := owner.create(s, "d", "a")
			w.until("a")
			fault(g)
			owner.create(s, "d", "b")
			_, err := s.Update(within(t), a, []byte("A"))
			must(t, err)
			owner.create(s, "missing", "c")
			must(t, g.Heal())
			w.until("A", "b")
			missing.until("c")
			// The watches stand on the new connection.
			must(t, removeAll(f.admin, f.dir("d")))
			w.until()
			must(t, s.Close(within(t)))
			missing.until()
		})
	}
}

// A watch outlives the member that it asks, whichever it is.
func TestWatchOverAMembersEnd(t *testing.T) {
	t.Parallel()
	z := testserver.StartZooKeeper(t, testserver.ZooKeeperOptions{Members: 3, ExtraConfig: unlimited})
	for name, fault := range map[string]struct {
		fail, mend func(m *testserver.ZooKeeperMember) error
	}{
		"killed": {(*testserver.ZooKeeperMember).Kill, (*testserver.ZooKeeperMember).Restart},
		"frozen": {(*testserver.ZooKeeperMember).Freeze, (*testserver.ZooKeeperMember).Thaw},
	} {
		t.Run(name, func(t *testing.T) {
			f := startOn(t, z, nil)
			owner := f.peer()
			s := owner.open(long)
			w := f.watch(within(t), "d")
			w.wantNext()
			n := owner.create(s, "d", "0")
			w.until("0")
			f.living.Lock()
			host := f.observer.current().RemoteAddr().String()
			f.living.Unlock()
			for _, m := range z.Members {
				if m.Endpoint() != host {
					continue
				}
				must(t, fault.fail(m))
				defer func() {
					must(t, fault.mend(m))
					must(t, z.WaitHealthy(within(t)))
				}()
			}
			var err error
			for err = driver.ErrUncertain; driver.Transient(err); {
				_, err = s.Update(within(t), n, []byte("1"))
			}
			must(t, err)
			w.until("1")
		})
	}
}

// L5 of the first state: the member that is asked has all that was acknowledged
// by another.
func TestWatchBeginsWithWhatIsAcknowledged(t *testing.T) {
	z := triple.Get(t)
	leader := leaderOf(t, z)
	f := pinned(t, z, leader)
	other := f.peerOn([]string{z.Member((leader + 1) % 3).Endpoint()})
	s := f.open(long)
	n := f.create(s, "d", "0")
	for i := range 200 {
		_, err := s.Update(within(t), n, []byte(fmt.Sprint(i)))
		must(t, err)
		for nodes, err := range other.Watch(within(t), "d") {
			must(t, err)
			if (show{nodes, nil}).text() != fmt.Sprint([]int{i}) {
				t.Fatalf("shown %s after the update to %d", show{nodes, nil}.text(), i)
			}
			break
		}
	}
}

// A change between the two requests of a look, of which only the first, whichever
// it is, has set its watch.
func TestChangeInTheMiddleOfALook(t *testing.T) {
	f := start(t)
	owner := f.peer()
	s := owner.open(long)
	first, second := owner.create(s, "d", "0"), owner.create(s, "d", "1")
	f.open(long)
	update := func(n driver.Node, i int) {
		if _, err := s.Update(within(t), n, []byte(fmt.Sprint(i))); err != nil {
			t.Error(err)
		}
	}
	w := f.watch(within(t), "d")
	w.wantNext("0", "1")
	for i := range 100 {
		requests, changed := 0, make(chan struct{})
		f.tap.intercept(func(_ *tapped, op int32, _ []byte) bool {
			if op == opGetData || op == opGetChildren2 {
				requests++
			}
			if requests == 2 {
				f.tap.intercept(nil)
				update(second, i)
				close(changed)
			}
			return false
		})
		update(first, i)
		var last show
		for looked := false; !looked; {
			select {
			case <-changed:
				looked = true
			case last = <-w.shows:
				must(t, last.err)
			case <-time.After(patience):
				t.Fatal("nobody looks")
			}
		}
		w.afterwards(last, fmt.Sprint([]int{i, i}))
	}
}

// V2: however often a watch changes its member, its session or both, it shows
// no older state.
func TestWatchNeverGoesBack(t *testing.T) {
	f := startOn(t, triple.Get(t), nil)
	observer := f.peer()
	s := f.open(long)
	count, line := f.create(s, "d", "count"), f.create(s, "d", "line")
	stop, written, all := make(chan struct{}), make(chan error, 1), t.Context() // it takes as long as it takes
	var writing sync.WaitGroup
	t.Cleanup(writing.Wait)
	writing.Go(func() {
		var err error
		for i := 1; err == nil; i++ {
			select {
			case <-stop:
				written <- nil
				return
			default:
			}
			if i%2 == 0 {
				count, err = s.Update(all, count, []byte(fmt.Sprint(i)))
			} else if err = s.Delete(all, line); err == nil {
				line, err = s.Create(all, "d", "line", nil)
			}
		}
		written <- err
	})
	w := observer.watch(all, "d")
	var value int
	var token uint64
	var sh show
	for round := range 300 {
		sh = w.next()
		must(t, sh.err)
		for _, n := range sh.nodes {
			switch n.ID {
			case "line":
				if n.Token < token {
					t.Fatalf("round %d: shown %+v after one with token %d", round, n, token)
				}
				token = n.Token
			case "count":
				v, _ := strconv.Atoi(string(n.Data))
				if v < value {
					t.Fatalf("round %d: shown %d after %d", round, v, value)
				}
				value = v
			}
		}
		switch {
		case round%30 == 10: // by way of another session
			by := observer.open(long)
			observer.anyLinkOf(t).current().drop()
			if round%60 == 10 {
				must(t, by.Close(within(t)))
			}
		case round%3 == 0:
			if l := observer.anyLinkOf(t); isUp(l) {
				l.current().drop()
			}
		}
	}
	close(stop)
	must(t, receive(t, "the writer", written))
	listed, err := f.List(within(t), "d")
	must(t, err)
	w.afterwards(sh, show{listed, nil}.text())
}

func (f *fixture) anyLinkOf(t *testing.T) *link {
	t.Helper()
	l, err := f.anyLink(attempt.Op{Name: "list"})
	must(t, err)
	return l
}

// Watches begin and end all the time on one directory, with the connection being
// lost: those that stay miss nothing.
func TestWatchesComeAndGo(t *testing.T) {
	f := start(t)
	s := f.open(long)
	n := f.create(s, "d", "0")
	stop, all := make(chan struct{}), t.Context()
	var looking sync.WaitGroup
	for i := range 4 {
		looking.Go(func() {
			for {
				ctx, cancel := context.WithCancel(all)
				for _, err := range f.Watch(ctx, "d") {
					if err != nil && ctx.Err() == nil {
						t.Error(err)
					}
					if i%2 == 0 {
						break
					}
					cancel()
				}
				cancel()
				select {
				case <-stop:
					return
				case <-all.Done(): // the test has failed
					return
				default:
				}
			}
		})
	}
	w := f.watch(within(t), "d")
	w.wantNext("0")
	for i := 1; i <= 100; i++ {
		if i%10 == 0 {
			l := s.link.current()
			l.drop()
			eventually(t, "another connection", func() bool { return s.link.current() != l && isUp(s.link) })
		}
		for err := error(driver.ErrUncertain); driver.Transient(err); {
			_, err = s.Update(within(t), n, []byte(fmt.Sprint(i)))
		}
		w.until(fmt.Sprint(i))
	}
	close(stop)
	looking.Wait()
}

// A directory that is removed while a look finds out whether a node was updated is shown
// as empty.
func TestDirectoryRemovedInTheMiddleOfALook(t *testing.T) {
	f := start(t)
	owner := f.peer()
	s := owner.open(long)
	n := owner.create(s, "d", "0")
	f.open(long)
	f.reading(n, func() {
		_, err := s.Update(within(t), n, []byte("1"))
		must(t, err)
		f.tap.intercept(func(_ *tapped, op int32, _ []byte) bool {
			if op == opGetChildren2 {
				f.tap.intercept(nil)
				must(t, removeAll(f.admin, f.dir("d")))
			}
			return false
		})
	})
	f.watch(within(t), "d").wantNext()
}

package etcd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// observation is a watch that a goroutine ranges over.
type observation struct {
	t      testing.TB
	stop   context.CancelFunc
	states chan []driver.Node
	result chan error // gets the one error
}

// observing starts a watch, which is over before the test is.
func observing(t testing.TB, c driver.Conn, dir string) *observation {
	return observingUntil(within(t), t, c, dir)
}

// observingUntil is observing for as long as ctx lasts.
func observingUntil(ctx context.Context, t testing.TB, c driver.Conn, dir string) *observation {
	ctx, cancel := context.WithCancel(ctx)
	o := &observation{t: t, stop: cancel, states: make(chan []driver.Node, 10_000), result: make(chan error, 1)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for nodes, err := range c.(driver.Watcher).Watch(ctx, dir) {
			if err != nil {
				o.result <- err
				return
			}
			o.states <- nodes
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return o
}

// shown is a state in short: the ids with their data, in order.
func shown(nodes []driver.Node) string {
	var parts []string
	for _, n := range nodes {
		parts = append(parts, n.ID+"="+string(n.Data))
	}
	return strings.Join(parts, " ")
}

// next checks the next state.
func (o *observation) next(want string) {
	o.t.Helper()
	if got := shown(receive(o.t, "the next state", o.states)); got != want {
		o.t.Fatalf("shown: %q; want %q", got, want)
	}
}

// comesTo waits until a state is shown, after others or not.
func (o *observation) comesTo(want string) {
	o.t.Helper()
	for shown(receive(o.t, "the state "+want, o.states)) != want {
	}
}

// silent checks that no other state came than those that were received.
func (o *observation) silent() {
	o.t.Helper()
	select {
	case nodes := <-o.states:
		o.t.Fatalf("shown: %q; want nothing", shown(nodes))
	case err := <-o.result:
		o.t.Fatalf("the watch has ended, with %v", err)
	default:
	}
}

// ends waits for the end of the watch.
func (o *observation) ends(want error) {
	o.t.Helper()
	wantIs(o.t, receive(o.t, "the end of the watch", o.result), want)
}

// V1
func TestWatchShowsEveryChange(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	n := f.create(s, "d", "0")
	o := observing(t, f.conn, "d")
	o.next("0=0")
	f.create(other, "d", "9")
	o.next("0=0 9=9")
	n, err := s.Update(within(t), n, []byte("new"))
	must(t, err)
	o.next("0=new 9=9")
	must(t, other.Abandon(within(t), "d", "9"))
	o.next("0=new")
	must(t, s.Delete(within(t), n))
	o.next("")
	for _, id := range []string{"1", "2", "3"} {
		f.create(other, "d", id)
	}
	o.comesTo("1=1 2=2 3=3")
	_, err = f.admin.Delete(within(t), f.node("d", other.id, "2"))
	must(t, err)
	o.next("1=1 3=3")
	must(t, other.Close(within(t))) // in one step
	o.next("")
	n = f.create(s, "d", "0")
	o.next("0=0")
	_, err = f.admin.Put(within(t), n.Key, "by hand") // which no list holds any more
	must(t, err)
	o.next("")
	_, err = f.admin.Delete(within(t), n.Key)
	must(t, err)
	f.create(s, "d", "4")
	o.next("4=4")
	o.silent()
}

// V1: what List returns and Watch shows is the same.
func TestWatchShowsWhatListReturns(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	f.create(s, "d", "0")
	for id := range 20 {
		f.create(s, "d", fmt.Sprint(1+id))
		list, err := f.conn.List(within(t), "d")
		must(t, err)
		for nodes, err := range f.conn.Watch(within(t), "d") { // begins after the list
			must(t, err)
			if !slices.EqualFunc(nodes, list, func(a, b driver.Node) bool {
				a.Version, b.Version = 0, 0
				return fmt.Sprint(a) == fmt.Sprint(b)
			}) {
				t.Fatalf("the list is %v, the first state %v", list, nodes)
			}
			break
		}
	}
}

// What is no change of the directory's nodes is not shown.
func TestWatchShowsNothingElse(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	o := observing(t, f.conn, "d")
	o.next("")
	f.wantKeys("d", 0) // watching makes no directory
	foreign := f.dir("d").from + "foreign"
	_, err := f.admin.Put(within(t), foreign, "")
	must(t, err)
	f.create(s, "e", "0")
	_, err = f.admin.Delete(within(t), foreign)
	must(t, err)
	f.create(s, "d", "0")
	o.next("0=0")
	o.silent()
}

// A watch costs one read, and its events none.
func TestWatchCostsOneRead(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	var o *observation
	wantSent(t, "watch", f.tap.during(func() {
		o = observing(t, f.conn, "d")
		o.next("0=0")
	}), sent{"Watch": 1, "Range": 1})
	wantSent(t, "20 updates", f.tap.during(func() {
		for i := range 20 {
			_, err := s.Update(within(t), n, []byte(fmt.Sprint(i)))
			must(t, err)
		}
		o.comesTo("0=19")
	}), sent{"Txn": 20})
}

// The consumer is busy: the state that lasts is shown, and not the others.
func TestWatchOfABusyConsumer(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	other := observing(t, f.conn, "d")
	turn := 0
	for nodes, err := range f.conn.Watch(within(t), "d") {
		must(t, err)
		if turn++; turn > 1 {
			if got := shown(nodes); got != "0=last" {
				t.Errorf("shown: %q", got)
			}
			break
		}
		for i := range 50 {
			_, err := s.Update(within(t), n, []byte(fmt.Sprint(i)))
			must(t, err)
		}
		_, err := s.Update(within(t), n, []byte("last"))
		must(t, err)
		other.comesTo("0=last")
		eventually(t, "the event has come here too", func() bool {
			f.feeds.mu.Lock()
			defer f.feeds.mu.Unlock()
			for v := range f.feeds.views {
				if string(v.nodes[n.Key].Data) != "last" {
					return false
				}
			}
			return true
		})
	}
}

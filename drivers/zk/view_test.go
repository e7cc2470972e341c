package zk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/drivertest"
)

// show is what a watch shows: one state, or its end.
type show struct {
	nodes []driver.Node
	err   error
}

// text is the data of the nodes in their order, or the error.
func (s show) text() string {
	if s.err != nil {
		return s.err.Error()
	}
	data := []string{}
	for _, n := range s.nodes {
		data = append(data, string(n.Data))
	}
	return fmt.Sprint(data)
}

// watching is a watch on a goroutine of its own.
type watching struct {
	t     testing.TB
	shows chan show // closed at the end of the sequence
	leave func()
}

// watch ranges over a watch until it ends, or leave is called, or the test ends.
func (f *fixture) watch(ctx context.Context, dir string) *watching {
	ctx, cancel := context.WithCancel(ctx)
	quit := make(chan struct{})
	w := &watching{t: f.t, shows: make(chan show)}
	w.leave = sync.OnceFunc(func() {
		close(quit)
		cancel()
		for range w.shows { // until it has ended
		}
	})
	seq := f.Watch(ctx, dir)
	go func() {
		defer close(w.shows)
		for nodes, err := range seq {
			select {
			case w.shows <- show{nodes, err}:
			case <-quit:
				return
			}
		}
	}()
	f.t.Cleanup(w.leave)
	return w
}

func (w *watching) next() show {
	w.t.Helper()
	return receive(w.t, "the watch shows something", w.shows)
}

// wantNext fails unless the next state has nodes with the given data.
func (w *watching) wantNext(data ...string) []driver.Node {
	w.t.Helper()
	s := w.next()
	if s.err != nil || s.text() != fmt.Sprint(append([]string{}, data...)) {
		w.t.Fatalf("the watch shows %s; want %v", s.text(), data)
	}
	return s.nodes
}

// until takes states until one has nodes with the given data.
func (w *watching) until(data ...string) []driver.Node {
	w.t.Helper()
	want := fmt.Sprint(append([]string{}, data...))
	for {
		s := w.next()
		if s.err != nil {
			w.t.Fatalf("the watch ends with %v; want %v", s.err, data)
		}
		if s.text() == want {
			return s.nodes
		}
	}
}

// afterwards takes states, after the last, until one has the given text.
func (w *watching) afterwards(last show, text string) {
	w.t.Helper()
	for last.text() != text {
		last = w.next()
		must(w.t, last.err)
	}
}

// wantEnd fails unless the watch has nothing more to show than its error.
func (w *watching) wantEnd(want ...error) {
	w.t.Helper()
	s := w.next()
	for s.err == nil {
		s = w.next()
	}
	wantIs(w.t, s.err, want...)
	if s.nodes != nil {
		w.t.Errorf("the error comes with %v", s.nodes)
	}
	if _, more := <-w.shows; more {
		w.t.Error("the watch goes on after its error")
	}
}

// V1: one state at once, one after each change, whoever makes it, and none when
// there is none.
func TestWatchShowsEveryChange(t *testing.T) {
	for name, withSession := range map[string]bool{"by a session's link": true, "by the link for lists": false} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			owner := f.peer()
			s := owner.open(long)
			if withSession {
				f.open(long)
			}
			w := f.watch(within(t), "d")
			w.wantNext()
			if names, _, err := f.admin.Children(string(f.space)); err == nil && slices.Contains(names, "d") {
				t.Error("watching made the directory")
			}
			a := owner.create(s, "d", "a")
			w.until("a")
			owner.create(s, "d", "b")
			w.wantNext("a", "b")
			updated, err := s.Update(within(t), a, []byte("A"))
			must(t, err)
			nodes := w.wantNext("A", "b")
			listed, err := f.List(within(t), "d")
			must(t, err)
			if !slices.EqualFunc(nodes, listed, alike) || !nodes[0].Same(updated) || nodes[0].Session != s.ID() {
				t.Errorf("the watch shows %+v; List has %+v", nodes, listed)
			}
			for _, name := range []string{"readme", "lock-0000000001", "_c_x"} { // which change nothing
				_, err := f.admin.Create(f.dir("d")+"/"+name, nil, 0, f.acl)
				must(t, err)
			}
			must(t, f.admin.Delete(a.Key, -1)) // by an operator
			w.wantNext("b")
			must(t, removeAll(f.admin, f.dir("d")))
			w.wantNext()
			owner.create(s, "d", "c")
			w.until("c")
			must(t, s.Close(within(t))) // takes its node along
			w.wantNext()
			must(t, removeAll(f.admin, f.dir("d"))) // what is empty and what is not there look alike
			other := owner.open(long)
			owner.create(other, "d", "e")
			w.until("e")
		})
	}
}

// Whoever is busy while things change sees the state that lasts.
func TestWatchOfABusyConsumer(t *testing.T) {
	f := start(t)
	s := f.open(long)
	w := f.watch(within(t), "d")
	w.wantNext()
	n := f.create(s, "d", "0")
	for i := range 50 {
		_, err := s.Update(within(t), n, []byte(fmt.Sprint(i)))
		must(t, err)
	}
	w.until("49")
}

// V4: the end and its reason.
func TestWatchEnds(t *testing.T) {
	t.Run("ctx ended before", func(t *testing.T) {
		f := start(t)
		ctx, cancel := context.WithCancel(within(t))
		cancel()
		f.watch(ctx, "d").wantEnd(context.Canceled)
	})
	t.Run("ctx", func(t *testing.T) {
		f := start(t)
		ctx, cancel := context.WithCancelCause(within(t))
		w := f.watch(ctx, "d")
		w.wantNext()
		cancel(errors.New("a reason"))
		w.wantEnd(context.Canceled)
	})
	t.Run("ctx with the link frozen", func(t *testing.T) {
		f, g := linked(t)
		ctx, cancel := context.WithCancel(within(t))
		w := f.watch(ctx, "d")
		w.wantNext()
		g.Cut()
		cancel()
		w.wantEnd(context.Canceled)
		must(t, g.Heal())
	})
	for name, withSession := range map[string]bool{"Close with a session": true, "Close": false} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			if withSession {
				f.open(long)
			}
			w := f.watch(within(t), "d")
			w.wantNext()
			must(t, f.conn.Close())
			w.wantEnd(driver.ErrClosed)
			f.watch(within(t), "d").wantEnd(driver.ErrClosed)
		})
	}
	t.Run("Close without a server", func(t *testing.T) {
		f := startOn(t, single.Get(t), []string{drivertest.Refusing(t)})
		w := f.watch(within(t), "d")
		eventually(t, "a link is made", func() bool {
			f.living.Lock()
			defer f.living.Unlock()
			return f.observer != nil
		})
		must(t, f.conn.Close())
		w.wantEnd(driver.ErrClosed)
	})
	t.Run("denied", func(t *testing.T) {
		f := start(t)
		f.relook = 100 * time.Millisecond // servers send no events to whom they deny them
		s := f.open(long)
		f.create(s, "d", "0")
		w := f.watch(within(t), "d")
		w.wantNext("0")
		must(t, f.admin.AddAuth("digest", []byte("me:secret")))
		_, err := f.admin.SetACL(f.dir("d"), gozk.AuthACL(gozk.PermAll), -1)
		must(t, err)
		f.watch(within(t), "d").wantEnd(driver.ErrDenied)
		w.wantEnd(driver.ErrDenied)
	})
}

// A session's end is nothing to a watch by its link.
func TestWatchOutlivesTheSession(t *testing.T) {
	f := start(t)
	owner := f.peer()
	o := owner.open(long)
	owner.create(o, "d", "0")
	for _, end := range []func(s *session){
		func(s *session) { must(t, s.Close(within(t))) },
		func(s *session) { f.expire(s) },
	} {
		s := f.open(long)
		w := f.watch(within(t), "d")
		w.wantNext("0")
		end(s)
		n := owner.create(o, "d", "1")
		w.until("0", "1")
		must(t, o.Delete(within(t), n))
		w.until("0")
		w.leave()
	}
}

// A loop that is left, and one that never began.
func TestWatchIsLazy(t *testing.T) {
	f := start(t)
	seq := f.Watch(within(t), "d")
	if f.observer != nil {
		t.Error("a link was made before the sequence is ranged over")
	}
	for range 2 { // each time anew
		for nodes, err := range seq {
			must(t, err)
			if len(nodes) != 0 {
				t.Errorf("shown %+v", nodes)
			}
			break
		}
	}
	eventually(t, "nobody looks", func() bool { return !f.observer.watches.wanted(f.dir("d")) })
}

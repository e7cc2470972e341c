package consul

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// V5: however many directories are watched, there are few queries, and none
// when they have lapsed.
func TestWatchingManyDirectories(t *testing.T) {
	f := startOn(t, standard.Get(t), brief())
	s := f.open(time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	const many = 250
	viewers := make([]*viewer, many)
	for i := range viewers {
		viewers[i] = viewing(ctx, t, f.conn, fmt.Sprint("d", i))
	}
	for _, v := range viewers {
		v.shows("an empty directory")
	}
	nodes := make([]driver.Node, many)
	for i := range nodes {
		nodes[i] = f.create(s, fmt.Sprint("d", i), "0")
	}
	for i, v := range viewers {
		v.shows("a node", nodes[i])
	}
	if n := f.tap.state().watches; n > maxScans+1 {
		t.Errorf("%d queries", n)
	}
	must(t, s.Close(within(t)))
	for _, v := range viewers {
		v.shows("it is gone")
	}
	cancel()
	for _, v := range viewers {
		v.ends(context.Canceled)
	}
	f.wantIdle()
	f.eventuallyWatched(0)
	if s := f.tap.state(); s.refused > 0 || s.most > maxCalls+maxScans+1+maxKeepers {
		t.Errorf("%d requests were refused; at most %d connections were open", s.refused, s.most)
	}
}

// V5: a watch that is left again and again leaves one query, which lapses.
func TestWatchIsLeft(t *testing.T) {
	f := startOn(t, single.Get(t), brief())
	counted := f.tap.during(func() {
		for range 100 {
			wantFirst(t, f.conn, "d")
		}
	})
	if n := f.tap.state().watches; n > 1 {
		t.Errorf("%d queries wait", n)
	}
	if counted["watch"] > 100 || counted["read"] > 200 {
		t.Errorf("sent %v", counted)
	}
	f.wantIdle()
	f.eventuallyWatched(0)
}

// What a watch costs: a list, and the query, which is asked at once and again
// after each change.
func TestRoundTripsOfAWatch(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	var v *viewer
	wantSent(t, "the beginning", f.tap.during(func() {
		v = viewing(within(t), t, f.conn, "d")
		v.shows("an empty directory")
		f.eventuallyWatched(1)
	}), sent{"read": 2, "watch": 1})
	wantSent(t, "ten changes", f.tap.during(func() {
		var nodes []driver.Node
		for i := range 10 {
			nodes = append(nodes, f.create(s, "d", fmt.Sprint(i)))
			v.shows("one more", nodes...)
		}
		eventually(t, "the next query waits", func() bool {
			f.tap.mu.Lock()
			defer f.tap.mu.Unlock()
			return f.tap.count["watch"] == 10
		})
	}), sent{"watch": 10, "write": 10})
}

package consul

import (
	"fmt"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

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
	}), sent{"read": 1, "watch": 1})
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

// V5: however many directories are watched, there are few queries, and all are told.
func TestWatchingManyDirectories(t *testing.T) {
	f := startOn(t, standard.Get(t))
	s := f.open(time.Minute)
	const many = 100
	viewers := make([]*viewer, many)
	for i := range viewers {
		viewers[i] = viewing(within(t), t, f.conn, fmt.Sprint("d", i))
		viewers[i].shows("an empty directory")
	}
	nodes := make([]driver.Node, many)
	for i := range nodes {
		nodes[i] = f.create(s, fmt.Sprint("d", i), "0")
	}
	for i, v := range viewers {
		v.shows("a node", nodes[i])
	}
	if s := f.tap.state(); s.watches > mostWatches || s.refused > 0 {
		t.Errorf("%d queries wait, %d requests were refused", s.watches, s.refused)
	}
}

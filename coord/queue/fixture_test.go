package queue_test

import (
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/internal/recipetest"
)

const (
	dir = "line:l"
	ttl = recipetest.TTL
)

// world is one in which clients stand in a line.
type world struct{ *recipetest.World }

func bubble(t *testing.T, test func(w *world)) {
	t.Helper()
	recipetest.BubbleOver(t, dir, false, func(w *recipetest.World) { test(&world{w}) })
}

// client is one process with its end of the line.
type client struct {
	*recipetest.Process
	*queue.Queue
	w *world
}

func (w *world) client() *client {
	p := w.Process()
	return &client{p, queue.New(p.Client, "line", "l", inPlace), w}
}

// inPlace is a rule of one holder at a time, in the order of places: an entry
// may stand in for another.
func inPlace(line []driver.Node, own int) queue.Verdict {
	place := func(n driver.Node) uint64 { return min(n.Seq, queue.InPlaceOf(n)) }
	for i, n := range line {
		if i != own && (place(n) < place(line[own]) || place(n) == place(line[own]) && i < own && queue.Kind(line[own]) == "") {
			return queue.Verdict{Blocked: true, Blocker: n}
		}
	}
	return queue.Verdict{}
}

func (c *client) acquire(req queue.Request) (*queue.Entry, *coord.Hold) {
	c.w.Helper()
	e, err := c.Acquire(c.w.Ctx, req)
	c.w.OK(err)
	h, err := e.Hold(c.w.Ctx)
	c.w.OK(err)
	return e, h
}

// begin runs call, waits until it is done or blocked, and returns what tells its
// result.
func (w *world) begin(call func() error) func() (error, bool) {
	a := recipetest.Begin(w.World, func(a *recipetest.Attempt[any]) { a.Err = call() })
	return func() (error, bool) {
		if !a.Done() {
			return nil, false
		}
		return a.Err, true
	}
}

// values wants the entries' values.
func (w *world) values(want ...string) {
	w.Helper()
	for i, n := range w.Nodes(len(want)) {
		if got := string(queue.Value(n)); got != want[i] {
			w.Fatalf("entry %d has the value %q; want %q", i, got, want[i])
		}
	}
}

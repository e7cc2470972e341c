package queue_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/queue"
)

const (
	namespace = "test"
	dir       = "line:l"
	ttl       = 9 * time.Second
)

// world is a store in a bubble where time is virtual.
type world struct {
	*testing.T
	store *mem.Store
	ctx   context.Context
}

// bubble runs test in a world of its own, and then wants nothing left in it.
func bubble(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t, mem.NewStore(), t.Context()}
		t.Cleanup(func() {
			synctest.Wait()
			if s := w.store.Stats(); s != (mem.Stats{}) {
				t.Errorf("left in the store: %+v", s)
			}
		})
		test(w)
	})
}

// client is one process with its end of the line: it closes with the test.
type client struct {
	*coord.Client
	*queue.Queue
	link *mem.Link
	w    *world
}

func (w *world) client() *client {
	w.Helper()
	conn := w.store.Open(namespace)
	c, err := coord.New(conn, coord.Config{SessionTTL: coord.Duration(ttl)})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			w.Errorf("closing a client: %v", err)
		}
	})
	return &client{c, queue.New(c, "line", "l", inPlace, nil), conn.Link(), w}
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
	e, err := c.Acquire(c.w.ctx, req)
	if err != nil {
		c.w.Fatalf("Acquire: %v", err)
	}
	h, err := e.Hold(c.w.ctx)
	if err != nil {
		c.w.Fatalf("Hold: %v", err)
	}
	return e, h
}

// begin runs call, waits until it is done or blocked, and returns what tells its
// result.
func (w *world) begin(call func() error) func() (error, bool) {
	var err error
	over := make(chan struct{})
	go func() {
		defer close(over)
		err = call()
	}()
	synctest.Wait()
	return func() (error, bool) {
		synctest.Wait()
		select {
		case <-over:
			return err, true
		default:
			return nil, false
		}
	}
}

func (w *world) is(err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Fatalf("error %v; want %v", err, want)
	}
}

func (w *world) line() []driver.Node {
	w.Helper()
	conn := w.store.Open(namespace)
	defer conn.Close()
	nodes, err := conn.List(w.ctx, dir)
	if err != nil {
		w.Fatal(err)
	}
	return nodes
}

// values wants the entries' values.
func (w *world) values(want ...string) {
	w.Helper()
	synctest.Wait()
	line := w.line()
	if len(line) != len(want) {
		w.Fatalf("%d entries in the line; want %d", len(line), len(want))
	}
	for i, n := range line {
		if got := string(queue.Value(n)); got != want[i] {
			w.Fatalf("entry %d has the value %q; want %q", i, got, want[i])
		}
	}
}

package semaphore_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// counter counts what goes to the store: requests, without waits and watches;
// how often the store ended a wait for a node; how many watches of the line were
// begun, each of which costs a look at it, and how often they showed a change.
type counter struct{ requests, wakes, watches, changes atomic.Int64 }

// counts is what was counted.
type counts struct{ requests, wakes, watches, changes int64 }

// next returns the counts and starts again.
func (c *counter) next() counts {
	return counts{c.requests.Swap(0), c.wakes.Swap(0), c.watches.Swap(0), c.changes.Swap(0)}
}

// want compares and starts again.
func (c *counter) want(t *testing.T, what string, want counts) {
	t.Helper()
	if got := c.next(); got != want {
		t.Errorf("%s took %+v; want %+v", what, got, want)
	}
}

// counted is a client whose requests are counted.
func (w *world) counted(n *counter) *client {
	w.Helper()
	conn := w.store.Open(namespace)
	c, err := coord.New(countedConn{conn, n}, coord.Config{SessionTTL: coord.Duration(ttl)})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Close(context.Background()) })
	return &client{c, conn, w}
}

type countedConn struct {
	driver.Conn
	n *counter
}

func (c countedConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return countedSession{s, c.n}, nil
}

func (c countedConn) List(ctx context.Context, dir string) ([]driver.Node, error) {
	c.n.requests.Add(1)
	return c.Conn.List(ctx, dir)
}

// Watch counts every state but the first as a change.
func (c countedConn) Watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	return func(yield func([]driver.Node, error) bool) {
		c.n.watches.Add(1)
		first := true
		for nodes, err := range c.Conn.(driver.Watcher).Watch(ctx, dir) {
			if !first && err == nil {
				c.n.changes.Add(1)
			}
			first = false
			if !yield(nodes, err) {
				return
			}
		}
	}
}

type countedSession struct {
	driver.Session
	n *counter
}

func (s countedSession) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	s.n.requests.Add(1)
	return s.Session.(driver.CreateLister).CreateList(ctx, dir, id, data)
}

func (s countedSession) List(ctx context.Context, dir string) ([]driver.Node, error) {
	s.n.requests.Add(1)
	return s.Session.List(ctx, dir)
}

func (s countedSession) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	s.n.requests.Add(1)
	return s.Session.Update(ctx, n, data)
}

func (s countedSession) Delete(ctx context.Context, n driver.Node) error {
	s.n.requests.Add(1)
	return s.Session.Delete(ctx, n)
}

func (s countedSession) Abandon(ctx context.Context, dir, id string) error {
	s.n.requests.Add(1)
	return s.Session.Abandon(ctx, dir, id)
}

// WaitAny counts ends that tell of a node; a guard's wait for its own node ends
// with an error.
func (s countedSession) WaitAny(ctx context.Context, nodes []driver.Node) (int, error) {
	i, err := s.Session.(driver.AnyWaiter).WaitAny(ctx, nodes)
	if err == nil {
		s.n.wakes.Add(1)
	}
	return i, err
}

package recipetest

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// Counter counts what goes to the store, for any number of clients. The zero
// Counter is ready.
type Counter struct{ sessions, requests, wakes, watches, changes atomic.Int64 }

// Counts is what was counted.
type Counts struct {
	Sessions int64 // opened
	Requests int64 // else, without waits and watches
	Wakes    int64 // waits for a node that the store has ended
	Watches  int64 // of the line that were begun, each of which costs a look at it
	Changes  int64 // that watches have shown
}

// Next returns the counts and starts again.
func (c *Counter) Next() Counts {
	return Counts{c.sessions.Swap(0), c.requests.Swap(0), c.wakes.Swap(0), c.watches.Swap(0), c.changes.Swap(0)}
}

// Want compares and starts again.
func (c *Counter) Want(t testing.TB, what string, want Counts) {
	t.Helper()
	if got := c.Next(); got != want {
		t.Errorf("%s took %+v; want %+v", what, got, want)
	}
}

func (c *Counter) over(conn driver.Conn) driver.Conn { return countedConn{conn, c} }

type countedConn struct {
	driver.Conn
	n *Counter
}

func (c countedConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	c.n.sessions.Add(1)
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
	n *Counter
}

func (s countedSession) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	s.n.requests.Add(1)
	return s.Session.Create(ctx, dir, id, data)
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

// WaitDelete counts as WaitAny does.
func (s countedSession) WaitDelete(ctx context.Context, n driver.Node) error {
	err := s.Session.WaitDelete(ctx, n)
	if err == nil {
		s.n.wakes.Add(1)
	}
	return err
}

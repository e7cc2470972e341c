package rwlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// counter counts the requests that go to the store, waits not included, and how
// often the store ended a wait.
type counter struct{ requests, wakes atomic.Int64 }

// want compares and starts again.
func (c *counter) want(t *testing.T, what string, requests, wakes int64) {
	t.Helper()
	if r, w := c.requests.Swap(0), c.wakes.Swap(0); r != requests || w != wakes {
		t.Errorf("%s took %d requests and woke %d; want %d and %d", what, r, w, requests, wakes)
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

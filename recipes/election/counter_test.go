package election_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// counter counts the requests that go to the store, watches not included.
type counter struct {
	driver.Conn
	n atomic.Int64
}

// want compares and starts again.
func (c *counter) want(t *testing.T, what string, n int64) {
	t.Helper()
	if got := c.n.Swap(0); got != n {
		t.Errorf("%s took %d requests; want %d", what, got, n)
	}
}

func (c *counter) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	c.n.Add(1)
	s, err := c.Conn.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return &countedSession{s, &c.n}, nil
}

func (c *counter) List(ctx context.Context, dir string) ([]driver.Node, error) {
	c.n.Add(1)
	return c.Conn.List(ctx, dir)
}

type countedSession struct {
	driver.Session
	n *atomic.Int64
}

func (s *countedSession) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	s.n.Add(1)
	fast, _ := driver.As[driver.CreateLister](s.Session)
	return fast.CreateList(ctx, dir, id, data)
}

func (s *countedSession) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	s.n.Add(1)
	return s.Session.Create(ctx, dir, id, data)
}

func (s *countedSession) List(ctx context.Context, dir string) ([]driver.Node, error) {
	s.n.Add(1)
	return s.Session.List(ctx, dir)
}

func (s *countedSession) Delete(ctx context.Context, n driver.Node) error {
	s.n.Add(1)
	return s.Session.Delete(ctx, n)
}

func (s *countedSession) Abandon(ctx context.Context, dir, id string) error {
	s.n.Add(1)
	return s.Session.Abandon(ctx, dir, id)
}

func (s *countedSession) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	s.n.Add(1)
	return s.Session.Update(ctx, n, data)
}

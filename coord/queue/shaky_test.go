package queue_test

import (
	"context"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/drivers/mem"
)

const (
	long = time.Minute      // the TTL of a shaky client's session
	away = 15 * time.Second // more than the client's TTL, less than the session's
)

// shaky is a client whose session outlives its own TTL. It loses the store in the
// worst moment. Its driver has none of the optional interfaces.
type shaky struct {
	*client
	session *coord.Session

	mu     sync.Mutex
	shakes []shake
	breaks []time.Duration // after which waits break
}

// shake is a loss of the store, right before a request.
type shake struct {
	op    mem.Op
	spare int           // how many such requests come before
	away  time.Duration // how long the store stays away
}

func (w *world) shaky() *shaky {
	w.Helper()
	c := &shaky{}
	p := w.ProcessOver(func(conn driver.Conn) driver.Conn { return shakyConn{conn, c} })
	var err error
	c.session, err = p.NewSession(w.Ctx, long)
	w.OK(err)
	q := queue.New(p.Client, "line", "l", inPlace, coord.WithSession(c.session))
	c.client = &client{p, q, w}
	return c
}

func (c *shaky) lose(s shake) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shakes = append(c.shakes, s)
}

func (c *shaky) breakAfter(d ...time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.breaks = d
}

// before is called before each request.
func (c *shaky) before(op mem.Op) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.shakes) == 0 || c.shakes[0].op != op {
		return
	}
	if c.shakes[0].spare--; c.shakes[0].spare >= 0 {
		return
	}
	c.Link().Cut()
	time.AfterFunc(c.shakes[0].away, func() { _ = c.Link().Heal() })
	c.shakes = c.shakes[1:]
}

// breaking reports whether a wait is to break, and when.
func (c *shaky) breaking() (after time.Duration, broken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.breaks) == 0 {
		return 0, false
	}
	after, c.breaks = c.breaks[0], c.breaks[1:]
	return after, true
}

type shakyConn struct {
	driver.Conn
	c *shaky
}

func (c shakyConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return shakySession{s, c.c}, nil
}

func (c shakyConn) List(ctx context.Context, dir string) ([]driver.Node, error) {
	c.c.before(mem.OpWatch) // of who looks on, which is to be told apart
	return c.Conn.List(ctx, dir)
}

type shakySession struct {
	driver.Session
	c *shaky
}

func (s shakySession) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	s.c.before(mem.OpCreate)
	return s.Session.Create(ctx, dir, id, data)
}

func (s shakySession) List(ctx context.Context, dir string) ([]driver.Node, error) {
	s.c.before(mem.OpList)
	return s.Session.List(ctx, dir)
}

func (s shakySession) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	s.c.before(mem.OpUpdate)
	return s.Session.Update(ctx, n, data)
}

// WaitDelete is a wait that may break, as W5 allows.
func (s shakySession) WaitDelete(ctx context.Context, n driver.Node) error {
	after, broken := s.c.breaking()
	if !broken {
		return s.Session.WaitDelete(ctx, n)
	}
	whole, cancel := context.WithTimeout(ctx, after)
	defer cancel()
	err := s.Session.WaitDelete(whole, n)
	if err == nil || ctx.Err() != nil || s.Err() != nil {
		return err
	}
	return &driver.Error{Op: "wait", Kind: driver.ErrUncertain}
}

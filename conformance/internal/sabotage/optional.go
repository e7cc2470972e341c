package sabotage

import (
	"context"
	"iter"

	"github.com/coordkit/coordkit/coord/driver"
)

// Broken connections and sessions have the optional interfaces that the sound
// ones have, and those that a sabotage adds.

// optional returns an optional interface that a sound connection or session has.
func optional[T any](sound any) T {
	t, _ := driver.As[T](sound)
	return t
}

// offered is the connection with its optional interface.
func (c *conn) offered() driver.Conn {
	if c.Conn.Caps().Has(driver.CapWatch) {
		return watcher{c}
	}
	return c
}

// watcher implements driver.Watcher.
type watcher struct{ *conn }

// Unwrap makes the connection reachable.
func (c watcher) Unwrap() any { return c.conn }

func (c watcher) Watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	if c.watch != nil {
		return c.watch(ctx, dir)
	}
	return c.soundWatch(ctx, dir)
}

func (c *conn) soundWatch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	return optional[driver.Watcher](c.Conn).Watch(ctx, dir)
}

// offered is the session with its optional interfaces: each is a wrapper, and
// driver.As finds them all.
func (s *session) offered() (all driver.Session) {
	all = s
	caps := s.conn.Conn.Caps() | s.conn.extra
	if caps.Has(driver.CapCreateList) {
		all = createLister{all, s}
	}
	if caps.Has(driver.CapWaitAny) {
		all = anyWaiter{all, s}
	}
	return all
}

// createLister implements driver.CreateLister.
type createLister struct {
	driver.Session
	s *session
}

func (o createLister) Unwrap() any { return o.Session }

func (o createLister) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	if o.s.createList != nil {
		return o.s.createList(ctx, dir, id, data)
	}
	return o.s.soundCreateList(ctx, dir, id, data)
}

func (s *session) soundCreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	return optional[driver.CreateLister](s.Session).CreateList(ctx, dir, id, data)
}

// anyWaiter implements driver.AnyWaiter.
type anyWaiter struct {
	driver.Session
	s *session
}

func (o anyWaiter) Unwrap() any { return o.Session }

func (o anyWaiter) WaitAny(ctx context.Context, nodes []driver.Node) (int, error) {
	if o.s.waitAny != nil {
		return o.s.waitAny(ctx, nodes)
	}
	return optional[driver.AnyWaiter](o.s.Session).WaitAny(ctx, nodes)
}

package conformance

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// A tap lies between a client and the driver under test. It sees each call that the
// client makes, those of the driver's optional interfaces too, and can count it, fail
// it, or do something else at that very moment. It needs no link.

// tap makes a call of the driver, with next, or does not. What it returns is what the
// client is told.
type tap func(ctx context.Context, c *request, next func(context.Context) error) error

// request is a call of the driver.
type request struct {
	op      string         // the method's name
	session driver.Session // nil: it is the connection's
	nodes   []driver.Node  // that it is about, of Update, Delete, First and the waits
	gone    int            // once WaitAny has returned nil: the index of the node that is gone
	shows   func()         // if the tap sets it: called before Watch yields a state
}

// tapped opens a client whose calls go through a tap.
func (t *Trial) tapped(tap tap) *coord.Client { return t.clientOn(tappedConn{t.Open(), tap}) }

// through makes a call through a tap. If the tap turns success into an error, the client
// sees nothing else.
func through[R any](ctx context.Context, tap tap, c *request, call func(context.Context) (R, error)) (R, error) {
	var r, none R
	var answer error
	err := tap(ctx, c, func(ctx context.Context) error {
		r, answer = call(ctx)
		return answer
	})
	if err != nil && answer == nil {
		return none, err
	}
	return r, err
}

type tappedConn struct {
	driver.Conn
	tap tap
}

// Unwrap makes the driver's watch reachable, if it has one.
func (c tappedConn) Unwrap() any {
	if w, ok := driver.As[driver.Watcher](c.Conn); ok {
		return tappedWatcher{w, c.tap}
	}
	return nil
}

func (c tappedConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	var s driver.Session
	err := c.tap(ctx, &request{op: "OpenSession"}, func(ctx context.Context) (err error) {
		s, err = c.Conn.OpenSession(ctx, ttl)
		return err
	})
	if err != nil && s != nil { // nobody knows of it, and it is not to be renewed for ever
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_ = s.Close(ended)
	}
	if err != nil {
		return nil, err
	}
	return tappedSession{s, c.tap}, nil
}

func (c tappedConn) List(ctx context.Context, dir string) ([]driver.Node, error) {
	return through(ctx, c.tap, &request{op: "Conn.List"}, func(ctx context.Context) ([]driver.Node, error) {
		return c.Conn.List(ctx, dir)
	})
}

type tappedWatcher struct {
	driver.Watcher
	tap tap
}

func (w tappedWatcher) Watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	return func(yield func([]driver.Node, error) bool) {
		left := false
		c := &request{op: "Watch"}
		err := w.tap(ctx, c, func(ctx context.Context) error {
			for nodes, err := range w.Watcher.Watch(ctx, dir) {
				if err != nil {
					return err
				}
				if c.shows != nil {
					c.shows()
				}
				if left = !yield(nodes, nil); left {
					return nil
				}
			}
			return nil
		})
		if err != nil && !left {
			yield(nil, err)
		}
	}
}

type tappedSession struct {
	driver.Session
	tap tap
}

// of is a call of the session.
func (s tappedSession) of(op string, nodes ...driver.Node) *request {
	return &request{op: op, session: s.Session, nodes: nodes}
}

func (s tappedSession) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	return through(ctx, s.tap, s.of("Create"), func(ctx context.Context) (driver.Node, error) {
		return s.Session.Create(ctx, dir, id, data)
	})
}

func (s tappedSession) Abandon(ctx context.Context, dir, id string) error {
	return s.tap(ctx, s.of("Abandon"), func(ctx context.Context) error { return s.Session.Abandon(ctx, dir, id) })
}

func (s tappedSession) List(ctx context.Context, dir string) ([]driver.Node, error) {
	return through(ctx, s.tap, s.of("List"), func(ctx context.Context) ([]driver.Node, error) {
		return s.Session.List(ctx, dir)
	})
}

func (s tappedSession) WaitDelete(ctx context.Context, n driver.Node) error {
	return s.tap(ctx, s.of("WaitDelete", n), func(ctx context.Context) error { return s.Session.WaitDelete(ctx, n) })
}

func (s tappedSession) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	return through(ctx, s.tap, s.of("Update", n), func(ctx context.Context) (driver.Node, error) {
		return s.Session.Update(ctx, n, data)
	})
}

func (s tappedSession) Delete(ctx context.Context, n driver.Node) error {
	return s.tap(ctx, s.of("Delete", n), func(ctx context.Context) error { return s.Session.Delete(ctx, n) })
}

// delaying opens a client of whose calls some are made, or answered if they are late, only
// when the function returned is called.
func (t *Trial) delaying(which func(*request) bool, late bool) (c *coord.Client, free func()) {
	freed := make(chan struct{})
	wait := func(ctx context.Context) {
		select { // whichever is first
		case <-freed:
		case <-ctx.Done():
		case <-t.ctx.Done():
		}
	}
	c = t.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		held := which(c)
		if held && !late {
			wait(ctx)
		}
		err := next(ctx)
		if held && late {
			wait(ctx)
		}
		return err
	})
	return c, sync.OnceFunc(func() { close(freed) })
}

func isDelete(c *request) bool { return c.op == "Delete" }

package mem_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// calls are all calls that go over the link, on a session that has made n.
var calls = []struct {
	op    mem.Op
	name  string
	waits bool // for as long as it takes, and is not bounded per attempt
	make  func(ctx context.Context, c *mem.Conn, s driver.Session, n driver.Node) error
}{
	{op: mem.OpOpen, name: "OpenSession", make: func(ctx context.Context, c *mem.Conn, _ driver.Session, _ driver.Node) error {
		_, err := c.OpenSession(ctx, ttl)
		return err
	}},
	{op: mem.OpList, name: "Conn.List", make: func(ctx context.Context, c *mem.Conn, _ driver.Session, _ driver.Node) error {
		_, err := c.List(ctx, dir)
		return err
	}},
	{op: mem.OpCreate, name: "Create", make: func(ctx context.Context, _ *mem.Conn, s driver.Session, _ driver.Node) error {
		_, err := s.Create(ctx, dir, "x", nil)
		return err
	}},
	{op: mem.OpCreate, name: "CreateList", make: func(ctx context.Context, _ *mem.Conn, s driver.Session, _ driver.Node) error {
		_, _, err := s.(driver.CreateLister).CreateList(ctx, dir, "x", nil)
		return err
	}},
	{op: mem.OpAbandon, name: "Abandon", make: func(ctx context.Context, _ *mem.Conn, s driver.Session, n driver.Node) error {
		return s.Abandon(ctx, dir, n.ID)
	}},
	{op: mem.OpList, name: "List", make: func(ctx context.Context, _ *mem.Conn, s driver.Session, _ driver.Node) error {
		_, err := s.List(ctx, dir)
		return err
	}},
	{op: mem.OpWait, name: "WaitDelete", waits: true, make: func(ctx context.Context, _ *mem.Conn, s driver.Session, n driver.Node) error {
		return s.WaitDelete(ctx, n)
	}},
	{op: mem.OpWait, name: "WaitAny", waits: true, make: func(ctx context.Context, _ *mem.Conn, s driver.Session, n driver.Node) error {
		_, err := s.(driver.AnyWaiter).WaitAny(ctx, []driver.Node{n, n})
		return err
	}},
	{op: mem.OpUpdate, name: "Update", make: func(ctx context.Context, _ *mem.Conn, s driver.Session, n driver.Node) error {
		_, err := s.Update(ctx, n, []byte("new"))
		return err
	}},
	{op: mem.OpDelete, name: "Delete", make: func(ctx context.Context, _ *mem.Conn, s driver.Session, n driver.Node) error {
		return s.Delete(ctx, n)
	}},
	{op: mem.OpClose, name: "Close", make: func(ctx context.Context, _ *mem.Conn, s driver.Session, _ driver.Node) error {
		return s.Close(ctx)
	}},
}

// B1, E1
func TestEveryCallReturnsWhenItsCtxEndsOnAFrozenLink(t *testing.T) {
	for _, call := range calls {
		for _, d := range []mem.Direction{mem.Up, mem.Down, mem.Both} {
			t.Run(call.name, func(t *testing.T) {
				bubble(t, func(w world) {
					c := w.conn()
					s := w.session(c)
					n := w.create(s, "0")
					c.Link().Freeze(d)
					start, ctx := time.Now(), w.timeout(time.Second)
					err := call.make(ctx, c, s, n)
					w.is(err, ctx.Err())
					if !call.waits {
						w.is(err, driver.ErrUncertain)
					}
					if got := time.Since(start); got != time.Second {
						t.Errorf("returned after %v; want 1s", got)
					}
				})
			})
		}
	}
}

// B1, E1, E2: and surely nothing was done.
func TestNoCallIsMadeOnAnEndedCtx(t *testing.T) {
	for _, call := range calls {
		if call.op == mem.OpClose {
			continue // which needs no time to do its work
		}
		t.Run(call.name, func(t *testing.T) {
			bubble(t, func(w world) {
				c := w.conn()
				s := w.session(c)
				n := w.create(s, "0")
				before := w.store.Stats()
				ctx, cancel := context.WithCancel(w.ctx)
				cancel()
				err := call.make(ctx, c, s, n)
				w.is(err, context.Canceled)
				if !call.waits {
					w.is(err, driver.ErrUnavailable)
				}
				if after := w.store.Stats(); after != before {
					t.Errorf("the store has %+v; had %+v", after, before)
				}
			})
		})
	}
}

func TestAnAttemptWithoutReplyIsGivenUpAfterAThirdOfTheTTL(t *testing.T) {
	for _, call := range calls {
		if call.waits {
			continue
		}
		t.Run(call.name, func(t *testing.T) {
			bubble(t, func(w world) {
				c := w.conn()
				s := w.session(c)
				n := w.create(s, "0")
				c.Link().Freeze(mem.Down)
				start := time.Now()
				err := call.make(w.ctx, c, s, n)
				w.is(err, driver.ErrUncertain)
				want := ttl / 3
				if call.name == "Conn.List" { // which has no TTL
					want = 5 * time.Second
				}
				if got := time.Since(start); got != want {
					t.Errorf("given up after %v; want %v", got, want)
				}
			})
		})
	}
}

// E2
func TestRefusedCallHadNoEffect(t *testing.T) {
	faults := map[string]func(*mem.Link, mem.Op){
		"cut":  func(l *mem.Link, _ mem.Op) { l.Cut() },
		"lost": func(l *mem.Link, op mem.Op) { l.LoseNextRequest(op) },
	}
	for name, fault := range faults {
		for _, call := range calls {
			if call.waits {
				continue // which heal themselves
			}
			t.Run(name+"/"+call.name, func(t *testing.T) {
				bubble(t, func(w world) {
					c := w.conn()
					s := w.session(c)
					n := w.create(s, "0")
					before := w.store.Stats()
					fault(c.Link(), call.op)
					start := time.Now()
					err := call.make(w.ctx, c, s, n)
					w.is(err, driver.ErrUnavailable)
					if errors.Is(err, driver.ErrUncertain) || time.Since(start) != 0 {
						t.Errorf("after %v: %v; want it at once and certain", time.Since(start), err)
					}
					if after := w.store.Stats(); after != before {
						t.Errorf("the store has %+v; had %+v", after, before)
					}
					w.sees(n)
					if string(w.line()[0].Data) != "data of 0" {
						t.Error("the update was applied")
					}
				})
			})
		}
	}
}

// E2: the call was applied, and the error does not say that it was not.
func TestLostReplyIsUncertain(t *testing.T) {
	for _, call := range calls {
		if call.waits {
			continue
		}
		t.Run(call.name, func(t *testing.T) {
			bubble(t, func(w world) {
				c := w.conn()
				s := w.session(c)
				n := w.create(s, "0")
				c.Link().DropNextReply(call.op)
				start := time.Now()
				err := call.make(w.ctx, c, s, n)
				w.is(err, driver.ErrUncertain)
				if errors.Is(err, driver.ErrUnavailable) || time.Since(start) != 0 {
					t.Errorf("after %v: %v; want it at once", time.Since(start), err)
				}
				if err := call.make(w.ctx, c, s, n); err != nil {
					t.Errorf("the same call again: %v; the fault is meant for one", err)
				}
			})
		})
	}
}

func TestCallsAfterTheEndFail(t *testing.T) {
	ends := map[string]struct {
		end  func(w world, c *mem.Conn, s driver.Session)
		want error
	}{
		"session closed":    {func(w world, _ *mem.Conn, s driver.Session) { w.ok(s.Close(w.ctx)) }, driver.ErrClosed},
		"connection closed": {func(w world, c *mem.Conn, _ driver.Session) { w.ok(c.Close()) }, driver.ErrClosed},
		"session lost": {func(_ world, c *mem.Conn, _ driver.Session) {
			c.Link().Cut()
			sleep(ttl)
			_ = c.Link().Heal()
		}, driver.ErrSessionLost},
		// The client does not know yet, and is told by the very call.
		"session expired": {func(w world, _ *mem.Conn, s driver.Session) { w.store.Expire(s.ID()) }, driver.ErrSessionLost},
	}
	for name, e := range ends {
		for _, call := range calls {
			if call.op == mem.OpClose || call.op == mem.OpOpen || call.name == "Conn.List" {
				continue
			}
			t.Run(name+"/"+call.name, func(t *testing.T) {
				bubble(t, func(w world) {
					c := w.conn()
					s := w.session(c)
					n := w.create(s, "0")
					e.end(w, c, s)
					start := time.Now()
					err := call.make(w.ctx, c, s, n)
					w.is(err, e.want)
					w.is(s.Err(), e.want)
					if time.Since(start) != 0 || !done(s) {
						t.Errorf("after %v, Done closed: %v; want it at once", time.Since(start), done(s))
					}
					w.sees()
				})
			})
		}
	}
}

// A call that is under way when its session ends returns with the reason.
func TestTheEndOfTheSessionEndsItsCalls(t *testing.T) {
	for _, call := range calls {
		if call.op == mem.OpClose {
			continue
		}
		t.Run(call.name, func(t *testing.T) {
			bubble(t, func(w world) {
				c := w.conn()
				s := w.session(c)
				n := w.create(s, "0")
				c.Link().Freeze(mem.Up)
				result := async(func() error { return call.make(w.ctx, c, s, n) })
				w.pending(result)
				w.ok(c.Close())
				w.is(w.ended(result), driver.ErrClosed)
			})
		})
	}
}

func TestClosedConnectionRefusesNewWork(t *testing.T) {
	bubble(t, func(w world) {
		c := w.conn()
		w.ok(c.Close())
		w.ok(c.Close())
		_, err := c.OpenSession(w.ctx, ttl)
		w.is(err, driver.ErrClosed)
		_, err = c.List(w.ctx, dir)
		w.is(err, driver.ErrClosed)
	})
}

// F3
func TestCapsAgreeWithTheInterfaces(t *testing.T) {
	bubble(t, func(w world) {
		c := w.conn()
		s := w.session(c)
		_, lists := driver.As[driver.CreateLister](s)
		_, waits := driver.As[driver.AnyWaiter](s)
		_, watches := driver.As[driver.Watcher](c)
		want := driver.CapCreateList | driver.CapWaitAny | driver.CapWatch
		if !lists || !waits || !watches || c.Caps() != want {
			t.Errorf("CreateLister %v, AnyWaiter %v, Watcher %v, caps %v", lists, waits, watches, c.Caps())
		}
	})
}

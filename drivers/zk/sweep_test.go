package zk

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// again makes a call as the layers above do: until the store has answered.
func again(call func() error) error {
	for {
		if err := call(); !driver.Transient(err) {
			return err
		}
	}
}

// life is a session that does a little of everything. theirs is a node that
// somebody else removes when remove is called. It ends with one node in "d", made
// last, of which the session is told.
func life(ctx context.Context, c *conn, s driver.Session, theirs driver.Node, remove func() error) (last driver.Node, err error) {
	var first, second driver.Node
	var all []driver.Node
	steps := []func() error{
		func() (err error) { first, err = s.Create(ctx, "d", "0", []byte("first")); return err },
		func() (err error) { second, all, err = s.(*session).CreateList(ctx, "d", "1", nil); return err },
		func() error {
			if len(all) != 3 || !all[0].Same(theirs) || !all[1].Same(first) || !all[2].Same(second) {
				return fmt.Errorf("listed %+v", all)
			}
			return nil
		},
		func() error {
			n, err := s.Update(ctx, first, []byte("updated"))
			if err == nil && !n.Same(first) {
				err = fmt.Errorf("updated %+v instead of %+v", n, first)
			}
			return err
		},
		func() (err error) { all, err = s.List(ctx, "d"); return err },
		func() error {
			if len(all) != 3 || string(all[1].Data) != "updated" {
				return fmt.Errorf("listed %+v", all)
			}
			return nil
		},
		func() error { return remove() },
		func() error { return s.WaitDelete(ctx, theirs) },
		func() error { return s.Delete(ctx, first) },
		func() error { return s.Abandon(ctx, "d", "1") },
		func() error { return s.Abandon(ctx, "d", "2") },
		func() (err error) { last, err = s.Create(ctx, "d", "0", []byte("last")); return err },
		func() error {
			if last.Seq <= second.Seq || last.Token <= second.Token || string(last.Data) != "last" {
				return fmt.Errorf("made %+v after %+v", last, second)
			}
			return nil
		},
		func() error {
			for nodes, err := range c.Watch(ctx, "d") {
				if err == nil && (len(nodes) != 1 || !nodes[0].Same(last)) {
					err = cmp.Or(s.Err(), fmt.Errorf("the watch shows %+v", nodes))
				}
				return err
			}
			return errors.New("the watch shows nothing")
		},
	}
	for i, step := range steps {
		if err := again(step); err != nil {
			return last, fmt.Errorf("step %d: %w", i, err)
		}
	}
	return last, nil
}

// sweep leads lives, to each of which something happens at another of its
// requests, until there is one to which nothing does.
func sweep(t *testing.T, happen func(f *fixture, s *session, c *tapped, frame []byte) (lost bool), check func(f *fixture, s *session, last driver.Node, err error)) {
	for k, done := int64(1), false; !done; k++ {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			f := start(t)
			other := f.peer()
			o := other.open(long)
			theirs := other.create(o, "d", "0")
			s := f.open(long)
			var requests atomic.Int64
			f.tap.intercept(func(c *tapped, op int32, frame []byte) bool {
				return op != 11 && requests.Add(1) == k && happen(f, s, c, frame)
			})
			last, err := life(within(t), f.conn, s, theirs, func() error { return o.Delete(within(t), theirs) })
			f.tap.intercept(nil)
			check(f, s, last, err)
			done = requests.Load() < k
		})
	}
}

// wantLived fails unless all of a life has happened, and nothing else.
func wantLived(f *fixture, s *session, last driver.Node, err error) {
	f.t.Helper()
	must(f.t, err)
	if names := f.names("d"); len(names) != 1 || !strings.HasSuffix(last.Key, "/"+names[0]) {
		f.t.Errorf("%v in the store; want %s", names, last.Key)
	}
	must(f.t, s.Err())
}

// wantEnded fails unless a life has ended with its session, or before that did.
func wantEnded(kinds ...error) func(f *fixture, s *session, last driver.Node, err error) {
	return func(f *fixture, s *session, last driver.Node, err error) {
		f.t.Helper()
		if err != nil && !slices.ContainsFunc(kinds, func(k error) bool { return errors.Is(err, k) }) {
			f.t.Errorf("got %v; want one of %v", err, kinds)
		}
		if err != nil {
			receive(f.t, "Done", s.Done())
			eventually(f.t, "no node", func() bool {
				return !slices.ContainsFunc(f.names("d"), func(base string) bool { return strings.HasPrefix(base, s.ID()) })
			})
		}
	}
}

// The connection is reset before each request of a life in turn.
func TestResetAtEachRequest(t *testing.T) {
	sweep(t, func(*fixture, *session, *tapped, []byte) bool { return true }, wantLived)
}

// The reply to each request of a life in turn is lost.
func TestLostReplyAtEachRequest(t *testing.T) {
	sweep(t, func(f *fixture, _ *session, c *tapped, frame []byte) bool {
		c.loseReply(f.t, frame)
		return true
	}, wantLived)
}

// The request arrives, and the connection is reset at once: it may be carried out
// while the driver is back on another.
func TestResetAfterEachRequest(t *testing.T) {
	sweep(t, func(f *fixture, _ *session, c *tapped, frame []byte) bool {
		c.detach()
		if _, err := c.Conn.Write(bytes.Clone(frame)); err != nil {
			f.t.Error(err)
		}
		_ = c.Conn.Close()
		return true
	}, wantLived)
}

// The store ends the session at each request.
func TestExpiryAtEachRequest(t *testing.T) {
	sweep(t, func(f *fixture, s *session, _ *tapped, _ []byte) bool {
		f.expire(s)
		return false
	}, wantEnded(driver.ErrSessionLost))
}

// The session, and the connection, are closed at each request.
func TestCloseAtEachRequest(t *testing.T) {
	for name, end := range map[string]func(f *fixture, s *session) error{
		"session":    func(_ *fixture, s *session) error { return s.Close(context.Background()) },
		"connection": func(f *fixture, _ *session) error { return f.conn.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			var all sync.Map // by fixture, how Close has ended
			closed := func(f *fixture) chan error {
				c, _ := all.LoadOrStore(f, make(chan error, 1))
				return c.(chan error)
			}
			sweep(t, func(f *fixture, s *session, _ *tapped, _ []byte) bool {
				go func() { closed(f) <- end(f, s) }()
				receive(f.t, "Done", s.Done()) // in the middle of the request
				return false
			}, func(f *fixture, s *session, last driver.Node, err error) {
				if err != nil {
					must(f.t, receive(f.t, "Close", closed(f)))
				}
				wantEnded(driver.ErrClosed)(f, s, last, err)
			})
		})
	}
}

// An operator removes the directory at each request.
func TestDirectoryRemovedAtEachRequest(t *testing.T) {
	sweep(t, func(f *fixture, _ *session, _ *tapped, _ []byte) bool {
		must(f.t, removeAll(f.admin, f.dir("d")))
		return false
	}, func(f *fixture, s *session, last driver.Node, err error) {
		must(f.t, s.Err())
		// What was removed is missed. But there is no error of another kind, and
		// the line goes on.
		if err != nil && !strings.Contains(err.Error(), "listed") && !strings.Contains(err.Error(), "shows") && !errors.Is(err, driver.ErrGone) {
			f.t.Error(err)
		}
		must(f.t, again(func() error { return s.Abandon(within(f.t), "d", "0") }))
		must(f.t, again(func() error { return s.Abandon(within(f.t), "d", "1") }))
		n := f.create(s, "d", "0")
		nodes, err := s.List(within(f.t), "d")
		must(f.t, err)
		if !n.Same(nodes[len(nodes)-1]) || n.Token <= last.Token {
			f.t.Errorf("made %+v after %+v, and listed %+v", n, last, nodes)
		}
	})
}

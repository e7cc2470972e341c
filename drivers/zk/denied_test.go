package zk

import (
	"bytes"
	"context"
	"errors"
	"testing"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/recipes/election"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// directory has an operator make a directory.
func (f *fixture) directory(dir string) {
	f.t.Helper()
	_, err := f.admin.Create(f.dir(dir), nil, 0, f.acl)
	must(f.t, err)
}

// allow lets everybody do in a directory what perms say, and no more.
func (f *fixture) allow(dir string, perms int32) {
	f.t.Helper()
	_, err := f.admin.SetACL(f.dir(dir), gozk.WorldACL(perms|gozk.PermAdmin), -1)
	must(f.t, err)
}

// private puts something into a directory, under a node's name, that only its
// maker may read.
func (f *fixture) private(dir string) (remove func()) {
	f.t.Helper()
	path := f.dir(dir) + "/0123456789abcdef-0-1-0000000000"
	_, err := f.admin.Create(path, nil, 0, gozk.DigestACL(gozk.PermAll, "you", "secret"))
	must(f.t, err)
	return func() { must(f.t, f.admin.Delete(path, -1)) }
}

// wantToldWhy wants an error that says that a permission is missing, and that there
// may be a node.
func wantToldWhy(t *testing.T, err error) {
	t.Helper()
	for _, kind := range []error{driver.ErrUncertain, driver.ErrDenied, gozk.ErrNoAuth} {
		wantIs(t, err, kind)
	}
	for _, kind := range []error{driver.ErrUnavailable, driver.ErrInvalid} {
		if errors.Is(err, kind) {
			t.Errorf("there is a node, and the error is %v", err)
		}
	}
	if driver.Transient(err) {
		t.Errorf("to try again is of no use, and the error is %v", err)
	}
}

// Who may make a node, and not look at it, has made one.
func TestMadeAndDeniedToRead(t *testing.T) {
	for name, create := range map[string]func(ctx context.Context, s *session) error{
		"Create": func(ctx context.Context, s *session) error {
			_, err := s.Create(ctx, "d", "0", nil)
			return err
		},
		"CreateList": func(ctx context.Context, s *session) error {
			_, _, err := s.CreateList(ctx, "d", "0", nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			s := f.open(long)
			f.directory("d")
			f.allow("d", gozk.PermCreate|gozk.PermDelete)
			wantToldWhy(t, create(within(t), s))
			f.allow("d", gozk.PermAll)
			f.wantNames("d", 1)
			f.allow("d", gozk.PermCreate|gozk.PermDelete)
			must(t, s.Abandon(within(t), "d", "0")) // to which nothing has to be read
			f.allow("d", gozk.PermAll)
			f.wantNames("d", 0)

			remove := f.private("d")
			must(t, create(within(t), s)) // which reads no other node
			f.wantNames("d", 2)
			remove()
			f.wantNames("d", 1)
		})
	}
}

// An earlier Create has made the node, as far as anybody knows.
func TestMadeBeforeAndDenied(t *testing.T) {
	t.Run("to look for it", func(t *testing.T) {
		f := start(t)
		s := f.open(long)
		f.directory("d")
		f.loseReply()
		_, err := s.Create(within(t), "d", "0", nil)
		wantIs(t, err, driver.ErrUncertain)
		f.allow("d", gozk.PermCreate|gozk.PermDelete)
		_, err = s.Create(within(t), "d", "0", nil)
		wantToldWhy(t, err)
		wantIs(t, s.Abandon(within(t), "d", "0"), driver.ErrDenied)
		f.allow("d", gozk.PermAll)
		f.wantNames("d", 1)
		must(t, s.Abandon(within(t), "d", "0"))
		f.wantNames("d", 0)
	})
	t.Run("to remove it", func(t *testing.T) {
		f := start(t)
		s := f.open(long)
		f.directory("d")
		n := f.create(s, "d", "0")
		release := f.abort(func(ctx context.Context) error { return s.Delete(ctx, n) })
		f.allow("d", gozk.PermAll&^gozk.PermDelete)
		_, err := s.Create(within(t), "d", "0", nil)
		wantToldWhy(t, err)
		release()
		f.allow("d", gozk.PermAll)
		f.wantNames("d", 1)
	})
}

// Who is denied the line it has joined leaves it.
func TestDeniedLockLeavesNothing(t *testing.T) {
	dir, err := coord.Dir("mutex", "m")
	must(t, err)
	t.Run("Lock", func(t *testing.T) {
		f := start(t)
		f.open(long) // makes the namespace
		f.directory(dir)
		f.allow(dir, gozk.PermCreate|gozk.PermDelete)
		_, err := mutex.New(programs(t, f)[0], "m").Lock(within(t))
		wantToldWhy(t, err)
		f.allow(dir, gozk.PermAll)
		eventually(t, "no node", func() bool { return len(f.names(dir)) == 0 })
	})
	t.Run("Run", func(t *testing.T) {
		f := start(t)
		f.open(long)
		dir, err := coord.Dir("election", "e")
		must(t, err)
		f.directory(dir)
		f.allow(dir, gozk.PermCreate|gozk.PermDelete)
		lead := func(context.Context, *election.Leadership) error { return nil }
		wantToldWhy(t, election.New(programs(t, f)[0], "e").Run(within(t), nil, lead, nil))
		f.allow(dir, gozk.PermAll)
		eventually(t, "no node", func() bool { return len(f.names(dir)) == 0 })
	})
	t.Run("TryLock", func(t *testing.T) {
		f := start(t)
		f.open(long)
		f.directory(dir)
		var remove func()
		f.tap.intercept(func(_ *tapped, op int32, frame []byte) bool {
			if op == opMulti && bytes.Contains(frame, []byte(f.dir(dir))) {
				f.tap.intercept(nil)
				remove = f.private(dir) // after the look, and before the joining
			}
			return false
		})
		_, err := mutex.New(programs(t, f)[0], "m").TryLock(within(t))
		wantIs(t, err, driver.ErrDenied)
		eventually(t, "no node but the other's", func() bool { return len(f.names(dir)) == 1 })
		remove()
	})
}

package etcd

import (
	"context"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

func TestWaitEndsWithTheNode(t *testing.T) {
	ends := map[string]func(f *fixture, owner *session, n driver.Node) error{
		"deleted by its owner": func(f *fixture, owner *session, n driver.Node) error {
			return owner.Delete(within(f.t), n)
		},
		"abandoned": func(f *fixture, owner *session, n driver.Node) error {
			return owner.Abandon(within(f.t), n.Dir, n.ID)
		},
		"its session closed": func(f *fixture, owner *session, _ driver.Node) error {
			return owner.Close(within(f.t))
		},
		"deleted by an operator": func(f *fixture, _ *session, n driver.Node) error {
			_, err := f.admin.Delete(within(f.t), n.Key)
			return err
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			s, owner := f.open(time.Minute), f.open(time.Minute)
			n, other := f.create(owner, "d", "0"), f.create(s, "d", "0")
			wait, own := waiting(within(t), s, n), waiting(within(t), s, other)
			f.eventuallyOpen("d")
			pendingStill(t, wait)
			must(t, end(f, owner, n))
			must(t, receive(t, "the wait", wait))
			pendingStill(t, own)
			must(t, s.WaitDelete(within(t), n)) // it is gone already
			must(t, s.Delete(within(t), other))
			must(t, receive(t, "the wait", own))
		})
	}
}

// The first wait of a directory, for what is gone before there is a watch.
func TestWaitForANodeThatIsGone(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	must(t, s.Delete(within(t), n))
	must(t, s.WaitDelete(within(t), n))

	f.create(s, "d", "0") // the same name, but not the node
	must(t, s.WaitDelete(within(t), n))
	later := start(t)
	must(t, later.open(time.Minute).WaitDelete(within(t), driver.Node{Dir: "d", Key: later.node("d", 1, "0"), Token: 1}))
}

func TestWaitForASuccessorOfTheSameName(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	first := f.create(s, "d", "0")
	watched := waiting(within(t), s, first)
	f.eventuallyOpen("d")
	must(t, s.Delete(within(t), first))
	must(t, receive(t, "the wait", watched))
	second := f.create(s, "d", "0")
	wait := waiting(within(t), s, second)
	f.eventuallyOpen("d")
	pendingStill(t, wait)
	must(t, s.WaitDelete(within(t), first))
	must(t, s.Delete(within(t), second))
	must(t, receive(t, "the wait", wait))
}

func TestWaitAny(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	nodes := []driver.Node{f.create(s, "d", "0"), f.create(s, "d", "1"), f.create(s, "d", "2")}
	type outcome struct {
		index int
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		i, err := s.WaitAny(within(t), nodes)
		done <- outcome{i, err}
	}()
	f.eventuallyOpen("d")
	_, err := s.Update(within(t), nodes[0], []byte("x"))
	must(t, err)
	must(t, s.Delete(within(t), nodes[1]))
	if o := receive(t, "the wait", done); o.err != nil || o.index != 1 {
		t.Errorf("WaitAny gave %+v; want index 1", o)
	}
	if i, err := s.WaitAny(within(t), nodes); err != nil || i != 1 {
		t.Errorf("WaitAny gave %d, %v at once; want index 1", i, err)
	}

	_, err = s.WaitAny(within(t), nil)
	wantIs(t, err, driver.ErrInvalid)
	foreign := nodes[0]
	foreign.Dir = "e"
	_, err = s.WaitAny(within(t), []driver.Node{nodes[0], foreign})
	wantIs(t, err, driver.ErrInvalid)
	wantIs(t, s.WaitDelete(within(t), foreign), driver.ErrInvalid)
}

func TestWaitEndsWithItsContext(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	ctx, cancel := context.WithCancel(within(t))
	wait := waiting(ctx, s, n)
	f.eventuallyOpen("d")
	cancel()
	wantIs(t, receive(t, "the wait", wait), context.Canceled)
	wantIs(t, s.WaitDelete(ctx, n), context.Canceled)
	must(t, s.Err())
}

func TestWaitEndsWithTheConnection(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	wait := waiting(within(t), s, n)
	f.eventuallyOpen("d")
	must(t, f.conn.Close())
	wantIs(t, receive(t, "the wait", wait), driver.ErrClosed)
	wantIs(t, s.WaitDelete(within(t), n), driver.ErrClosed)
	_, err := f.conn.List(within(t), "d")
	wantIs(t, err, driver.ErrClosed)
	_, err = f.OpenSession(within(t), time.Minute)
	wantIs(t, err, driver.ErrClosed)
	must(t, f.conn.Close())
}

// Sessions of one connection share the feed, and one's end leaves it to the
// others.
func TestSessionsShareAFeed(t *testing.T) {
	f := start(t)
	a, b := f.open(time.Minute), f.open(time.Minute)
	n := f.create(b, "d", "0")
	forA, forB := waiting(within(t), a, n), waiting(within(t), b, n)
	f.eventuallyOpen("d")
	must(t, a.Close(within(t)))
	wantIs(t, receive(t, "the wait", forA), driver.ErrClosed)
	pendingStill(t, forB)
	must(t, b.Delete(within(t), n))
	must(t, receive(t, "the wait", forB))
}

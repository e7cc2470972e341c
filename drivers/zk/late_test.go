package zk

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/drivertest"
)

// loseReply has the next request that changes something below the namespace
// carried out, and its reply lost with the connection.
func (f *fixture) loseReply() {
	f.tap.intercept(func(c *tapped, op int32, frame []byte) bool {
		if !writes[op] || !bytes.Contains(frame, []byte(f.space)) {
			return false
		}
		f.tap.intercept(nil)
		c.loseReply(f.t, frame)
		return true
	})
}

// loseReply has a request carried out, and its reply lost with the connection. The
// driver sees that afterwards: a server that has its session on another connection
// carries out nothing that comes by this one.
func (c *tapped) loseReply(t testing.TB, frame []byte) {
	c.busy.Add(1)
	defer c.busy.Done()
	c.detach()
	_ = c.Conn.SetReadDeadline(time.Now().Add(patience)) // the server may be slow to write it down
	if _, err := c.Conn.Write(frame); err != nil {
		t.Error(err)
	}
	for xid := uint32(0); xid != binary.BigEndian.Uint32(frame[4:]); {
		head := make([]byte, 4)
		if _, err := io.ReadFull(c.Conn, head); err != nil {
			t.Error(err)
			break
		}
		answer := make([]byte, binary.BigEndian.Uint32(head))
		if _, err := io.ReadFull(c.Conn, answer); err != nil {
			t.Error(err)
			break
		}
		xid = binary.BigEndian.Uint32(answer)
	}
	_ = c.Conn.Close()
}

// abort makes a call whose request is held back, and whose caller sees the
// connection reset. release lets the request land.
func (f *fixture) abort(do func(ctx context.Context) error) (release func()) {
	f.t.Helper()
	release = f.tap.hold(string(f.space) + "/d")
	wantIs(f.t, do(within(f.t)), driver.ErrUncertain)
	return release
}

// onBoth runs a test on one server, which drops what comes late as the connection is
// gone, and on three, where another one passes it on.
func onBoth(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Run("single", func(t *testing.T) { test(t, start(t)) })
	t.Run("three", func(t *testing.T) { test(t, startOn(t, triple.Get(t), nil)) })
}

func TestLateCreateAfterAbandon(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.open(long)
		f.create(s, "d", "bystander")
		release := f.abort(func(ctx context.Context) error {
			_, err := s.Create(ctx, "d", "0", nil)
			return err
		})
		must(t, s.Abandon(within(t), "d", "0"))
		release()
		f.wantNames("d", 1)
		n := f.create(s, "d", "0")
		nodes, err := s.List(within(t), "d")
		must(t, err)
		if len(nodes) != 2 || !nodes[1].Same(n) {
			t.Errorf("listed %+v; want %+v as the second", nodes, n)
		}
	})
}

func TestLateCreateAfterCreate(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.open(long)
		f.create(s, "d", "bystander")
		release := f.abort(func(ctx context.Context) error {
			_, _, err := s.CreateList(ctx, "d", "0", []byte("late"))
			return err
		})
		n := f.create(s, "d", "0")
		release()
		f.wantNames("d", 2)
		nodes, err := s.List(within(t), "d")
		must(t, err)
		if len(nodes) != 2 || !nodes[1].Same(n) || string(nodes[1].Data) != "0" {
			t.Errorf("listed %+v; want %+v as the second", nodes, n)
		}
	})
}

func TestReplyLost(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.open(long)
		f.create(s, "d", "bystander")
		f.loseReply()
		_, err := s.Create(within(t), "d", "0", []byte("first"))
		wantIs(t, err, driver.ErrUncertain)
		f.wantNames("d", 2)
		n, err := s.Create(within(t), "d", "0", []byte("second"))
		must(t, err)
		if string(n.Data) != "first" {
			t.Errorf("found %+v; want what was made first", n)
		}
		f.wantNames("d", 2)

		f.loseReply()
		wantIs(t, s.Abandon(within(t), "d", "0"), driver.ErrUncertain)
		f.wantNames("d", 1)
		must(t, s.Abandon(within(t), "d", "0"))
		again := f.create(s, "d", "0")
		if again.Seq <= n.Seq {
			t.Errorf("made %+v after %+v", again, n)
		}
		f.loseReply()
		wantIs(t, s.Delete(within(t), again), driver.ErrUncertain)
		must(t, s.Delete(within(t), again))
		f.wantNames("d", 1)
	})
}

func TestLateAbandonSparesTheNextNode(t *testing.T) {
	f := start(t)
	s := f.open(long)
	f.create(s, "d", "0")
	release := f.abort(func(ctx context.Context) error { return s.Abandon(ctx, "d", "0") })
	must(t, s.Abandon(within(t), "d", "0"))
	n := f.create(s, "d", "0")
	release()
	nodes, err := s.List(within(t), "d")
	must(t, err)
	if len(nodes) != 1 || !nodes[0].Same(n) {
		t.Errorf("listed %+v; want %+v", nodes, n)
	}
}

func TestConcurrentCreatesAndAbandons(t *testing.T) {
	f := start(t)
	slots := drivertest.CreateAndAbandon(t, f.open(long), 2) // the second raises the fence
	f.wantNames("d", slots)
}

// What looks like the session's own node, and was put there by somebody, is
// not.
func TestNamesakeOfSomebodyElse(t *testing.T) {
	f := start(t)
	s := f.open(long)
	f.create(s, "d", "bystander")
	forged := f.dir("d") + "/" + slotPrefix(s.ID(), "0") + "99-0000000099"
	_, err := f.admin.Create(forged, nil, 0, f.acl)
	must(t, err)
	f.loseReply()
	_, err = s.Create(within(t), "d", "0", nil)
	wantIs(t, err, driver.ErrUncertain)
	n := f.create(s, "d", "0")
	if n.Key == forged {
		t.Errorf("found %+v", n)
	}
	nodes, err := s.List(within(t), "d")
	must(t, err)
	if len(nodes) != 2 {
		t.Errorf("listed %+v", nodes)
	}
	must(t, f.admin.Delete(forged, -1))
}

package etcd

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coordkit/coordkit/coord/driver"
)

func TestLostGrantReply(t *testing.T) {
	f := start(t)
	var lost *pb.LeaseGrantRequest
	f.tap.intercept(func(c call) error {
		err := c.pass(c.ctx)
		if c.method == "LeaseGrant" && lost == nil {
			lost = c.req.(*pb.LeaseGrantRequest)
			return status.Error(codes.Unavailable, "reply lost by the test")
		}
		return err
	})
	s := f.open(2 * time.Second)
	if s.id == lost.ID {
		t.Errorf("session %x has the lease of a request of unknown outcome", s.id)
	}
	f.create(s, "d", "0")
	eventually(t, "the lease is revoked", func() bool { return !f.hasLease(lost.ID) })
}

// A grant that was given up arrives when the session that was granted instead has
// been closed: its lease is none that a request of the session was about.
func TestLateGrantOfASession(t *testing.T) {
	f := start(t)
	var late *pb.LeaseGrantRequest
	f.tap.intercept(func(c call) error {
		if r, ok := c.req.(*pb.LeaseGrantRequest); ok && late == nil {
			late = r
			return status.Error(codes.Unavailable, "held back by the test")
		}
		return c.pass(c.ctx)
	})
	s := f.open(time.Minute)
	f.create(s, "d", "0")
	must(t, s.Close(within(t)))
	_, err := pb.NewLeaseClient(f.admin.ActiveConnection()).LeaseGrant(within(t), late)
	must(t, err)
	if f.hasLease(s.id) {
		t.Error("the lease of a closed session exists again")
	}
	eventually(t, "the late lease is revoked", func() bool { return !f.hasLease(late.ID) })
}

// A server that finds the quota used up while it makes a change says so, and has made
// it.
func TestNoSpaceForWhatWasDone(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	f.tap.intercept(func(c call) error {
		err := c.pass(c.ctx)
		if err == nil && c.puts() {
			err = rpctypes.ErrGRPCNoSpace
		}
		return err
	})
	made := f.create(s, "d", "1") // which looks
	f.tap.intercept(func(c call) error {
		err := c.pass(c.ctx)
		if err == nil && c.puts() {
			err = rpctypes.ErrGRPCNoSpace
			f.tap.intercept(func(call) error { return rpctypes.ErrGRPCNoLeader })
		}
		return err
	})
	_, err := s.Create(within(t), "d", "2", nil) // which looks in vain
	wantIs(t, err, driver.ErrUncertain, rpctypes.ErrNoSpace)
	ctx, cancel := context.WithCancel(within(t))
	f.tap.intercept(func(c call) error {
		err := c.pass(c.ctx)
		if err == nil && c.puts() {
			err = rpctypes.ErrGRPCNoSpace
			cancel()
		}
		return err
	})
	_, err = s.Create(ctx, "d", "3", nil) // which does not look
	wantIs(t, err, driver.ErrUncertain, context.Canceled)
	f.tap.intercept(func(c call) error {
		err := c.pass(c.ctx)
		if err == nil && c.puts() {
			err = rpctypes.ErrGRPCNoSpace
		}
		return err
	})
	_, err = s.Update(within(t), n, []byte("new"))
	wantIs(t, err, driver.ErrUncertain, rpctypes.ErrNoSpace)
	f.tap.intercept(nil)
	f.wantKeys("d", 4)
	if again := f.create(s, "d", "1"); !again.Same(made) {
		t.Errorf("there are %+v and %+v", made, again)
	}

	var granted []int64
	f.tap.intercept(func(c call) error {
		err := c.pass(c.ctx)
		if r, ok := c.req.(*pb.LeaseGrantRequest); ok && err == nil {
			granted = append(granted, r.ID)
			return rpctypes.ErrGRPCNoSpace
		}
		return err
	})
	_, err = f.OpenSession(within(t), time.Minute)
	wantIs(t, err, driver.ErrUncertain, rpctypes.ErrNoSpace)
	for _, id := range granted {
		eventually(t, "the lease is revoked", func() bool { return !f.hasLease(id) })
	}
	if n := len(granted); n != 1 {
		t.Errorf("%d leases were asked for; want 1", n)
	}
}

// What the server refuses before it proposes it is surely not there, and leaves nothing
// to clear up.
func TestNoSpaceForWhatWasNotDone(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	f.tap.intercept(func(c call) error {
		if c.puts() {
			return rpctypes.ErrGRPCNoSpace
		}
		return c.pass(c.ctx)
	})
	_, _, err := s.CreateList(within(t), "d", "0", nil)
	wantIs(t, err, driver.ErrUnavailable, rpctypes.ErrNoSpace)
	if errors.Is(err, driver.ErrUncertain) {
		t.Errorf("there is no node, and the error is %v", err)
	}
	f.tap.intercept(nil)
	f.wantKeys("d", 0)
	f.create(s, "d", "0")
}

// puts reports whether the call needs space.
func (c call) puts() bool {
	r, ok := c.req.(*pb.TxnRequest)
	return ok && slices.ContainsFunc(r.Success, func(o *pb.RequestOp) bool { return o.GetRequestPut() != nil })
}

// Every reply is lost: the lease that may exist is revoked.
func TestGrantRepliesAllLost(t *testing.T) {
	f := start(t)
	var id int64
	f.tap.intercept(func(c call) error {
		err := c.pass(c.ctx)
		if r, ok := c.req.(*pb.LeaseGrantRequest); ok {
			id = r.ID
			return status.Error(codes.Unavailable, "reply lost by the test")
		}
		return err
	})
	ctx, cancel := context.WithCancel(within(t))
	f.tap.mu.Lock()
	step := f.tap.step
	f.tap.mu.Unlock()
	f.tap.intercept(func(c call) error {
		err := step(c)
		if c.method == "LeaseGrant" {
			cancel()
		}
		return err
	})
	_, err := f.OpenSession(ctx, time.Minute)
	wantIs(t, err, driver.ErrUncertain, context.Canceled)
	eventually(t, "the lease is revoked", func() bool { return !f.hasLease(id) })
}

// The grant arrives after its caller has gone.
func TestLateGrant(t *testing.T) {
	f := start(t)
	release, arrived := make(chan struct{}), make(chan error, 1)
	var id int64
	ctx, cancel := context.WithCancel(within(t))
	f.tap.intercept(func(c call) error {
		r, ok := c.req.(*pb.LeaseGrantRequest)
		if !ok {
			return c.pass(c.ctx)
		}
		id = r.ID
		go func() {
			<-release
			_, err := pb.NewLeaseClient(f.admin.ActiveConnection()).LeaseGrant(context.Background(), r)
			arrived <- err
		}()
		cancel()
		<-c.ctx.Done()
		return status.FromContextError(c.ctx.Err()).Err()
	})
	_, err := f.OpenSession(ctx, time.Minute)
	wantIs(t, err, driver.ErrUncertain, context.Canceled)
	close(release)
	must(t, receive(t, "the late grant", arrived))
	eventually(t, "the lease is revoked", func() bool { return !f.hasLease(id) })
}

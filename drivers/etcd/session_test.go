package etcd

import (
	"context"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
)

func TestTTLOutOfRange(t *testing.T) {
	f := start(t)
	for _, ttl := range []time.Duration{0, -time.Second, time.Millisecond, 1500 * time.Millisecond, maxTTL + 1} {
		sent := f.tap.during(func() {
			_, err := f.OpenSession(within(t), ttl)
			wantIs(t, err, driver.ErrInvalid)
			if !strings.Contains(err.Error(), "from 1s") || !strings.Contains(err.Error(), maxTTL.String()) {
				t.Errorf("%q does not name the range", err)
			}
		})
		if len(sent) > 0 {
			t.Errorf("sent %v for a TTL of %v", sent, ttl)
		}
	}
}

// etcd grants no less than one and a half election timeouts.
func TestTTLBelowTheStoresMinimum(t *testing.T) {
	t.Parallel()
	slow := testserver.StartEtcd(t, testserver.EtcdOptions{Heartbeat: 200 * time.Millisecond, ElectionTimeout: 2 * time.Second})
	f := startOn(t, slow.ClientConfig(), slow.ClientConfig(), defaultTiming)
	_, err := f.OpenSession(within(t), 2*time.Second)
	wantIs(t, err, driver.ErrInvalid)
	if !strings.Contains(err.Error(), "3s") {
		t.Errorf("%q does not name the minimum of 3s", err)
	}
	eventually(t, "the lease is revoked", func() bool {
		resp, err := f.admin.Leases(within(t))
		must(t, err)
		return len(resp.Leases) == 0 && f.tap.sent("LeaseRevoke") == 1
	})
	if s := f.open(3 * time.Second); s.TTL() != 3*time.Second {
		t.Errorf("TTL is %v", s.TTL())
	}
}

func TestSessionOutlivesItsTTL(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := f.open(3 * time.Second)
	f.create(s, "d", "0")
	first := s.lease.Deadline()
	sent := f.tap.during(func() {
		eventually(t, "renewals for two TTLs", func() bool { return s.lease.Deadline().Sub(first) > 2*s.ttl })
	})
	must(t, s.Err())
	f.wantKeys("d", 1)
	if sent["LeaseKeepAlive"] > 1 {
		t.Errorf("%d streams for one session's renewals", sent["LeaseKeepAlive"])
	}
}

func TestSessionRevokedByAnOperator(t *testing.T) {
	f := start(t)
	s, other := f.open(2*time.Second), f.open(time.Minute) // whose renewals are long after the test
	n := f.create(other, "d", "0")
	f.create(s, "d", "0")
	wait := waiting(within(t), s, n)
	_, err := f.admin.Revoke(within(t), clientv3.LeaseID(s.id))
	must(t, err)
	receive(t, "Done", s.Done())
	wantIs(t, s.Err(), driver.ErrSessionLost)
	wantIs(t, receive(t, "the wait", wait), driver.ErrSessionLost)
	f.wantKeys("d", 1)
	must(t, other.Err()) // S8

	sent := f.tap.during(func() {
		_, err := s.Create(within(t), "d", "0", nil)
		wantIs(t, err, driver.ErrSessionLost)
		_, err = s.List(within(t), "d")
		wantIs(t, err, driver.ErrSessionLost)
		_, err = s.Update(within(t), n, nil)
		wantIs(t, err, driver.ErrSessionLost)
		wantIs(t, s.Delete(within(t), n), driver.ErrSessionLost)
		wantIs(t, s.Abandon(within(t), "d", "0"), driver.ErrSessionLost)
		wantIs(t, s.WaitDelete(within(t), n), driver.ErrSessionLost)
	})
	if len(sent) > 0 {
		t.Errorf("an ended session sent %v", sent)
	}
	must(t, s.Close(within(t)))
	wantIs(t, s.Err(), driver.ErrSessionLost) // only the first reason counts
}

// A create on a lease that is gone is how the session may learn of it first.
func TestCreateLearnsOfTheLoss(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	_, err := f.admin.Revoke(within(t), clientv3.LeaseID(s.id))
	must(t, err)
	_, err = s.Create(within(t), "d", "0", nil)
	wantIs(t, err, driver.ErrSessionLost)
	wantIs(t, s.Err(), driver.ErrSessionLost)
	receive(t, "Done", s.Done())
	f.wantKeys("d", 0)
}

func TestCloseRemovesTheNodesAtOnce(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	f.create(s, "d", "0")
	must(t, s.Abandon(within(t), "e", "0")) // leaves a fence
	n := f.create(other, "d", "0")
	wait := waiting(within(t), s, n)
	must(t, s.Close(within(t)))
	receive(t, "Done", s.Done())
	wantIs(t, s.Err(), driver.ErrClosed)
	wantIs(t, receive(t, "the wait", wait), driver.ErrClosed)
	f.wantKeys("d", 1)
	f.wantKeys(".fence", 0)
	if f.hasLease(s.id) {
		t.Error("the lease is still there")
	}
	sent := f.tap.during(func() { must(t, s.Close(within(t))) })
	if len(sent) > 0 {
		t.Errorf("closing again sent %v", sent)
	}
	_, err := s.Create(within(t), "d", "1", nil)
	wantIs(t, err, driver.ErrClosed)
}

// What Close could not do within its ctx goes on in the background.
func TestCloseWithAnEndedContext(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	f.create(s, "d", "0")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantIs(t, s.Close(ctx), context.Canceled)
	receive(t, "Done", s.Done())
	eventually(t, "the lease is revoked", func() bool { return !f.hasLease(s.id) })
	f.wantKeys("d", 0)
}

// The connection is closed right after: it does not forget the leases that it
// still has to revoke.
func TestConnCloseFinishesWhatSessionsLeft(t *testing.T) {
	f := start(t)
	left, open := f.open(time.Minute), f.open(time.Minute)
	f.create(left, "d", "0")
	f.create(open, "d", "0")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantIs(t, left.Close(ctx), context.Canceled)
	must(t, f.conn.Close())
	wantIs(t, open.Err(), driver.ErrClosed)
	if f.hasLease(left.id) || f.hasLease(open.id) {
		t.Error("a lease is left")
	}
	f.wantKeys("d", 0)
}

func TestSessionsHaveTheirOwnLeases(t *testing.T) {
	f := start(t)
	a, b := f.open(2*time.Second), f.open(2*time.Second)
	if a.ID() == b.ID() {
		t.Fatal("two sessions with one ID")
	}
	f.create(a, "d", "0")
	f.create(b, "d", "0")
	must(t, a.Close(within(t)))
	must(t, b.Err())
	f.wantKeys("d", 1)
}

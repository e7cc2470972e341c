package etcd

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
)

// What etcd can grant: whole seconds, up to lease.MaxLeaseTTL of its server.
// How little it grants depends on the servers' election timeout.
const (
	minTTL = time.Second
	maxTTL = 9_000_000_000 * time.Second
)

// grantAttempts is how often a grant is asked for whose replies are lost.
const grantAttempts = 3

// pause keeps attempts that fail at once apart.
const pause = 50 * time.Millisecond

// OpenSession implements driver.Conn.
func (c *conn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	o := op{name: "open session", write: true, limit: c.timing.of(ttl), life: c.ctx}
	if ttl < minTTL || ttl > maxTTL || ttl%time.Second != 0 {
		return nil, invalid(o, "a TTL of %v; etcd grants whole seconds from %v, or more as its election timeout wants, to %v", ttl, minTTL, maxTTL)
	}
	id, granted, sent, err := c.grant(ctx, o, ttl)
	if err != nil {
		return nil, err
	}
	if granted > ttl {
		c.revokeLater(id, o.limit, ttl, false)
		return nil, invalid(o, "a TTL of %v; the least that this etcd grants is %v, because of its election timeout", ttl, granted)
	}
	s := newSession(c, id, granted, sent)
	if !c.adopt(s) { // Close has begun in the meantime
		s.close()
		s.cancel()
		s.lease.Wait()
		_, _ = c.revoke(ctx, id, o.limit) // or it expires
		return nil, s.Err()
	}
	return s, nil
}

// grant asks for a lease until one is known to exist, and returns what was granted
// and when the request was sent that the grant counts from. The lease's number is
// chosen here, and is another with each attempt: a request that lands after its lease
// was revoked would make it again, with neither nodes nor fence, and whoever still
// renewed it would not be told. An error that Is ErrUncertain says that leases may
// exist or come to exist; they are revoked in the background.
func (c *conn) grant(ctx context.Context, o op, ttl time.Duration) (id int64, granted time.Duration, sent time.Time, err error) {
	var lost error // what became of an earlier request of unknown outcome
	for range grantAttempts {
		id, sent = 1+rand.Int64N(1<<63-1), time.Now()
		o.key = formatLease(id)
		resp := new(pb.LeaseGrantResponse)
		err = c.do(ctx, o, pb.Lease_LeaseGrant_FullMethodName, &pb.LeaseGrantRequest{ID: id, TTL: int64(ttl / time.Second)}, resp)
		switch {
		case err == nil:
			return id, time.Duration(resp.TTL) * time.Second, sent, nil
		case errors.Is(err, driver.ErrUncertain):
			lost = err
			answered := errors.Is(err, rpctypes.ErrNoSpace)
			c.revokeLater(id, o.limit, ttl, !answered)
			if answered { // there will be no more space in a moment
				return 0, 0, sent, err
			}
		case lost == nil:
			return 0, 0, sent, err
		}
		if !driver.Transient(err) || !sleep(ctx, pause) {
			break
		}
	}
	if ctx.Err() != nil {
		lost = failed(o, driver.ErrUncertain, driver.ContextError(ctx))
	}
	return 0, 0, sent, lost
}

// revoke ends a lease. One that does not exist is success; found tells.
func (c *conn) revoke(ctx context.Context, id int64, limit time.Duration) (found bool, err error) {
	o := op{name: "revoke", key: formatLease(id), write: true, limit: limit, life: c.ctx}
	resp := new(pb.LeaseRevokeResponse)
	if err = c.do(ctx, o, pb.Lease_LeaseRevoke_FullMethodName, &pb.LeaseRevokeRequest{ID: id}, resp); err == nil {
		c.saw(resp.Header)
	}
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return false, nil
	}
	return err == nil, err
}

// revokeLater ends a lease in the background, as well as it can: until the
// store confirms, the TTL has passed or the connection is closed. If mayAppear
// is set, a grant may still be on its way, so that a lease which does not
// exist proves nothing.
func (c *conn) revokeLater(id int64, limit, ttl time.Duration, mayAppear bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.farther.Go(func() { c.revokeUntilDone(id, limit, ttl, mayAppear) })
	}
}

func (c *conn) revokeUntilDone(id int64, limit, ttl time.Duration, mayAppear bool) {
	ctx, cancel := context.WithTimeout(c.ctx, ttl)
	defer cancel()
	for wait := pause; ; wait = min(2*wait, max(limit, ttl/10)) {
		found, err := c.revoke(ctx, id, limit)
		if found || err == nil && !mayAppear {
			return
		}
		leaving := c.leaving
		select {
		case <-leaving: // Close waits for this
			if err == nil {
				return
			}
			leaving, wait = nil, pause
		default:
		}
		timer := time.NewTimer(wait)
		// If ctx has ended as well, the next request finds out.
		select {
		case <-timer.C:
		case <-leaving: // try at once, as there will be little time
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			c.log.Debug("left a lease to expire", zap.String("lease", formatLease(id)), zap.Error(err))
			return
		}
	}
}

// sleep waits for d, and reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done(): // both may be ready: then the next request finds out
		return false
	}
}

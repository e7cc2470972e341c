package etcd

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
)

// session implements driver.Session, driver.CreateLister and driver.AnyWaiter
// on a lease.
type session struct {
	conn     *conn
	id       int64
	name     string // id as etcdctl shows it
	ttl      time.Duration
	lease    *lease.Lease
	renewal  *renewal
	fence    *fence
	fenceKey []byte
	names    *names
	revoked  atomic.Bool // the store has confirmed that the lease is gone

	ctx    context.Context // ends with the session
	cancel context.CancelFunc
}

var (
	_ driver.CreateLister = (*session)(nil)
	_ driver.AnyWaiter    = (*session)(nil)
)

// newSession makes the session of a lease that was granted for ttl by a request
// sent at the time given.
func newSession(c *conn, id int64, ttl time.Duration, sent time.Time) *session {
	s := &session{
		conn: c, id: id, name: formatLease(id), ttl: ttl,
		fence: newFence(), fenceKey: []byte(c.keyspace.fence(id)), names: newNames(),
	}
	s.ctx, s.cancel = context.WithCancel(c.ctx)
	s.renewal = newRenewal(s.ctx, c.leases, id)
	s.lease = lease.Keep(lease.Config{Store: store, Session: s.name, TTL: ttl, Sent: sent, Renew: s.renew})
	return s
}

// ID implements driver.Session: the lease as etcdctl shows it.
func (s *session) ID() string { return s.name }

// TTL implements driver.Session.
func (s *session) TTL() time.Duration { return s.ttl }

// Done implements driver.Session.
func (s *session) Done() <-chan struct{} { return s.lease.Done() }

// Err implements driver.Session.
func (s *session) Err() error { return s.lease.Err() }

// renew renews the lease once.
func (s *session) renew(ctx context.Context) error {
	o := s.op("session", s.ID())
	ttl, err := s.renewal.once(ctx)
	switch {
	case err == nil && ttl > 0:
		return nil
	case err == nil || errors.Is(rpctypes.Error(err), rpctypes.ErrLeaseNotFound):
		return failed(o, driver.ErrSessionLost, rpctypes.ErrLeaseNotFound)
	default:
		return failed(o, nil, cause(err)) // tried again until the lease cannot be proved
	}
}

// close ends the session without a word to the store.
func (s *session) close() {
	s.lease.End(failed(op{name: "session", key: s.ID()}, driver.ErrClosed, nil))
}

// limit is that of an attempt.
func (s *session) limit() time.Duration { return s.conn.timing.of(s.ttl) }

// op describes a read of the session.
func (s *session) op(name, key string) op {
	return op{name: name, key: key, limit: s.limit(), life: s.ctx}
}

// change describes a write.
func (s *session) change(name, key string) op {
	o := s.op(name, key)
	o.write = true
	return o
}

// live makes a call, unless the session is over, and turns the outcome into
// the session's error if it ends meanwhile: whoever is told of a success may
// rely on it that the session was alive after it.
func (s *session) live(call func() error) error {
	if err := s.Err(); err != nil {
		return err
	}
	err := call()
	if over := s.Err(); over != nil {
		return over
	}
	return err
}

// bound is live for a call that binds a key to the session's lease. The store
// refuses it when the lease is gone, which is then known before the next
// renewal tells. It is also known for sure: this answer is a majority's, and
// that to a renewal is one member's.
func (s *session) bound(call func() error) error {
	return s.live(func() error {
		err := call()
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			s.revoked.Store(true)
			s.lease.End(failed(op{name: "session", key: s.ID()}, driver.ErrSessionLost, rpctypes.ErrLeaseNotFound))
		}
		return err
	})
}

// List implements driver.Session. The read is linearizable, and so holds more
// than L3 asks for.
func (s *session) List(ctx context.Context, dir string) (nodes []driver.Node, err error) {
	err = s.live(func() (err error) {
		if nodes, _, err = s.conn.list(ctx, s.op("list", dir), dir); err == nil {
			s.conn.feeds.listed(s.conn.dir(dir), nodes, s.ID())
		}
		return err
	})
	return nodes, err
}

// Close implements driver.Session: it revokes the lease, which removes all
// nodes in one step. What the store does not confirm before ctx ends is tried
// on in the background until the lease has expired or the connection is
// closed.
func (s *session) Close(ctx context.Context) error {
	s.close()
	if s.revoked.Load() {
		return nil
	}
	_, err := s.conn.revoke(ctx, s.id, s.limit())
	if errors.Is(err, driver.ErrUncertain) && ctx.Err() == nil { // another member may answer
		_, err = s.conn.revoke(ctx, s.id, s.limit())
	}
	if err != nil {
		s.conn.revokeLater(s.id, s.limit(), s.ttl, false)
		return err
	}
	s.revoked.Store(true)
	return nil
}

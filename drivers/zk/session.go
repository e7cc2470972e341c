package zk

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
)

// session implements driver.Session, driver.CreateLister, driver.NameLister and
// driver.AnyWaiter on a link.
type session struct {
	conn  *conn
	link  *link
	id    int64
	ttl   time.Duration
	fence *fence
	slots slots
	alone alone

	nonce atomic.Uint64 // of the latest node's name

	parting  sync.Once
	said     chan struct{} // closed when the farewell is over
	farewell error         // how it went, once said is closed

	mu    sync.Mutex
	lease *lease.Lease // nil until the session is open
	lost  error        // why the store ended it before
}

var (
	_ driver.CreateLister = (*session)(nil)
	_ driver.NameLister   = (*session)(nil)
	_ driver.AnyWaiter    = (*session)(nil)
)

// ID implements driver.Session: the session as ZooKeeper's tools show it, with
// leading zeros.
func (s *session) ID() string { return formatSession(s.id) }

// TTL implements driver.Session.
func (s *session) TTL() time.Duration { return s.ttl }

// Done implements driver.Session.
func (s *session) Done() <-chan struct{} { return s.lease.Done() }

// Err implements driver.Session.
func (s *session) Err() error { return s.lease.Err() }

// start begins to keep the lease, which was granted on a request sent at the
// time given.
func (s *session) start(sent time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease = lease.Keep(lease.Config{
		Store:    store,
		Session:  s.ID(),
		TTL:      s.ttl,
		Sent:     sent,
		Renew:    s.renew,
		Interval: s.link.timing.beat,
		// Followers tell the leader twice in a tick which of their sessions
		// live. If one breaks down right after an answer, that news is lost.
		Discount: 1,
	})
	if s.lost != nil {
		s.lease.End(s.lost)
	}
}

// over is the link's onOver.
func (s *session) over(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = why
	if s.lease != nil {
		s.lease.End(why)
	}
}

// renew renews the lease once. Pings would not do: a server that is cut off from
// the others answers them. When there is no answer in time, another server is
// given the chance to.
func (s *session) renew(ctx context.Context) error {
	w := s.link.current()
	alarm := time.AfterFunc(s.link.timing.stuck, func() { w.drop("it does not renew the session") })
	defer alarm.Stop()
	return agree(ctx, s.link, op{name: "session", key: s.ID(), limit: s.ttl / 2})
}

// op describes a read of the session.
func (s *session) op(name, key string) op {
	return op{name: name, key: key, limit: s.link.timing.attempt}
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

// List implements driver.Session. A server that has the session has all that
// the session has been told of, and what preceded it (L3).
func (s *session) List(ctx context.Context, dir string) ([]driver.Node, error) {
	return s.list(ctx, dir, false)
}

func (s *session) list(ctx context.Context, dir string, byName bool) (nodes []driver.Node, err error) {
	err = s.live(func() (err error) {
		nodes, err = s.conn.list(ctx, s.link, s.op("list", dir), dir, byName)
		return err
	})
	return nodes, err
}

// end ends the session without a word to the store.
func (s *session) end() {
	why := failed(op{name: "session", key: s.ID()}, driver.ErrClosed, nil)
	s.lease.End(why)
	s.link.retire(s.lease.Err())
}

// Close implements driver.Session: it ends the session in the store, which
// removes all its nodes in one step. What the store has not confirmed when ctx
// ends is tried on in the background, until the session has expired or the
// connection is closed.
func (s *session) Close(ctx context.Context) error {
	s.end()
	c := s.conn
	c.mu.Lock()
	if !c.closed {
		s.startFarewell(&c.partings)
	}
	c.mu.Unlock()
	// If both are ready, either is true.
	select {
	case <-s.said:
		if s.farewell != nil {
			return failed(op{name: "close", key: s.ID()}, driver.ErrUncertain, s.farewell)
		}
		return nil
	case <-ctx.Done():
		return failed(op{name: "close", key: s.ID()}, driver.ErrUncertain, driver.ContextError(ctx))
	}
}

// startFarewell has the store end the session, once. The caller has ended it
// and holds the connection's lock.
func (s *session) startFarewell(partings *sync.WaitGroup) {
	s.parting.Do(func() {
		partings.Go(func() {
			ctx, cancel := context.WithTimeout(s.conn.ctx, s.ttl)
			defer cancel()
			if err := s.link.farewell(ctx); err != nil {
				s.farewell = fmt.Errorf("the store has not confirmed it: %w", notOfACtx(err))
			}
			close(s.said)
		})
	})
}

// attend lives as long as the session and clears up behind it. A session that
// was lost may still be closed by its owner; if it is not, the store has ended
// it a timeout later, as nothing was heard of it since.
func (s *session) attend() {
	<-s.Done()
	s.link.retire(s.Err())
	s.lease.Wait()
	expiry := time.NewTimer(s.link.lasts())
	defer expiry.Stop()
	// If more than one is ready, any will do.
	select {
	case <-s.said:
	case <-s.conn.ctx.Done():
	case <-expiry.C:
		s.parting.Do(func() { close(s.said) }) // nothing left to say
		<-s.said
	}
	s.link.shutDown(s.Err())
	s.link.rest()
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	delete(s.conn.sessions, s)
}

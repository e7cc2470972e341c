package consul

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
)

// session implements driver.Session, driver.CreateLister and driver.AnyWaiter
// on a session of Consul.
type session struct {
	conn      *conn
	id        string
	ttl       time.Duration
	lease     *lease.Lease
	fence     fence
	ledger    ledger
	destroyed atomic.Bool // the store has confirmed that the session is gone

	ctx    context.Context // ends with the session
	cancel context.CancelFunc

	mu      sync.Mutex
	looking chan struct{} // closed when it was looked up whether the session exists; nil: it is not
}

var (
	_ driver.CreateLister = (*session)(nil)
	_ driver.AnyWaiter    = (*session)(nil)
)

// newSession makes the session that was created by a request sent at the time
// given.
func newSession(c *conn, id string, ttl time.Duration, sent time.Time) *session {
	s := &session{conn: c, id: id, ttl: ttl}
	s.ctx, s.cancel = context.WithCancel(c.ctx)
	s.lease = lease.Keep(lease.Config{Store: store, Session: id, TTL: ttl, Sent: sent, Renew: s.renew})
	return s
}

// ID implements driver.Session: the session as /v1/session/list shows it.
func (s *session) ID() string { return s.id }

// TTL implements driver.Session. The server waits for twice as long.
func (s *session) TTL() time.Duration { return s.ttl }

// Done implements driver.Session.
func (s *session) Done() <-chan struct{} { return s.lease.Done() }

// Err implements driver.Session.
func (s *session) Err() error { return s.lease.Err() }

// renew renews the session once. That there is no such session is looked up
// again: a leader that was elected a moment ago may not have caught up with
// what its predecessor had acknowledged.
func (s *session) renew(ctx context.Context) error {
	o := s.renewal()
	err := s.conn.do(ctx, o, func(ctx context.Context, a *agent) error {
		var renewed []api.SessionEntry
		_, err := a.Raw().Write("/v1/session/renew/"+s.id, nil, &renewed, new(api.WriteOptions).WithContext(ctx))
		if err == nil && (len(renewed) != 1 || renewed[0].ID != s.id) {
			err = errNoAgent
		}
		return err
	})
	if !hasStatus(err, http.StatusNotFound) {
		return err
	}
	if err := s.lookUp(ctx); err != nil {
		return err
	}
	return failed(o, driver.ErrUnavailable, errors.New("the leader does not know the session yet"))
}

func (s *session) renewal() op {
	return op{name: "renew", key: s.id, urgent: true, keeping: true, limit: s.ttl / 2, life: s.ctx}
}

// lookUp asks whether the session exists. The error Is ErrSessionLost if it
// does not.
func (s *session) lookUp(ctx context.Context) error {
	exists, err := s.conn.exists(ctx, s.renewal(), s.id)
	if err == nil && !exists {
		s.destroyed.Store(true)
		return s.lost()
	}
	return err
}

// suspect is told that a node of the session is gone without its doing. That
// may be because the session is: then it ends here, and not with the next
// renewal. It returns when that is known, or ctx has ended. All who suspect at
// a time are served by one request.
func (s *session) suspect(ctx context.Context) {
	s.mu.Lock()
	looked := s.looking
	if looked == nil {
		looked = make(chan struct{})
		s.looking = looked
		s.conn.begin(func() { s.look(looked) })
	}
	s.mu.Unlock()
	// What is the first does not matter: the caller looks at all of them.
	select {
	case <-looked:
	case <-ctx.Done():
	case <-s.Done():
	}
}

func (s *session) look(looked chan struct{}) {
	if err := s.lookUp(s.ctx); errors.Is(err, driver.ErrSessionLost) {
		s.lease.End(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looking = nil
	close(looked)
}

func (s *session) lost() error {
	return failed(op{name: "session", key: s.id}, driver.ErrSessionLost, errNoSession)
}

// close ends the session without a word to the store.
func (s *session) close() {
	s.lease.End(failed(op{name: "session", key: s.id}, driver.ErrClosed, nil))
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
// rely on it that the session was alive after it. A transaction that is told
// that there is no such session ends it: that is known then before the next
// renewal tells.
func (s *session) live(call func() error) error {
	if err := s.Err(); err != nil {
		return err
	}
	err := call()
	if errors.Is(err, errNoSession) {
		s.destroyed.Store(true)
		s.lease.End(s.lost())
	}
	if over := s.Err(); over != nil {
		return over
	}
	return err
}

// List implements driver.Session.
func (s *session) List(ctx context.Context, dir string) (nodes []driver.Node, err error) {
	err = s.live(func() (err error) {
		nodes, err = s.list(ctx, s.op("list", dir), dir)
		return err
	})
	if err != nil {
		return nil, err
	}
	return nodes, nil
}

// list makes a list. A read as Consul makes it by default is enough if it shows the
// session's own nodes as they were acknowledged, which proves that it is not older
// (L3). Otherwise, or if there is none to go by, it takes one that is linearizable.
func (s *session) list(ctx context.Context, o op, dir string) ([]driver.Node, error) {
	c, page := s.conn, s.ledger.page(dir)
	if !page.empty() {
		kvs, err := c.listAs(ctx, o, c.dir(dir), api.QueryOptions{})
		if err != nil {
			return nil, err
		}
		if nodes := c.nodes(dir, kvs); page.shown(s.id, nodes) {
			return nodes, nil
		}
	}
	kvs, err := c.list(ctx, o, c.dir(dir))
	if err != nil {
		return nil, err
	}
	nodes := c.nodes(dir, kvs)
	s.ledger.missing(dir, page, nodes)
	return nodes, nil
}

// Close implements driver.Session: it destroys the session, which removes all
// nodes in one step. What the store does not confirm before ctx ends is tried
// on in the background until the session has expired or the connection is
// closed.
func (s *session) Close(ctx context.Context) error {
	s.close()
	if s.destroyed.Load() {
		return nil
	}
	if !s.conn.enter() { // Close of the connection has begun, and it does the rest
		return s.conn.destroy(ctx, s.id, s.limit())
	}
	defer s.conn.farther.Done()
	err := s.conn.destroy(ctx, s.id, s.limit())
	if errors.Is(err, driver.ErrUncertain) && ctx.Err() == nil { // another agent may answer
		err = s.conn.destroy(ctx, s.id, s.limit())
	}
	if err != nil {
		s.conn.farther.Go(func() { s.conn.destroyUntilDone(s.id, s.limit(), s.ttl) })
		return err
	}
	s.destroyed.Store(true)
	return nil
}

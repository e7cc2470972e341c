package slate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
	"github.com/coordkit/coordkit/examples/slate/slated"
)

// session is a lease in slated with what the driver knows of it.
type session struct {
	conn  *conn
	id    string
	ttl   time.Duration
	lease *lease.Lease
	fence fence

	life   context.Context // ends with the session
	cancel context.CancelFunc
}

func newSession(c *conn, id string, ttl time.Duration, sent time.Time) *session {
	s := &session{conn: c, id: id, ttl: ttl}
	s.life, s.cancel = context.WithCancel(c.life)
	s.lease = lease.Keep(lease.Config{Store: store, Session: id, TTL: ttl, Sent: sent, Renew: s.renew})
	return s
}

// attend ends the calls under way when the session ends, and sees its lease's
// goroutine out.
func (s *session) attend() {
	<-s.lease.Done()
	s.cancel()
	s.lease.Wait()
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	delete(s.conn.sessions, s)
}

func (s *session) renew(ctx context.Context) error {
	o := op{name: "renew", key: s.id, limit: s.ttl / 2, life: s.life}
	_, err := s.conn.do(ctx, o, slated.Request{Op: "renew", Lease: s.id, TTL: s.ttl})
	return err
}

// do makes a call for the session: not when it has ended, and an answer that
// comes when it has does not count.
func (s *session) do(ctx context.Context, o op, r slated.Request) (slated.Reply, error) {
	if err := s.Err(); err != nil {
		return slated.Reply{}, err
	}
	o.life = s.life
	reply, err := s.conn.do(ctx, o, r)
	if errors.Is(err, driver.ErrSessionLost) { // the store says so
		s.lease.End(err)
	}
	if over := s.Err(); over != nil {
		return slated.Reply{}, over
	}
	return reply, err
}

// write describes a change. Its attempts end after a third of the TTL, so that
// there is time for another while the session lives.
func (s *session) write(name, key string) op {
	return op{name: name, key: key, write: true, limit: min(s.ttl/3, 5*time.Second)}
}

func (s *session) ID() string            { return s.id }
func (s *session) TTL() time.Duration    { return s.ttl }
func (s *session) Done() <-chan struct{} { return s.lease.Done() }
func (s *session) Err() error            { return s.lease.Err() }

func (s *session) end() { s.lease.End(op{name: "session", key: s.id}.failed(driver.ErrClosed, nil)) }

func (s *session) Close(ctx context.Context) error {
	s.end()
	o := s.write("close", s.id)
	o.life = s.conn.life
	_, err := s.conn.do(ctx, o, slated.Request{Op: "revoke", Lease: s.id})
	if errors.Is(err, driver.ErrSessionLost) { // it is gone, which is what was asked for
		return nil
	}
	return err
}

func absent() *uint64 { return new(uint64) }

func checkData(o op, data []byte) error {
	if len(data) > driver.MaxData {
		return o.failed(driver.ErrInvalid, fmt.Errorf("%d bytes of data; the most is %d", len(data), driver.MaxData))
	}
	return nil
}

func (s *session) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	n, _, err := s.CreateList(ctx, dir, id, data)
	return n, err
}

// CreateList implements driver.CreateLister: the transaction that makes the
// node, or finds it, lists its directory as well.
func (s *session) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	key := s.conn.key(dir, s.id, id)
	o := s.write("create", key)
	if err := checkData(o, data); err != nil {
		return driver.Node{}, nil, err
	}
	list := slated.Action{Get: s.conn.prefix(dir)}
	r, err := s.fenced(ctx, o, slated.Request{
		Op:   "txn",
		If:   []slated.Cond{{Key: key, Created: absent()}},
		Then: []slated.Action{{Put: &slated.KV{Key: key, Value: data, Lease: s.id}}, list},
		Else: []slated.Action{list},
	})
	if err != nil {
		return driver.Node{}, nil, err
	}
	nodes := s.conn.nodes(dir, r.Got[0])
	for _, n := range nodes {
		if n.Key == key {
			return n, nodes, nil
		}
	}
	return driver.Node{}, nil, o.failed(nil, errors.New("somebody else has written that key"))
}

// Abandon moves the fence and removes the node in one step.
func (s *session) Abandon(ctx context.Context, dir, id string) error {
	key := s.conn.key(dir, s.id, id)
	_, err := s.fenced(ctx, s.write("abandon", key), slated.Request{Op: "txn", Then: []slated.Action{s.raise(), {Del: key}}})
	return err
}

func (s *session) List(ctx context.Context, dir string) ([]driver.Node, error) {
	o := op{name: "list", key: dir, limit: min(s.ttl/3, 5*time.Second)}
	r, err := s.do(ctx, o, slated.Request{Op: "txn", Then: []slated.Action{{Get: s.conn.prefix(dir)}}})
	if err != nil {
		return nil, err
	}
	return s.conn.nodes(dir, r.Got[0]), nil
}

func (s *session) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	o := s.write("update", n.Key)
	if err := checkData(o, data); err != nil {
		return driver.Node{}, err
	}
	r, err := s.fenced(ctx, o, slated.Request{
		Op:   "txn",
		If:   []slated.Cond{{Key: n.Key, Created: &n.Token}},
		Then: []slated.Action{{Put: &slated.KV{Key: n.Key, Value: data, Lease: s.id}}},
	})
	if err != nil {
		return driver.Node{}, err
	}
	if !r.OK {
		return driver.Node{}, o.failed(driver.ErrGone, nil)
	}
	n.Data, n.Version = bytes.Clone(data), r.Rev
	return n, nil
}

func (s *session) Delete(ctx context.Context, n driver.Node) error {
	_, err := s.do(ctx, s.write("delete", n.Key), slated.Request{
		Op:   "txn",
		If:   []slated.Cond{{Key: n.Key, Created: &n.Token}},
		Then: []slated.Action{{Del: n.Key}},
	})
	return err
}

func (s *session) WaitDelete(ctx context.Context, n driver.Node) error {
	o := op{name: "wait", key: n.Key, limit: 20 * time.Second}
	for {
		r, err := s.do(ctx, o, slated.Request{Op: "wait", Key: n.Key, Created: n.Token})
		if err != nil || r.OK {
			return err
		}
	}
}

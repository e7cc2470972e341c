package mem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
)

// session implements driver.Session, driver.CreateLister and driver.AnyWaiter.
type session struct {
	conn   *Conn
	lessee *lessee // names the session in requests; what it holds is the store's
	lease  *lease.Lease
	limit  time.Duration // of an attempt

	closed   atomic.Bool   // the store has ended the session because it was asked to
	attempts atomic.Uint64 // numbers what Create and Update send
	doubts   doubts
}

// newSession starts renewing a lease that was granted on a request sent at the
// given time.
func newSession(c *Conn, l *lessee, sent time.Time) *session {
	s := &session{conn: c, lessee: l, limit: attempt(l.ttl)}
	s.lease = lease.Keep(lease.Config{Store: scheme, Session: l.id, TTL: l.ttl, Sent: sent, Renew: s.renew})
	c.store.onLapse(l, func() (news bool) {
		select { // a look, not a wait
		case <-s.lease.Done():
			return false
		default:
			return s.lease.Err() != nil
		}
	})
	return s
}

func (s *session) renew(ctx context.Context) error {
	// Nothing but ctx bounds it: package lease knows best how long to wait.
	_, err := ask(ctx, s.conn.link, call{op: OpRenew, key: s.lessee.id}, s.lessee, (*Store).renew)
	if err == errNoSession {
		return s.lost()
	}
	return err
}

func (s *session) ID() string            { return s.lessee.id }
func (s *session) TTL() time.Duration    { return s.lessee.ttl }
func (s *session) Done() <-chan struct{} { return s.lease.Done() }
func (s *session) Err() error            { return s.lease.Err() }

func (s *session) Create(ctx context.Context, dir, id string, data []byte) (n driver.Node, err error) {
	c, err := s.create(ctx, dir, id, data, false)
	if err == nil {
		n = c.line[c.own]
	}
	return n, err
}

func (s *session) CreateList(ctx context.Context, dir, id string, data []byte) (n driver.Node, line []driver.Node, err error) {
	c, err := s.create(ctx, dir, id, data, true)
	if err == nil {
		n = c.line[c.own]
	}
	return n, c.line, err
}

func (s *session) create(ctx context.Context, dir, id string, data []byte, list bool) (created, error) {
	at := place{s.conn.namespace, dir}
	n, err := newNode(s.lessee, at, id, data)
	if err != nil {
		return created{}, err
	}
	for {
		if err := s.ready(ctx, OpCreate, dir); err != nil {
			return created{}, err
		}
		r := creation{node: n, at: at, attempt: s.attempts.Add(1), list: list}
		doubt := s.doubts.has(slot{dir, id})
		if doubt {
			// An earlier request may still be on its way. Once this one is
			// acknowledged, and its node perhaps deleted again, that one must
			// not land.
			r.void = r.attempt - 1
		}
		c, err := ask(ctx, s.conn.link, s.call(OpCreate, dir), r, (*Store).create)
		switch err {
		case errVoid: // the void was meant for others, but overtook this one
			continue // with the same node, which the store has not kept
		case nil:
			if doubt {
				s.doubts.drop(slot{dir, id})
			}
			return c, nil
		default:
			err = s.answer(OpCreate, dir, err)
			if !errors.Is(err, driver.ErrUnavailable) {
				s.doubts.add(slot{dir, id})
			}
			return created{}, err
		}
	}
}

func (s *session) Abandon(ctx context.Context, dir, id string) error {
	if err := s.ready(ctx, OpAbandon, dir); err != nil {
		return err
	}
	name := slot{dir, id}
	_, err := ask(ctx, s.conn.link, s.call(OpAbandon, dir),
		abandoning{s.lessee, name, s.attempts.Load()}, (*Store).abandon)
	if err == nil {
		s.doubts.drop(name)
	}
	return s.answer(OpAbandon, dir, err)
}

func (s *session) List(ctx context.Context, dir string) ([]driver.Node, error) {
	if err := s.ready(ctx, OpList, dir); err != nil {
		return nil, err
	}
	line, err := ask(ctx, s.conn.link, s.call(OpList, dir),
		listing{s.lessee, place{s.conn.namespace, dir}}, (*Store).list)
	return line, s.answer(OpList, dir, err)
}

func (s *session) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	if err := fits(OpUpdate, n.Key, data); err != nil {
		return driver.Node{}, err
	}
	if err := s.ready(ctx, OpUpdate, n.Key); err != nil {
		return driver.Node{}, err
	}
	now, err := ask(ctx, s.conn.link, s.call(OpUpdate, n.Key),
		update{change{s.lessee, s.exactly(n)}, bytes.Clone(data), s.attempts.Add(1)}, (*Store).update)
	return now, s.answer(OpUpdate, n.Key, err)
}

func (s *session) Delete(ctx context.Context, n driver.Node) error {
	if err := s.ready(ctx, OpDelete, n.Key); err != nil {
		return err
	}
	_, err := ask(ctx, s.conn.link, s.call(OpDelete, n.Key),
		change{s.lessee, s.exactly(n)}, (*Store).delete)
	return s.answer(OpDelete, n.Key, err)
}

// Close asks the store also when ctx has ended already or the session is lost:
// where the link is sound the nodes go at once, and nothing is waited for.
func (s *session) Close(ctx context.Context) error {
	s.lease.End(closedError("session", s.lessee.id))
	s.lease.Wait()
	s.conn.forget(s)
	if s.closed.Load() {
		return nil
	}
	_, err := ask(ctx, s.conn.link, call{OpClose, s.lessee.id, s.limit, nil}, s.lessee, (*Store).end)
	if err == nil {
		s.closed.Store(true)
	}
	return err
}

// part asks the store to end a session that has ended here, and waits for nothing.
func (s *session) part() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // so that nothing is waited for
	if _, err := ask(ctx, s.conn.link, call{op: OpClose, key: s.lessee.id}, s.lessee, (*Store).end); err == nil {
		s.closed.Store(true)
	}
}

func (s *session) exactly(n driver.Node) exact {
	return exact{place{s.conn.namespace, n.Dir}, n.Key, n.Token}
}

// call describes a call that the session's end ends.
func (s *session) call(op Op, key string) call { return call{op, key, s.limit, s.lease.Done()} }

// ready says why a call cannot be made at all.
func (s *session) ready(ctx context.Context, op Op, key string) error {
	if err := s.lease.Err(); err != nil {
		return err
	}
	return unsent(ctx, op, key)
}

// answer makes the caller's error of what came back.
func (s *session) answer(op Op, key string, err error) error {
	switch err {
	case nil:
		return nil
	case errNoSession: // the store says so before the clock does
		s.lease.End(s.lost())
		return s.lease.Err()
	case errQuit:
		return s.lease.Err()
	case errNoNode:
		return &driver.Error{Op: string(op), Store: scheme, Key: key, Kind: driver.ErrGone, Err: err}
	default:
		return err
	}
}

func (s *session) lost() error {
	return &driver.Error{Op: "session", Store: scheme, Key: s.lessee.id, Kind: driver.ErrSessionLost, Err: errNoSession}
}

// fits refuses data that is too long.
func fits(op Op, key string, data []byte) error {
	if len(data) <= driver.MaxData {
		return nil
	}
	return &driver.Error{Op: string(op), Store: scheme, Key: key, Kind: driver.ErrInvalid,
		Err: fmt.Errorf("%d bytes of data; the most is %d", len(data), driver.MaxData)}
}

// doubts are the slots of which a creation may still be on its way. There are
// none as long as the link is sound, and then looking costs an atomic load.
type doubts struct {
	n     atomic.Int64
	mu    sync.Mutex
	slots map[slot]struct{}
}

func (d *doubts) has(name slot) bool {
	if d.n.Load() == 0 {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.slots[name]
	return ok
}

func (d *doubts) add(name slot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.slots == nil {
		d.slots = make(map[slot]struct{})
	}
	d.slots[name] = struct{}{}
	d.n.Store(int64(len(d.slots)))
}

func (d *doubts) drop(name slot) {
	if d.n.Load() == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.slots, name)
	d.n.Store(int64(len(d.slots)))
}

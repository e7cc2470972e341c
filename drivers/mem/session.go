package mem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
)

// attempt is how long a session of the given TTL waits for one reply.
func attempt(ttl time.Duration) time.Duration { return min(ttl/3, longestAttempt) }

const longestAttempt = 5 * time.Second

// session implements driver.Session, driver.CreateLister and driver.AnyWaiter.
type session struct {
	store     *Store
	namespace string
	link      *Link
	granted   *storeLease // names the session in requests; its fields are the store's
	lease     *lease.Lease
	onClose   func() // when the store does not have the session any more

	mu    sync.Mutex
	doubt map[slot]bool // those of which a Create or Abandon was given up
}

// newSession starts renewing a lease that was asked for at the given time.
func newSession(l *Link, namespace string, granted *storeLease, sent time.Time) *session {
	s := &session{store: l.store, namespace: namespace, link: l, granted: granted, doubt: make(map[slot]bool)}
	s.lease = lease.Keep(lease.Config{Store: scheme, Session: granted.id, TTL: granted.ttl, Sent: sent, Renew: s.renew})
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	granted.notify = s.notice
	return s
}

// notice makes the session look at the clock, and reports whether it learns only
// now that its lease has run out.
func (s *session) notice() bool {
	select {
	case <-s.Done():
		return false
	default:
		return s.Err() != nil
	}
}

func (s *session) renew(ctx context.Context) error {
	_, err := ask(ctx, s.link, call{op: OpRenew, key: s.ID(), limit: noLimit}, func(uint64) (any, error) {
		return nil, s.store.renew(s.granted)
	})
	return s.answer(err)
}

func (s *session) ID() string            { return s.granted.id }
func (s *session) TTL() time.Duration    { return s.granted.ttl }
func (s *session) Done() <-chan struct{} { return s.lease.Done() }
func (s *session) Err() error            { return s.lease.Err() }

func (s *session) at(dir string) place { return place{s.namespace, dir} }

// answer makes the caller's error of what ask has returned.
func (s *session) answer(err error) error {
	if err == errNoSession { // the store says so before the clock does
		s.lease.End(call{op: "session", key: s.ID()}.failed(driver.ErrSessionLost, err))
		return s.Err()
	}
	return err
}

// request makes a call for a session that the store knows. What the store
// refuses because a later request has overtaken it is sent again.
func request[R any](ctx context.Context, s *session, op Op, key string, serve func(number uint64) (R, error)) (reply R, err error) {
	c := call{op, key, attempt(s.TTL()), s.Done(), s.Err}
	for err = errOvertaken; err == errOvertaken; {
		reply, err = ask(ctx, s.link, c, func(number uint64) (reply R, err error) {
			if s.granted.ended {
				return reply, errNoSession
			}
			return serve(number)
		})
	}
	return reply, s.answer(err)
}

// requestInOrder makes a Create or Abandon. If an earlier one of the slot was given
// up and may land late, it is void once this one has landed. So are those of other
// slots, as the store would have to keep a number per slot for ever. Of these the
// client sends again what a caller still waits for.
func requestInOrder[R any](ctx context.Context, s *session, op Op, name slot, serve func() R) (R, error) {
	s.mu.Lock()
	void := s.doubt[name]
	s.mu.Unlock()
	reply, err := request(ctx, s, op, name.dir, func(number uint64) (reply R, err error) {
		if number < s.granted.void {
			return reply, errOvertaken
		}
		if void {
			s.granted.void = number
		}
		return serve(), nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.doubt, name)
	} else if !errors.Is(err, driver.ErrUnavailable) {
		s.doubt[name] = true
	}
	return reply, err
}

func (s *session) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	n, _, err := s.CreateList(ctx, dir, id, data)
	return n, err
}

func (s *session) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	data, err := keep(OpCreate, dir, data)
	if err != nil {
		return driver.Node{}, nil, err
	}
	type created struct {
		node driver.Node
		line []driver.Node
	}
	made, err := requestInOrder(ctx, s, OpCreate, slot{dir, id}, func() (made created) {
		made.node = s.store.create(s.granted, s.at(dir), id, data)
		made.line = s.store.dirs[s.at(dir)].list()
		return made
	})
	return made.node, made.line, err
}

func (s *session) Abandon(ctx context.Context, dir, id string) error {
	_, err := requestInOrder(ctx, s, OpAbandon, slot{dir, id}, func() any {
		if n := s.granted.slots[slot{dir, id}]; n != nil {
			s.store.remove(n)
		}
		return nil
	})
	return err
}

func (s *session) List(ctx context.Context, dir string) ([]driver.Node, error) {
	return request(ctx, s, OpList, dir, func(uint64) ([]driver.Node, error) { return s.store.dirs[s.at(dir)].list(), nil })
}

func (s *session) WaitDelete(ctx context.Context, n driver.Node) error {
	_, err := s.WaitAny(ctx, []driver.Node{n})
	return err
}

func (s *session) WaitAny(ctx context.Context, nodes []driver.Node) (gone int, err error) {
	if len(nodes) == 0 {
		return 0, call{op: OpWait}.failed(driver.ErrInvalid, errors.New("no node to wait for"))
	}
	var topics []topic
	for _, n := range nodes {
		topics = append(topics, topic{token: n.Token})
	}
	err = follow(ctx, s.link, call{OpWait, nodes[0].Key, noLimit, s.Done(), s.Err}, topics,
		func() (int, error) {
			if s.granted.ended {
				return 0, errNoSession
			}
			return slices.IndexFunc(nodes, func(n driver.Node) bool { return s.store.find(s.at(n.Dir), n) == nil }), nil
		},
		func(i int) (enough bool) {
			gone = i
			return i >= 0 && s.Err() == nil // after the session's end no news counts
		})
	return gone, s.answer(err)
}

func (s *session) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	data, err := keep(OpUpdate, n.Key, data)
	if err != nil {
		return driver.Node{}, err
	}
	return request(ctx, s, OpUpdate, n.Key, func(number uint64) (driver.Node, error) {
		return s.store.update(s.at(n.Dir), n, data, number)
	})
}

func (s *session) Delete(ctx context.Context, n driver.Node) error {
	_, err := request(ctx, s, OpDelete, n.Key, func(uint64) (any, error) {
		if n := s.store.find(s.at(n.Dir), n); n != nil {
			s.store.remove(n)
		}
		return nil, nil
	})
	return err
}

// end ends the session for the client.
func (s *session) end() { s.lease.End(call{op: "session", key: s.ID()}.failed(driver.ErrClosed, nil)) }

// Close asks the store also when ctx has ended already or the session is lost. If that fails,
// Conn.Close asks again while the store may have the session.
func (s *session) Close(ctx context.Context) error {
	s.end()
	s.lease.Wait()
	_, err := ask(ctx, s.link, call{op: OpClose, key: s.ID(), limit: attempt(s.TTL())}, func(uint64) (any, error) {
		s.store.end(s.granted)
		return nil, nil
	})
	if err == nil {
		s.onClose()
	} else {
		time.AfterFunc(s.TTL(), s.onClose)
	}
	return err
}

// keep copies data, which the caller may write to later, unless it is too long.
func keep(op Op, key string, data []byte) ([]byte, error) {
	if len(data) > driver.MaxData {
		return nil, call{op: op, key: key}.failed(driver.ErrInvalid, fmt.Errorf("%d bytes of data; the most is %d", len(data), driver.MaxData))
	}
	return bytes.Clone(data), nil
}

package consul

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/batch"
)

// How changes share transactions. Consul takes 128 operations at a time, and 512
// KiB as they are sent (limits.txn_max_req_len): both are far.
const (
	mostSharedOps   = 64
	mostSharedBytes = 256 << 10
	opBytes         = 128 // of an operation as it is sent, but for what it says
)

// member is a change of a node that may be made together with others. Its caller
// may have gone when it is sent, so what it holds is its own.
type member struct {
	session *session
	dir     string // the prefix of the directory's keys
	ops     []*api.KVTxnOp
	size    int // as it is sent

	answered chan struct{} // closed when the following is set
	found    []*api.KVPair // not nil if it is done
	err      error
	refused  bool // nothing is known to be done: it is to be sent by itself
}

// newSharing makes the group of what may share. Its places are no room of their
// own: what goes by itself and what goes together take c.room like any call. So
// there are never more connections, and a list has no more than maxCalls changes
// ahead of it however many wait.
func newSharing(c *conn) *batch.Group[*member] {
	return &batch.Group[*member]{Limit: maxCalls, Most: mostSharedOps, Fits: fits, Send: c.sendShared}
}

// fits reports whether a member can share with others. One session has one end and
// one fence. Of a directory there can be one only: what is made at one time has one
// index, which could not tell the order of two nodes. And none may lie in another's,
// for trees are told apart by their keys.
func fits(others []*member, m *member) bool {
	ops, size := len(m.ops), m.size
	for _, other := range others {
		if other.session != m.session || strings.HasPrefix(m.dir, other.dir) || strings.HasPrefix(other.dir, m.dir) {
			return false
		}
		ops += len(other.ops)
		size += other.size
	}
	return ops <= mostSharedOps && size <= mostSharedBytes
}

func newMember(s *session, dir string, ops []*api.KVTxnOp) *member {
	m := &member{session: s, dir: dir, answered: make(chan struct{})}
	for _, theirs := range ops {
		op := *theirs
		op.Value = bytes.Clone(op.Value) // the caller may use its own again
		m.ops = append(m.ops, &op)
		m.size += opBytes + len(op.Key) + len(op.Session) + base64.StdEncoding.EncodedLen(len(op.Value))
	}
	return m
}

// txn changes a node of a directory by a transaction of its own, or of several if
// there is much going on.
func (s *session) txn(ctx context.Context, o op, dir string, ops ...*api.KVTxnOp) ([]*api.KVPair, conflict, error) {
	var made findings
	found, shared, err := s.share(ctx, o, dir, ops, s.conn.transact(ops, &made))
	if shared {
		return found, nil, err
	}
	return readAnswer(o, made, err)
}

// share makes a change by alone if there is room for a request, or else together
// with what also waits for room. It reports whether it has, and then what its
// operations have found. Waiting and the answer take no more than one attempt.
func (s *session) share(ctx context.Context, o op, dir string, ops []*api.KVTxnOp, alone func(context.Context, *agent) error) (found []*api.KVPair, shared bool, err error) {
	c := s.conn
	if err := c.ready(ctx, o); err != nil {
		return nil, false, err
	}
	attempt, end := c.attempt(ctx, o)
	defer end()
	single := false
	request := func() { single, err = true, c.ask(ctx, attempt, o, alone) }
	if c.sharing.Alone(request) {
		return nil, false, err
	}
	m := newMember(s, c.dir(dir), ops)
	switch sent := c.sharing.Do(attempt, m, request); {
	case single:
		return nil, false, err
	case !sent:
		return nil, false, c.failure(ctx, attempt, o, false, errCrowded)
	}
	// If both are ready either will do: who is told that it is uncertain finds out.
	select {
	case <-m.answered:
	case <-attempt.Done():
		return nil, true, c.failure(ctx, attempt, o, true, nil)
	}
	if m.refused {
		return nil, false, c.do(ctx, o, alone)
	}
	return m.found, true, renamed(o, m.err)
}

// renamed makes the error of one operation out of that of the shared one.
func renamed(o op, err error) error {
	var of *driver.Error
	if !errors.As(err, &of) {
		return err
	}
	return failed(o, of.Kind, of.Err)
}

// sendShared makes one transaction of several. If it is refused, because of one or
// for all of them, then nothing was done and each finds out by itself.
func (c *conn) sendShared(members []*member) {
	var ops []*api.KVTxnOp
	for _, m := range members {
		ops = append(ops, m.ops...)
	}
	s := members[0].session
	// No caller's ctx: each has one of its own.
	found, conflict, err := c.txn(context.Background(), s.change("change", s.id), ops...)
	if err == nil && conflict == nil && !split(members, found) {
		err = failed(op{}, driver.ErrUncertain, errFiltered) // it was done
	}
	lost := err != nil && (driver.Transient(err) || errors.Is(err, driver.ErrClosed))
	refused := err != nil || conflict != nil
	for _, m := range members {
		switch {
		case lost:
			m.err = err
		case refused:
			m.refused = true
		}
		close(m.answered)
	}
}

// split gives each member what its operations have found. It reports false if that
// is not what they find.
func split(members []*member, found []*api.KVPair) bool {
	for _, m := range members {
		n := 0 // of its own
		for _, op := range m.ops {
			rest := found[n:]
			switch op.Verb {
			case api.KVGetTree:
				for len(rest) > 0 && strings.HasPrefix(rest[0].Key, op.Key) {
					rest = rest[1:]
					n++
				}
			case api.KVCheckIndex, api.KVCheckSession, api.KVLock, api.KVCAS:
				if len(rest) == 0 || rest[0].Key != op.Key {
					return false
				}
				n++
			case api.KVCheckNotExists, api.KVDeleteCAS:
			default:
				return false
			}
		}
		m.found, found = found[:n:n], found[n:]
	}
	return len(found) == 0
}

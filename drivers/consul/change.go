package consul

import (
	"bytes"
	"context"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

// A transaction can ask for the index of a key's last change, but not for that
// of its creation, by which a node is told from its namesakes. So the last
// change is asked for as it was when the node was last seen. It cannot be a
// namesake's. If the key was changed in the meantime, a read tells whether it
// still is the node.

// Update implements driver.Session. The node may be another session's, and
// stays so.
func (s *session) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	o := s.change("update", n.Key)
	err := s.live(func() error {
		if err := checkData(o, data); err != nil {
			return err
		}
		session, ok := sessionOf(n.Key)
		if !ok || !s.conn.isIn(n) {
			return invalid(o, "not a node's key in directory %q", n.Dir)
		}
		found, err := s.onSame(ctx, o, n, func(index uint64) []*api.KVTxnOp {
			return []*api.KVTxnOp{ifHeldBy(n.Key, session), replace(n.Key, index, data)}
		})
		switch {
		case err != nil:
			return err
		case found == nil:
			s.dropped(n)
			return failed(o, driver.ErrGone, nil)
		case len(found) == 0:
			return failed(o, driver.ErrUncertain, errFilteredAfter)
		}
		n.Version = found[len(found)-1].ModifyIndex
		if session == s.id {
			s.ledger.wrote(n)
		}
		return nil
	})
	if err != nil {
		return driver.Node{}, err
	}
	n.Data = bytes.Clone(data) // the caller may use its own again
	return n, nil
}

// Delete implements driver.Session. By itself it is no transaction: one of one
// operation costs both sides more.
func (s *session) Delete(ctx context.Context, n driver.Node) error {
	o := s.change("delete", n.Key)
	return s.live(func() error {
		if !s.conn.isIn(n) {
			return invalid(o, "not a key in directory %q", n.Dir)
		}
		err := s.deleteSame(ctx, o, n)
		if err == nil {
			s.dropped(n)
			s.conn.watches.gone(n) // nobody here has to ask the store
		}
		return err
	})
}

func (s *session) deleteSame(ctx context.Context, o op, n driver.Node) error {
	for index := max(s.ledger.version(n), n.Token); index > 0; { // 0 would do it whatever is there
		done := false
		ops := []*api.KVTxnOp{removeSame(n.Key, index)}
		_, shared, err := s.share(ctx, o, n.Dir, ops, func(ctx context.Context, a *agent) (err error) {
			done, err = a.keys.remove(ctx, n.Key, index)
			return err
		})
		if err != nil || done || shared {
			return err
		}
		if index, err = s.moved(ctx, o, n, index); err != nil {
			return err
		}
	}
	return nil
}

// dropped takes note that a node is gone.
func (s *session) dropped(n driver.Node) {
	if n.Session == s.id {
		s.ledger.dropped(n.Dir, n.ID, n.Token)
	}
}

// isIn reports whether a node's key lies in its directory.
func (k keyspace) isIn(n driver.Node) bool { return strings.HasPrefix(n.Key, k.dir(n.Dir)) }

// onSame makes a transaction on that very node. It returns what the operations
// have found, or nil if the node is gone.
func (s *session) onSame(ctx context.Context, o op, n driver.Node, ops func(index uint64) []*api.KVTxnOp) ([]*api.KVPair, error) {
	index := max(s.ledger.version(n), n.Token) // 0 would ask for a key that does not exist
	for {
		found, conflict, err := s.txn(ctx, o, n.Dir, ops(index)...)
		if err != nil || conflict == nil {
			return found, err
		}
		if index, err = s.moved(ctx, o, n, index); err != nil || index == 0 {
			return nil, err
		}
	}
}

// moved returns the index of a node's last change, which is not the one given, or
// 0 if the node is gone.
func (s *session) moved(ctx context.Context, o op, n driver.Node, from uint64) (index uint64, err error) {
	read := o
	read.write = false
	kv, err := s.conn.get(ctx, read, n.Key)
	switch {
	case err != nil:
		return 0, err
	case kv == nil || kv.CreateIndex != n.Token:
		return 0, nil
	case kv.ModifyIndex == from && held(kv):
		return 0, failed(o, driver.ErrUnavailable, errNoReason)
	case kv.ModifyIndex == from: // its session does not hold it: it is no node any more
		return 0, nil
	}
	return kv.ModifyIndex, nil
}

package consul

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

// Create implements driver.Session.
func (s *session) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	n, _, err := s.create(ctx, dir, id, data, false)
	return n, err
}

// CreateList implements driver.CreateLister with the one request that Create
// makes.
func (s *session) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	return s.create(ctx, dir, id, data, true)
}

func (s *session) create(ctx context.Context, dir, id string, data []byte, list bool) (n driver.Node, all []driver.Node, err error) {
	o := s.change("create", dir)
	err = s.live(func() error {
		if err := checkData(o, data); err != nil {
			return err
		}
		for {
			var again bool
			n, all, again, err = s.createOnce(ctx, o, slot{dir, id}, data, list)
			if err != nil || !again {
				return err
			}
		}
	})
	if err != nil {
		return driver.Node{}, nil, err
	}
	s.ledger.wrote(n)
	if list {
		s.ledger.joined(n, all)
	}
	return n, all, nil
}

// The operations of the transaction that makes a node.
const (
	opFence = iota
	opAbsent
)

// createOnce makes the node if the fence stands where it is believed to stand.
// If it does not, it learns where, and is to be called again.
func (s *session) createOnce(ctx context.Context, o op, sl slot, data []byte, list bool) (n driver.Node, all []driver.Node, again bool, err error) {
	fence, move := s.fence.position(sl)
	if move {
		return n, nil, true, s.moveFence(ctx, o, fence)
	}
	c := s.conn
	key := c.node(sl.dir, s.id, sl.id)
	ops := []*api.KVTxnOp{ifIndex(c.fence(s.id), fence), unless(key), lock(key, s.id, data)}
	if list {
		ops = append(ops, tree(c.dir(sl.dir)))
	}
	found, conflict, err := s.txn(ctx, o, sl.dir, ops...)
	switch {
	case err != nil:
		if errors.Is(err, driver.ErrUncertain) {
			s.fence.doubt(sl, fence)
		}
		return n, nil, false, err
	case conflict == nil:
		return s.created(o, sl, key, found, data, list)
	case conflict[opFence] != "":
		return n, nil, true, s.learnFence(ctx, o, fence)
	case conflict[opAbsent] != "":
		return s.existing(ctx, o, sl, key, list)
	default:
		return n, nil, false, s.refused(ctx, o, conflict)
	}
}

// created reads the answer of the transaction: the fence if there is one, the
// node without its data, and the list.
func (s *session) created(o op, sl slot, key string, found []*api.KVPair, data []byte, list bool) (n driver.Node, all []driver.Node, again bool, err error) {
	kv := entryOf(found, key)
	if kv == nil {
		return n, nil, false, failed(o, driver.ErrUncertain, errFilteredAfter) // it was made
	}
	own := *kv
	own.Value = bytes.Clone(data) // the caller may use its own again
	n, _ = s.conn.asNode(sl.dir, &own)
	if list {
		for found[0] != kv {
			found = found[1:]
		}
		all = s.conn.nodes(sl.dir, found[1:])
		if len(all) == 0 {
			return n, nil, false, failed(o, driver.ErrUncertain, errFilteredAfter) // likewise
		}
	}
	return n, all, false, nil
}

// existing returns the node that an earlier request has made.
func (s *session) existing(ctx context.Context, o op, sl slot, key string, list bool) (n driver.Node, all []driver.Node, again bool, err error) {
	c := s.conn
	o.write = false
	var kvs api.KVPairs
	if list {
		kvs, err = c.list(ctx, o, c.dir(sl.dir))
	} else {
		var kv *api.KVPair
		if kv, err = c.get(ctx, o, key); kv != nil {
			kvs = api.KVPairs{kv}
		}
	}
	if err != nil {
		return n, nil, false, err
	}
	kv := entryOf(kvs, key)
	if kv == nil { // deleted in the meantime
		return n, nil, true, nil
	}
	n, ours := c.asNode(sl.dir, kv)
	if !ours {
		return n, nil, false, failed(o, nil, fmt.Errorf("key %s is held by session %q and not by this one: "+
			"somebody else has written it", key, kv.Session))
	}
	if list {
		all = c.nodes(sl.dir, kvs)
	}
	return n, all, false, nil
}

// Abandon implements driver.Session. It moves the session's fence and removes
// the node in one step, so that whatever earlier request is still on its way
// comes too late. That holds for a delayed Abandon as well.
func (s *session) Abandon(ctx context.Context, dir, id string) error {
	o, sl := s.change("abandon", dir), slot{dir, id}
	return s.live(func() error {
		for {
			fence, _ := s.fence.position(sl)
			moved, err := s.tryMoveFence(ctx, o, fence, remove(s.conn.node(dir, s.id, id)))
			if errors.Is(err, driver.ErrUncertain) {
				s.fence.doubt(sl, fence)
			}
			if moved {
				stands, _ := s.fence.position(sl)
				s.ledger.abandoned(dir, id, stands)
			}
			if err != nil || moved {
				return err
			}
		}
	})
}

// moveFence moves the fence from where it stands, or learns where it stands.
func (s *session) moveFence(ctx context.Context, o op, from uint64) error {
	_, err := s.tryMoveFence(ctx, o, from)
	return err
}

// tryMoveFence moves the fence, together with doing something else, and reports
// whether it did. If it did not, the position is another one, which is known
// now.
func (s *session) tryMoveFence(ctx context.Context, o op, from uint64, with ...*api.KVTxnOp) (moved bool, err error) {
	key := s.conn.fence(s.id)
	ops := append([]*api.KVTxnOp{ifIndex(key, from), lock(key, s.id, mark(from))}, with...)
	found, conflict, err := s.conn.txn(ctx, o, ops...)
	switch {
	case err != nil:
		return false, err
	case conflict == nil && len(found) == 0:
		return false, failed(o, driver.ErrUncertain, errFilteredAfter)
	case conflict == nil:
		s.fence.saw(found[len(found)-1].ModifyIndex)
		return true, nil
	case conflict[opFence] != "":
		return false, s.learnFence(ctx, o, from)
	default:
		return false, s.refused(ctx, o, conflict)
	}
}

// learnFence finds out where the fence stands after a request which believed
// that it stood elsewhere.
func (s *session) learnFence(ctx context.Context, o op, believed uint64) error {
	o.write = false
	kv, err := s.conn.get(ctx, o, s.conn.fence(s.id))
	if err != nil {
		return err
	}
	var stands uint64
	if kv != nil {
		stands = kv.ModifyIndex
	}
	if believed == stands {
		return failed(o, driver.ErrUnavailable, errNoReason)
	}
	s.fence.saw(stands)
	s.fence.wentBack(believed, stands)
	return nil
}

// refused says why a transaction was refused that asked for what was so. A
// lock-delay comes with the end of a session that held the key, and this one's
// keys are held by no other, unless an operator has taken one.
func (s *session) refused(ctx context.Context, o op, c conflict) error {
	why := fmt.Errorf("the store refused the transaction: %v", c)
	for _, what := range c {
		if strings.Contains(what, "due to lock delay") {
			if err := s.lookUp(ctx); err != nil {
				return err
			}
			return failed(o, driver.ErrUnavailable, why)
		}
	}
	return failed(o, nil, why)
}

// errNoReason is for a key that was changed back and forth by somebody else.
var errNoReason = errors.New("the store refused a transaction whose conditions are met now")

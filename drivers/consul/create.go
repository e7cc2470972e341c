package consul

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// Create implements driver.Session.
func (s *session) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	n, _, err := s.create(ctx, dir, id, data, s.conn.node(dir, s.ID(), id))
	return n, err
}

// CreateList implements driver.CreateLister: the transaction that makes the node lists its
// directory as well.
func (s *session) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	return s.create(ctx, dir, id, data, s.conn.dir(dir))
}

// create makes a node, and returns it with the nodes whose keys begin with the prefix.
func (s *session) create(ctx context.Context, dir, id string, data []byte, prefix string) (driver.Node, []driver.Node, error) {
	key := s.conn.node(dir, s.ID(), id)
	o := s.Write("create", key)
	if err := driver.CheckData(data); err != nil {
		return driver.Node{}, nil, o.Failed(nil, err)
	}
	const absent = 0 // the first condition
	asOf := s.asOf()
	became, err := s.fenced(ctx, o, false, unless(key), lock(key, s.ID(), data), tree(prefix))
	switch {
	case err == nil && became.refused < 0:
		became.found = became.found[1:] // what the lock tells has no value
	case err == nil && became.refused == absent: // an earlier request has made it
		became, err = s.fenced(ctx, o, false, tree(prefix))
	}
	if err != nil {
		return driver.Node{}, nil, err
	}
	i := slices.IndexFunc(became.found, func(kv *api.KVPair) bool { return kv.Key == key })
	switch {
	case became.refused >= 0:
		return driver.Node{}, nil, errRefused(o)
	case i < 0:
		return driver.Node{}, nil, o.Failed(driver.ErrUncertain, errors.New("the node of an earlier request is gone, or the token may not read it"))
	case became.found[i].Session != s.ID():
		return driver.Node{}, nil, o.Failed(driver.ErrInvalid, fmt.Errorf("the key is held by session %q and not by this one: "+
			"an operator has written it; delete it", became.found[i].Session))
	}
	all := s.conn.nodes(dir, became.found)
	n := all[slices.IndexFunc(all, func(n driver.Node) bool { return n.Key == key })]
	s.wrote(n, asOf)
	return n, all, nil
}

// errRefused: Consul has refused a transaction whose conditions are met.
func errRefused(o attempt.Op) error {
	return o.Failed(driver.ErrUnavailable, errors.New("the store refused a transaction whose conditions are met"))
}

// Abandon implements driver.Session: it moves the fence and removes the node in one step.
func (s *session) Abandon(ctx context.Context, dir, id string) error {
	key := s.conn.node(dir, s.ID(), id)
	_, err := s.fenced(ctx, s.Write("abandon", key), true, remove(key))
	s.removed(dir, key)
	return err
}

// fenced makes a transaction that does nothing if it arrives after a later one was
// answered. The outcome is that of the operations given.
func (s *session) fenced(ctx context.Context, o attempt.Op, move bool, ops ...*api.KVTxnOp) (became outcome, err error) {
	key := s.conn.fence(s.ID())
	err = s.fence.Do(move, func(at uint64, move bool) (now uint64, done bool, err error) {
		all := []*api.KVTxnOp{ifIndex(key, at)}
		if move {
			all = append(all, moveFence(key, s.ID(), at))
		}
		first := len(all)
		if err := s.Do(ctx, o, s.conn.txn(o, append(all, ops...), &became)); err != nil {
			return 0, false, err
		}
		switch {
		case became.refused == 0:
			now, err := s.readFence(ctx, o, at)
			return now, false, err
		case 0 < became.refused && became.refused < first:
			return 0, false, errRefused(o)
		}
		became.refused = max(became.refused-first, -1)
		for len(became.found) > 0 && became.found[0].Key == key {
			at = became.found[0].ModifyIndex
			became.found = became.found[1:]
		}
		return at, true, nil
	})
	return became, err
}

// readFence returns where the fence stands, which is not where it was believed to stand.
func (s *session) readFence(ctx context.Context, o attempt.Op, believed uint64) (now uint64, err error) {
	o.Write = false
	err = s.Do(ctx, o, s.conn.send(o, forCall, func(ctx context.Context, a *api.Client) error {
		kv, _, err := s.conn.readKey(a, s.conn.fence(s.ID()), consistently(ctx))
		if now = 0; kv != nil {
			now = kv.ModifyIndex
		}
		switch {
		case err != nil:
			return err
		case now == believed:
			return errRefused(o)
		case 0 < now && now < believed: // indexes rise
			return o.Failed(driver.ErrSessionLost, errors.New("the store was set back"))
		}
		return nil
	}))
	return now, err
}

// Update implements driver.Session. A transaction can ask for the index of a key's last
// change, but not for that of its creation. So it asks for the last change as it was when
// the node was last seen: that cannot be a namesake's. If the key was changed since, a read
// tells whether it still is the node.
func (s *session) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	o := s.Write("update", n.Key)
	if err := s.check(o, n); err != nil {
		return driver.Node{}, err
	}
	if err := driver.CheckData(data); err != nil {
		return driver.Node{}, o.Failed(nil, err)
	}
	asOf := s.asOf()
	became, err := s.onSame(ctx, o, n, func(index uint64) []*api.KVTxnOp {
		return []*api.KVTxnOp{ifHeld(n.Key, n.Session), replace(n.Key, index, data)}
	})
	if err != nil {
		return driver.Node{}, err
	}
	if became.refused >= 0 {
		return driver.Node{}, o.Failed(driver.ErrGone, nil)
	}
	n.Data, n.Version = bytes.Clone(data), became.found[len(became.found)-1].ModifyIndex
	s.wrote(n, asOf)
	return n, nil
}

// Delete implements driver.Session.
func (s *session) Delete(ctx context.Context, n driver.Node) error {
	o := s.Write("delete", n.Key)
	if err := s.check(o, n); err != nil {
		return err
	}
	_, err := s.onSame(ctx, o, n, func(index uint64) []*api.KVTxnOp {
		return []*api.KVTxnOp{removeAt(n.Key, index)}
	})
	s.removed(n.Dir, n.Key)
	return err
}

// check refuses a node that no call has returned, before anything is sent.
func (s *session) check(o attempt.Op, n driver.Node) error {
	if !s.conn.isIn(n) || n.Token == 0 {
		return o.Failed(driver.ErrInvalid, fmt.Errorf("%s is not a node of the directory %q", n.Key, n.Dir))
	}
	return nil
}

// onSame makes a transaction on that very node. The outcome is refused if the node is gone.
func (s *session) onSame(ctx context.Context, o attempt.Op, n driver.Node, ops func(index uint64) []*api.KVTxnOp) (became outcome, err error) {
	for index := s.version(n); ; {
		err = s.Do(ctx, o, s.conn.txn(o, ops(index), &became))
		if err != nil || became.refused < 0 {
			return became, err
		}
		read := o
		read.Write = false
		var kv *api.KVPair
		err = s.Do(ctx, read, s.conn.send(read, forCall, func(ctx context.Context, a *api.Client) (err error) {
			kv, _, err = s.conn.readKey(a, n.Key, consistently(ctx))
			return err
		}))
		switch {
		case err != nil, kv == nil, kv.CreateIndex != n.Token, kv.ModifyIndex == index && !isHeld(kv):
			return became, err
		case kv.ModifyIndex == index:
			return became, errRefused(o)
		}
		index = kv.ModifyIndex
	}
}

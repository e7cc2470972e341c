package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// txn makes a transaction of a session.
func (s *session) txn(ctx context.Context, o attempt.Op, op clientv3.Op) (r *clientv3.TxnResponse, err error) {
	err = s.Do(ctx, o, func(ctx context.Context) error {
		resp, err := s.kv.Do(ctx, op)
		r = resp.Txn()
		return answer(o, err)
	})
	return r, err
}

// fenced executes ops in one transaction, and returns their replies and the revision. It
// does nothing if it arrives after a later one was answered: it asks for the revision of a
// key under the session's lease, and the first one after a lost reply changes that key.
// prove says that it is also to show that the lease lives; that the key is there shows it.
func (s *session) fenced(ctx context.Context, o attempt.Op, prove bool, ops ...clientv3.Op) (replies []*pb.ResponseOp, revision int64, err error) {
	key := s.keys.fence(s.ID())
	err = s.fence.Do(false, func(at uint64, move bool) (now uint64, done bool, err error) {
		then := ops
		move = move || prove && at == 0
		if move {
			then = append(ops[:len(ops):len(ops)], clientv3.OpPut(key, "", clientv3.WithLease(s.lease)))
		}
		r, err := s.txn(ctx, o, clientv3.OpTxn(
			[]clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(key), "=", int64(at))},
			then, []clientv3.Op{clientv3.OpGet(key)}))
		if err != nil {
			return 0, false, err
		}
		replies, revision = r.Responses, r.Header.Revision
		var stands uint64
		for _, kv := range replies[0].GetResponseRange().GetKvs() {
			stands = uint64(kv.ModRevision)
		}
		switch {
		case r.Succeeded && move:
			return uint64(revision), true, nil
		case r.Succeeded:
			return at, true, nil
		case 0 < stands && stands <= at:
			err = o.Failed(driver.ErrSessionLost, fmt.Errorf("the store was set back: revision %d after %d", stands, at))
			s.Lost(err)
			return 0, false, err
		default:
			return stands, false, nil
		}
	})
	return replies, revision, err
}

// Create implements driver.Session.
func (s *session) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	n, _, err := s.create(ctx, dir, id, data, s.keys.node(dir, s.ID(), id))
	return n, err
}

// CreateList implements driver.CreateLister: the transaction that makes the node, or finds
// it, lists its directory as well.
func (s *session) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	n, nodes, err := s.create(ctx, dir, id, data, s.keys.prefix(dir), clientv3.WithPrefix())
	if err == nil {
		s.waits.about(dir, func(f *feed) { f.known.listed(nodes, int64(n.Version)) })
	}
	return n, nodes, err
}

// create makes a node, unless it is there, and returns it with the nodes among the keys.
func (s *session) create(ctx context.Context, dir, id string, data []byte, keys string, opts ...clientv3.OpOption) (driver.Node, []driver.Node, error) {
	key := s.keys.node(dir, s.ID(), id)
	o := s.Write("create", key)
	if err := driver.CheckData(data); err != nil {
		return driver.Node{}, nil, o.Failed(nil, err)
	}
	put := clientv3.OpPut(key, string(data), clientv3.WithLease(s.lease))
	replies, revision, err := s.fenced(ctx, o, false,
		clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)}, []clientv3.Op{put}, nil),
		clientv3.OpGet(keys, opts...))
	var nodes []driver.Node
	switch {
	case err == nil:
		nodes = s.keys.nodes(dir, replies[1].GetResponseRange().Kvs, revision)
	case errors.Is(err, rpctypes.ErrNoSpace): // it may have been made all the same, see refusals
		var unknown error
		if nodes, unknown = s.List(ctx, dir); unknown != nil {
			return driver.Node{}, nil, undecided(o, err)
		}
	}
	for _, n := range nodes {
		if n.Key == key {
			return n, nodes, nil
		}
	}
	if err == nil {
		err = o.Failed(driver.ErrInvalid, errors.New("another client has written that key, without the lease of the session"))
	}
	return driver.Node{}, nil, err
}

// undecided is the error of a change that was refused, and may have had its effect.
func undecided(o attempt.Op, err error) error {
	return o.Failed(driver.ErrDenied, fmt.Errorf("%w: %w", driver.ErrUncertain, err))
}

// Abandon implements driver.Session. If a Create is in doubt the transaction changes the
// fence, and the Create has no effect any more.
func (s *session) Abandon(ctx context.Context, dir, id string) error {
	key := s.keys.node(dir, s.ID(), id)
	_, _, err := s.fenced(ctx, s.Write("abandon", key), true, clientv3.OpDelete(key))
	return err
}

// Update implements driver.Session. A put without the lease would set the node free from
// its session.
func (s *session) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	o := s.Write("update", n.Key)
	if err := driver.CheckData(data); err != nil {
		return driver.Node{}, o.Failed(nil, err)
	}
	replies, revision, err := s.fenced(ctx, o, false, clientv3.OpTxn(
		[]clientv3.Cmp{
			clientv3.Compare(clientv3.CreateRevision(n.Key), "=", int64(n.Token)),
			clientv3.Compare(clientv3.LeaseValue(n.Key), "=", s.lease),
		},
		[]clientv3.Op{clientv3.OpPut(n.Key, string(data), clientv3.WithLease(s.lease))}, nil))
	switch {
	case errors.Is(err, rpctypes.ErrNoSpace):
		return driver.Node{}, undecided(o, err)
	case err != nil:
		return driver.Node{}, err
	case !replies[0].GetResponseTxn().Succeeded:
		return driver.Node{}, o.Failed(driver.ErrGone, nil)
	}
	n.Data, n.Version = bytes.Clone(data), uint64(revision)
	return n, nil
}

// Delete implements driver.Session.
func (s *session) Delete(ctx context.Context, n driver.Node) error {
	r, err := s.txn(ctx, s.Write("delete", n.Key), clientv3.OpTxn(
		[]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(n.Key), "=", int64(n.Token))},
		[]clientv3.Op{clientv3.OpDelete(n.Key)}, nil))
	if err == nil && r.Succeeded { // else that node was gone before, and another one may be there
		s.waits.about(n.Dir, func(f *feed) { f.deleted(n.Key, r.Header.Revision) })
	}
	return err
}

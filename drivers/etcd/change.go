package etcd

import (
	"bytes"
	"context"
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/coordkit/coordkit/coord/driver"
)

// Update implements driver.Session. The node may be another session's, and
// stays so.
func (s *session) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	guard := s.live
	if lease, ok := leaseOf(n.Key); ok && lease == s.id {
		guard = s.bound
	}
	err := guard(func() (err error) {
		n, err = s.update(ctx, n, data)
		return err
	})
	if err != nil {
		return driver.Node{}, err
	}
	return n, nil
}

func (s *session) update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	o := s.change("update", n.Key)
	if err := checkData(o, data); err != nil {
		return n, err
	}
	lease, ok := leaseOf(n.Key)
	if !ok || !s.conn.dir(n.Dir).contains(n.Key) {
		return n, invalid(o, "not a node's key in directory %q", n.Dir)
	}
	for {
		again, err := s.updateOnce(ctx, o, &n, lease, data)
		switch {
		case errors.Is(err, rpctypes.ErrLeaseNotFound) && lease != s.id:
			return n, failed(o, driver.ErrGone, nil) // with its session, which was not this one
		case err != nil || !again:
			return n, err
		}
	}
}

// updateOnce replaces the data if the fence stands where it is believed to
// stand: as with creating, a request of unknown outcome must not come after
// the next one and undo it. If the fence does not stand there, it learns where,
// and is to be called again.
func (s *session) updateOnce(ctx context.Context, o op, n *driver.Node, lease int64, data []byte) (again bool, err error) {
	fence, raise := s.fence.position()
	if raise {
		return true, s.raiseFence(ctx, o, fence)
	}
	key := []byte(n.Key)
	// A put without the lease would set the node free from its session.
	resp, err := s.txn(ctx, o, s.conn.dir(n.Dir), data, &pb.TxnRequest{
		Compare: []*pb.Compare{ifCreated(key, int64(n.Token)), ifBound(key, lease), ifModified(s.fenceKey, fence)},
		Success: []*pb.RequestOp{put(key, data, lease)},
		Failure: []*pb.RequestOp{get(s.fenceKey), get(key)},
	})
	switch {
	case errors.Is(err, driver.ErrUncertain):
		s.fence.pending(fence)
		return false, err
	case err != nil:
		return false, err
	case resp.Succeeded:
		n.Data, n.Version = bytes.Clone(data), uint64(resp.Header.Revision)
		return false, nil
	}
	if kv := foundOne(resp, 1); kv.GetCreateRevision() != int64(n.Token) || kv.GetLease() != lease {
		return false, failed(o, driver.ErrGone, nil)
	}
	return true, s.fenceMoved(o, fence, foundOne(resp, 0))
}

// Delete implements driver.Session.
func (s *session) Delete(ctx context.Context, n driver.Node) error {
	dir := s.conn.dir(n.Dir)
	return s.live(func() error { return s.delete(ctx, s.change("delete", n.Key), dir, n) })
}

// delete deletes a node. By itself, and of a node that this session has made, it is no
// transaction: see names.
func (s *session) delete(ctx context.Context, o op, dir span, n driver.Node) (err error) {
	slot, key := dir.node(s.name, n.ID), []byte(n.Key)
	if s.names.deleting(slot, n) {
		defer func() { s.names.deleted(slot, n, err) }()
		alone := func() { err = s.conn.delete(ctx, o, key) }
		if s.conn.direct && s.conn.sharing.Alone(alone) {
			return err
		}
	} else {
		defer func() { s.names.doubted(slot, n, err) }()
	}
	_, err = s.txn(ctx, o, dir, nil, &pb.TxnRequest{
		Compare: []*pb.Compare{ifCreated(key, int64(n.Token))},
		Success: []*pb.RequestOp{remove(key)},
	})
	return err
}

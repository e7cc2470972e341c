package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

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
	err = s.bound(func() error {
		if err := checkData(o, data); err != nil {
			return err
		}
		for range mostTries {
			var again bool
			n, all, again, err = s.createOnce(ctx, o, dir, id, data, list)
			if err != nil || !again {
				return err
			}
		}
		return failed(o, driver.ErrUnavailable, errNoReason)
	})
	if err != nil {
		return driver.Node{}, nil, err
	}
	return n, all, nil
}

// mostTries is how often a node is tried to be made. Each time something else is
// in the way, which is rare even once.
const mostTries = 20

// createOnce makes the node if the fence stands where it is believed to stand.
// If it does not, it learns where, and is to be called again.
func (s *session) createOnce(ctx context.Context, o op, dir, id string, data []byte, list bool) (n driver.Node, all []driver.Node, again bool, err error) {
	fence, raise := s.fence.position()
	if raise {
		return n, nil, true, s.raiseFence(ctx, o, fence)
	}
	c := s.conn
	key, fenceKey := c.node(dir, s.id, id), c.keyspace.fence(s.id)
	req := &pb.TxnRequest{
		Compare: []*pb.Compare{ifCreated(key, 0), ifModified(fenceKey, fence)},
		Success: []*pb.RequestOp{put(key, data, s.id)},
	}
	if list {
		req.Success = append(req.Success, getAll(c.dir(dir)))
	}
	resp, err := c.txn(ctx, o, req)
	if err != nil {
		if errors.Is(err, driver.ErrUncertain) {
			// The request may land at any time: also when the next Create of
			// this id has been acknowledged and its node deleted again. So the
			// next one fences it off first.
			s.fence.pending(fence)
		}
		return n, nil, false, err
	}
	if !resp.Succeeded {
		return s.existing(ctx, o, dir, key, fence, list)
	}
	revision := uint64(resp.Header.Revision)
	if list {
		all = s.listed(dir, found(resp, 1), resp.Header.Revision)
	}
	return driver.Node{
		Dir:     dir,
		ID:      id,
		Key:     key,
		Session: s.ID(),
		Seq:     revision,
		Token:   revision,
		Version: revision,
		Data:    bytes.Clone(data), // the caller may use its own again
	}, all, false, nil
}

// existing returns the node that an earlier request has made, or learns where the
// fence stands. It is a request of its own: each creation would have to carry it,
// and hardly any needs it.
func (s *session) existing(ctx context.Context, o op, dir, key string, fence int64, list bool) (n driver.Node, all []driver.Node, again bool, err error) {
	c := s.conn
	o.write = false
	req := &pb.TxnRequest{Success: []*pb.RequestOp{get(c.keyspace.fence(s.id)), get(key)}}
	if list {
		req.Success = append(req.Success, getAll(c.dir(dir)))
	}
	resp, err := c.txn(ctx, o, req)
	if err != nil {
		return n, nil, false, err
	}
	kv := foundOne(resp, 1)
	if kv == nil {
		if stands := foundOne(resp, 0).GetModRevision(); stands != fence {
			s.fence.saw(stands)
		}
		return n, nil, true, nil // if it was in the way, it is gone by now
	}
	n, ours := c.asNode(dir, kv, resp.Header.Revision)
	if !ours {
		return n, nil, false, failed(o, nil, fmt.Errorf("key %s is bound to lease %x and not to this session's: "+
			"somebody else has written it", key, kv.Lease))
	}
	if list {
		all = s.listed(dir, found(resp, 2), resp.Header.Revision)
	}
	return n, all, false, nil
}

// listed makes nodes of a directory's keys, and takes note of them.
func (s *session) listed(dir string, kvs []*mvccpb.KeyValue, revision int64) []driver.Node {
	nodes := s.conn.nodes(dir, kvs, revision)
	s.conn.feeds.listed(s.conn.dir(dir), nodes, s.ID(), uint64(revision))
	return nodes
}

// Abandon implements driver.Session. It moves the session's fence and removes
// the node in one step, so that whatever earlier request is still on its way
// comes too late. That holds for a delayed Abandon as well.
func (s *session) Abandon(ctx context.Context, dir, id string) error {
	o := s.change("abandon", dir)
	key, fenceKey := s.conn.node(dir, s.id, id), s.conn.keyspace.fence(s.id)
	return s.bound(func() error {
		for {
			fence, _ := s.fence.position()
			resp, err := s.conn.txn(ctx, o, &pb.TxnRequest{
				Compare: []*pb.Compare{ifModified(fenceKey, fence)},
				Success: []*pb.RequestOp{put(fenceKey, nil, s.id), remove(key)},
				Failure: []*pb.RequestOp{get(fenceKey)},
			})
			if err != nil {
				s.fence.pending(fence)
				return err
			}
			if resp.Succeeded {
				s.fence.saw(resp.Header.Revision)
				return nil
			}
			if err := s.fenceMoved(o, fence, foundOne(resp, 0).GetModRevision()); err != nil {
				return err
			}
		}
	})
}

// raiseFence moves the fence from where it stands.
func (s *session) raiseFence(ctx context.Context, o op, fence int64) error {
	key := s.conn.keyspace.fence(s.id)
	resp, err := s.conn.txn(ctx, o, &pb.TxnRequest{
		Compare: []*pb.Compare{ifModified(key, fence)},
		Success: []*pb.RequestOp{put(key, nil, s.id)},
		Failure: []*pb.RequestOp{get(key)},
	})
	switch {
	case err != nil:
		return err
	case resp.Succeeded:
		s.fence.saw(resp.Header.Revision)
		return nil
	default:
		return s.fenceMoved(o, fence, foundOne(resp, 0).GetModRevision())
	}
}

// errNoReason is what no server answers.
var errNoReason = errors.New("the store refused a transaction whose conditions are met")

// fenceMoved takes note of where the fence stands after a request which
// believed that it stood elsewhere.
func (s *session) fenceMoved(o op, believed, stands int64) error {
	if believed == stands {
		return failed(o, nil, errNoReason)
	}
	s.fence.saw(stands)
	return nil
}

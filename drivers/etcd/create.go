package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

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
		for {
			var again bool
			n, all, again, err = s.createOnce(ctx, o, dir, id, data, list)
			if err != nil || !again {
				return err
			}
		}
	})
	if err != nil {
		return driver.Node{}, nil, err
	}
	return n, all, nil
}

// createOnce makes the node if the fence stands where it is believed to stand.
// If it does not, it learns where, and is to be called again.
func (s *session) createOnce(ctx context.Context, o op, dir, id string, data []byte, list bool) (n driver.Node, all []driver.Node, again bool, err error) {
	fence, raise := s.fence.position()
	if raise {
		return n, nil, true, s.raiseFence(ctx, o, fence)
	}
	c, within := s.conn, s.conn.dir(dir)
	slot := within.node(s.name, id)
	key, former := s.names.next(slot)
	raw := []byte(key)
	req := &pb.TxnRequest{
		Compare: []*pb.Compare{ifCreated(raw, 0), ifModified(s.fenceKey, fence)},
		Success: []*pb.RequestOp{put(raw, data, s.id)},
		Failure: []*pb.RequestOp{get(s.fenceKey), get(raw)},
	}
	if former != "" {
		req.Success = append(req.Success, remove([]byte(former)))
	}
	if list {
		line := getAll(within)
		req.Success = append(req.Success, line)
		req.Failure = append(req.Failure, line)
	}
	resp, err := s.txn(ctx, o, within, data, req)
	if errors.Is(err, rpctypes.ErrNoSpace) {
		// It was applied or not, and is not on its way any more, so the fence need not
		// be moved, for which there may be no space. A look tells, unless it is refused
		// as well, as by old servers.
		look, failure := s.conn.txn(ctx, o, &pb.TxnRequest{Compare: req.Compare, Failure: req.Failure})
		switch {
		case failure == nil && look.Succeeded:
			return n, nil, false, failed(o, driver.ErrUnavailable, rpctypes.ErrNoSpace)
		case failure == nil:
			resp, err = look, nil
		case errors.Is(failure, driver.ErrClosed):
			return n, nil, false, failure
		case ctx.Err() != nil:
			return n, nil, false, failed(o, driver.ErrUncertain, driver.ContextError(ctx))
		default: // what was said of the look says nothing of the node
			return n, nil, false, err
		}
	}
	if err != nil {
		if errors.Is(err, driver.ErrUncertain) {
			// The request may land at any time: also when the next Create of
			// this id has been acknowledged and its node deleted again. So the
			// next one fences it off first.
			s.fence.pending(fence)
		}
		return n, nil, false, err
	}
	revision := resp.Header.Revision
	if list {
		all = c.nodes(dir, found(resp, len(resp.Responses)-1), revision)
		c.feeds.listed(within, all, s.name)
	}
	if resp.Succeeded {
		s.names.made(slot, uint64(revision))
		return driver.Node{
			Dir:     dir,
			ID:      id,
			Key:     key,
			Session: s.name,
			Seq:     uint64(revision),
			Token:   uint64(revision),
			Version: uint64(revision),
			Data:    bytes.Clone(data), // the caller may use its own again
		}, all, false, nil
	}
	if kv := foundOne(resp, 1); kv != nil {
		n, ours := c.asNode(dir, kv, revision)
		if !ours {
			return n, nil, false, failed(o, nil, fmt.Errorf("key %s is bound to lease %x and not to this session's: "+
				"somebody else has written it", key, kv.Lease))
		}
		if !s.names.made(slot, n.Token) {
			return driver.Node{}, nil, true, nil
		}
		return n, all, false, nil
	}
	return n, nil, true, s.fenceMoved(o, fence, foundOne(resp, 0))
}

// Abandon implements driver.Session. It removes the node, and in the same step moves
// the session's fence, unless that was moved since the last request of unknown outcome:
// whatever is still on its way comes too late, also a delayed Abandon. Of many at a
// time the first moves the fence for all. If each did, one would succeed at a time
// and the others would ask again. That the fence stands shows that the lease lives;
// where there is none yet, to make one shows it.
func (s *session) Abandon(ctx context.Context, dir, id string) error {
	o := s.change("abandon", dir)
	slot := s.conn.dir(dir).node(s.name, id)
	return s.bound(func() error {
		for {
			fence, unsettled := s.fence.position()
			move := unsettled || fence == 0
			key, former := s.names.current(slot)
			req := &pb.TxnRequest{
				Compare: []*pb.Compare{ifModified(s.fenceKey, fence)},
				Success: []*pb.RequestOp{remove([]byte(key))},
				Failure: []*pb.RequestOp{get(s.fenceKey)},
			}
			if former != "" {
				req.Success = append(req.Success, remove([]byte(former)))
			}
			if move {
				req.Success = append(req.Success, put(s.fenceKey, nil, s.id))
			}
			resp, err := s.conn.txn(ctx, o, req)
			if err != nil {
				s.fence.pending(fence)
				return err
			}
			if resp.Succeeded {
				if move {
					s.fence.raised(resp.Header.Revision)
				}
				s.names.abandoned(slot)
				return nil
			}
			if err := s.fenceMoved(o, fence, foundOne(resp, 0)); err != nil {
				return err
			}
		}
	})
}

// raiseFence moves the fence from where it stands.
func (s *session) raiseFence(ctx context.Context, o op, fence int64) error {
	resp, err := s.conn.txn(ctx, o, &pb.TxnRequest{
		Compare: []*pb.Compare{ifModified(s.fenceKey, fence)},
		Success: []*pb.RequestOp{put(s.fenceKey, nil, s.id)},
		Failure: []*pb.RequestOp{get(s.fenceKey)},
	})
	switch {
	case err != nil:
		return err
	case resp.Succeeded:
		s.fence.raised(resp.Header.Revision)
		return nil
	default:
		return s.fenceMoved(o, fence, foundOne(resp, 0))
	}
}

// errNoReason is what no server answers.
var errNoReason = errors.New("the store refused a transaction whose conditions are met")

// fenceMoved takes note of where the fence stands after a request which
// believed that it stood elsewhere.
func (s *session) fenceMoved(o op, believed int64, stands *mvccpb.KeyValue) error {
	if believed == stands.GetModRevision() {
		return failed(o, nil, errNoReason)
	}
	s.fence.found(believed, stands.GetModRevision(), stands.GetLease() == s.id)
	return nil
}

package etcd

import (
	"context"
	"math"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/fence"
	"github.com/coordkit/coordkit/coord/driver/sessions"
)

// session implements driver.Session, driver.CreateLister and driver.AnyWaiter on a lease.
// What it is and how it ends is in sessions.Session.
type session struct {
	sessions.Session
	*store
	waits *waits
	lease clientv3.LeaseID
	fence fence.Position

	mu   sync.Mutex
	idle *renewalStream // waits for the next renewal; may be nil
}

// renewalStream is kept between renewals: where there are passwords, the client asks for a
// token with each stream that it opens, which costs the server much.
type renewalStream struct {
	pb.Lease_LeaseKeepAliveClient
	cancel context.CancelFunc
}

// renew renews the lease once. A renewal that begins while another waits has a stream of
// its own, which may go to another member.
func (s *session) renew(ctx context.Context) (err error) {
	o := s.Write("renew", s.ID())
	s.mu.Lock()
	r := s.idle
	s.idle = nil
	s.mu.Unlock()
	var life context.Context
	if r == nil {
		r = new(renewalStream)
		life, r.cancel = context.WithCancel(s.Life())
	}
	stop := context.AfterFunc(ctx, r.cancel)
	if life != nil {
		r.Lease_LeaseKeepAliveClient, err = s.renewals.LeaseKeepAlive(life)
	}
	var reply *pb.LeaseKeepAliveResponse
	if err == nil {
		_ = r.Send(&pb.LeaseKeepAliveRequest{ID: int64(s.lease)}) // Recv tells what is wrong
		reply, err = r.Recv()
	}
	if stop() && err == nil {
		s.mu.Lock()
		r, s.idle = s.idle, r // one is enough
		s.mu.Unlock()
	}
	if r != nil {
		r.cancel()
	}
	if err != nil {
		return answer(o, err)
	}
	if reply.TTL <= 0 {
		return o.Failed(driver.ErrSessionLost, rpctypes.ErrLeaseNotFound)
	}
	return nil
}

// revoke ends the lease, which removes all nodes in one step.
func (s *session) revoke(ctx context.Context) error {
	_, err := s.leases.Revoke(ctx, s.lease)
	return answer(s.Write("close", s.ID()), err)
}

// List implements driver.Session.
func (s *session) List(ctx context.Context, dir string) ([]driver.Node, error) {
	return s.ListNames(ctx, dir, math.MaxUint64)
}

// ListNames implements driver.NameLister. A session that has waited in the directory often
// knows without a request what is ahead of a node.
func (s *session) ListNames(ctx context.Context, dir string, last uint64) (nodes []driver.Node, err error) {
	var upTo []clientv3.OpOption
	if last <= math.MaxInt64 {
		upTo = append(upTo, clientv3.WithMaxCreateRev(int64(last)))
	}
	o := s.Read("list", dir)
	err = s.Do(ctx, o, func(ctx context.Context) (err error) {
		known := false
		s.waits.about(dir, func(f *feed) { nodes, known = f.known.upTo(last) })
		if known {
			return nil
		}
		nodes, _, err = s.list(ctx, o, dir, upTo...)
		return err
	})
	return nodes, err
}

// WaitDelete implements driver.Session.
func (s *session) WaitDelete(ctx context.Context, n driver.Node) error {
	_, err := s.WaitAny(ctx, []driver.Node{n})
	return err
}

// WaitAny implements driver.AnyWaiter.
func (s *session) WaitAny(ctx context.Context, nodes []driver.Node) (gone int, err error) {
	o := s.Read("wait", "")
	o.Limit = 0 // a wait heals itself
	if len(nodes) > 0 {
		o.Key = nodes[0].Key
	}
	err = s.Do(ctx, o, func(ctx context.Context) (err error) {
		gone, err = s.waits.wait(ctx, o, nodes)
		return err
	})
	return gone, err
}

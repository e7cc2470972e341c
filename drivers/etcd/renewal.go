package etcd

import (
	"context"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// renewal renews a lease, one question and one answer at a time.
//
// The client's own KeepAliveOnce does not serve: it opens a stream for each
// renewal, which costs a password check each time where authentication is on,
// and after an error it tries again without a pause. Its KeepAlive does not
// tell when it asked. So a stream is kept here between renewals. One that does
// not answer is given up, and a renewal that begins while another is waiting
// opens a stream of its own, which the balancer puts on another member.
type renewal struct {
	leases pb.LeaseClient
	id     int64
	life   context.Context // ends all streams

	mu   sync.Mutex
	idle *renewalStream // waits for the next renewal; may be nil
}

type renewalStream struct {
	grpc.BidiStreamingClient[pb.LeaseKeepAliveRequest, pb.LeaseKeepAliveResponse] // nil until opened

	ctx    context.Context
	cancel context.CancelFunc
}

func newRenewal(life context.Context, leases pb.LeaseClient, id int64) *renewal {
	return &renewal{leases: leases, id: id, life: clientv3.WithRequireLeader(life)}
}

// once asks once, and returns the time to live in seconds as the store answers,
// which is not positive if there is no such lease.
func (r *renewal) once(ctx context.Context) (ttl int64, err error) {
	s := r.take()
	stop := context.AfterFunc(ctx, s.cancel)
	ttl, err = r.ask(s)
	if !stop() || err != nil {
		s.cancel()
		return ttl, err
	}
	r.keep(s)
	return ttl, nil
}

func (r *renewal) ask(s *renewalStream) (ttl int64, err error) {
	if s.BidiStreamingClient == nil {
		s.BidiStreamingClient, err = r.leases.LeaseKeepAlive(s.ctx, grpc.WaitForReady(true))
		if err != nil {
			return 0, err
		}
	}
	// An error of Send is io.EOF; Recv tells what it was.
	_ = s.Send(&pb.LeaseKeepAliveRequest{ID: r.id})
	resp, err := s.Recv()
	return resp.GetTTL(), err
}

// take returns the idle stream, or a new one that is yet to be opened.
func (r *renewal) take() *renewalStream {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.idle; s != nil {
		r.idle = nil
		return s
	}
	s := &renewalStream{}
	s.ctx, s.cancel = context.WithCancel(r.life)
	return s
}

// keep keeps a stream that works for the next renewal. One is enough.
func (r *renewal) keep(s *renewalStream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.idle != nil {
		r.idle.cancel()
	}
	r.idle = s
}

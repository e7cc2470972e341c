package testserver

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// etcdProbe looks at one member over one connection, which is made when first
// used.
//
// It asks by the plain RPCs of the client's connection. The client's own methods
// would wait for a connection until the context ends, and not say that there is
// none, or make one for every call (Status).
type etcdProbe struct {
	etcd     *Etcd
	endpoint string
	client   *clientv3.Client
}

// serves makes a linearizable read.
func (p *etcdProbe) serves(ctx context.Context) error {
	if err := p.connect(); err != nil {
		return err
	}
	_, err := etcdserverpb.NewKVClient(p.client.ActiveConnection()).
		Range(ctx, &etcdserverpb.RangeRequest{Key: []byte("health")})
	return err
}

func (p *etcdProbe) view(ctx context.Context) (view, error) {
	if err := p.connect(); err != nil {
		return view{}, err
	}
	s, err := etcdserverpb.NewMaintenanceClient(p.client.ActiveConnection()).
		Status(ctx, &etcdserverpb.StatusRequest{})
	if err != nil {
		return view{}, err
	}
	if s.Leader == 0 {
		return view{}, nil
	}
	return view{leads: s.Leader == s.Header.MemberId, follows: fmt.Sprintf("term %d", s.RaftTerm)}, nil
}

// connect makes the client unless there is one. With credentials that takes a
// request, which probeTimeout bounds as well.
func (p *etcdProbe) connect() error {
	if p.client != nil {
		return nil
	}
	config := p.etcd.ClientConfig()
	config.Endpoints = []string{p.endpoint}
	config.DialTimeout = probeTimeout
	config.MaxUnaryRetries = 1 // the caller looks again, and wants to know why
	// gRPC would wait a second and more before it tries again, while the member
	// starts within a fraction of that.
	config.DialOptions = []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: probeInterval, Multiplier: 1, MaxDelay: probeInterval},
		MinConnectTimeout: probeTimeout,
	})}
	client, err := clientv3.New(config)
	if err != nil {
		return err
	}
	p.client = client
	return nil
}

func (p *etcdProbe) close() {
	if p.client != nil {
		_ = p.client.Close() // it was only read from
	}
}

package testserver

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// How long one look at a member may take, which matters only for one that
// accepts connections and does not answer, and the pause between looks.
const (
	probeTimeout  = time.Second
	probeInterval = 20 * time.Millisecond
)

// probe looks at one member alone, over one connection that is made when first
// used. It is for one goroutine.
//
// It asks by the plain RPCs of the client's connection. The client's own methods
// would wait for a connection until the context ends, and not say that there is
// none, or make one for every call (Status).
type probe struct {
	member *EtcdMember
	client *clientv3.Client
}

// read makes a linearizable read, within probeTimeout.
func (p *probe) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := p.connect(); err != nil {
		return err
	}
	_, err := etcdserverpb.NewKVClient(p.client.ActiveConnection()).
		Range(ctx, &etcdserverpb.RangeRequest{Key: []byte("health")})
	return err
}

// look asks what the member knows of the cluster, within probeTimeout.
func (p *probe) look(ctx context.Context) (*etcdserverpb.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := p.connect(); err != nil {
		return nil, err
	}
	return etcdserverpb.NewMaintenanceClient(p.client.ActiveConnection()).
		Status(ctx, &etcdserverpb.StatusRequest{})
}

// connect makes the client unless there is one. With credentials that takes a
// request, which probeTimeout bounds as well.
func (p *probe) connect() error {
	if p.client != nil {
		return nil
	}
	config := p.member.cluster.ClientConfig()
	config.Endpoints = []string{p.member.endpoint}
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

func (p *probe) close() {
	if p.client != nil {
		_ = p.client.Close() // it was only read from
	}
}

package testserver

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// EnvEtcd names the environment variable that names an etcd binary to run
// instead of the one that is built.
const EnvEtcd = "COORDKIT_ETCD"

var etcdServer = serverModule{
	name:     "etcd",
	override: EnvEtcd,
	dir:      "internal/testserver/etcdbin",
	upstream: "go.etcd.io/etcd/server/v3",
}

// EtcdBinary returns the path of the etcd server. It builds the server first if
// that has not been done, which takes about a minute, and then tells progress
// about it. Several processes may ask at once; ctx bounds the wait and the build.
func EtcdBinary(ctx context.Context, progress io.Writer) (string, error) {
	return etcdServer.binary(ctx, progress)
}

// Etcd is a running etcd cluster of one or three members on loopback. Its
// methods may be called from any goroutine.
type Etcd struct {
	*cluster
	// Members are the cluster's servers. The slice does not change.
	Members []*EtcdMember
	// TLS holds the files a client needs; nil without TLS.
	TLS *TLSFiles

	tlsConfig *tls.Config

	mu             sync.Mutex // guards what follows
	user, password string
}

// EtcdMember is one server of a cluster.
type EtcdMember struct{ *member }

// NewEtcd starts a cluster and returns when every member serves. The server is
// built first if need be. ctx bounds that, not the cluster's life, which ends
// with Close or with this program.
func NewEtcd(ctx context.Context, opts EtcdOptions) (*Etcd, error) {
	return newEtcd(ctx, opts, reservePort)
}

func newEtcd(ctx context.Context, opts EtcdOptions, reserve reserver) (*Etcd, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	binary, err := EtcdBinary(ctx, io.Discard)
	if err != nil {
		return nil, err
	}
	var etcd *Etcd
	err = setUp("etcd", func(c *cluster) error {
		etcd = &Etcd{cluster: c}
		return etcd.boot(ctx, binary, opts, reserve)
	})
	if err != nil {
		return nil, err
	}
	return etcd, nil
}

// Member returns the member with index i, counted from 0.
func (e *Etcd) Member(i int) *EtcdMember { return e.Members[i] }

// ClientConfig returns the configuration of a client of all members, with TLS
// and the credentials of SetAuth. It logs nothing.
func (e *Etcd) ClientConfig() clientv3.Config {
	e.mu.Lock()
	defer e.mu.Unlock()
	return clientv3.Config{
		Endpoints: e.Endpoints(),
		TLS:       e.tlsConfig.Clone(),
		Username:  e.user,
		Password:  e.password,
		Logger:    zap.NewNop(),
	}
}

// SetAuth gives the credentials that Leader and WaitHealthy use from the next
// call on. A cluster whose authentication is enabled answers them only so.
func (e *Etcd) SetAuth(user, password string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.user, e.password = user, password
}

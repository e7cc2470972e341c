package testserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// EnvEtcd names the environment variable that names an etcd binary to run
// instead of the one that is built.
const EnvEtcd = "COORDKIT_ETCD"

// startAttempts is how often a cluster is set up anew because a port was taken
// in spite of its reservation.
const startAttempts = 3

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
	// Members are the cluster's servers. The slice does not change.
	Members []*EtcdMember
	// TLS holds the files a client needs; nil without TLS.
	TLS *TLSFiles

	dir       *runDir
	ports     []*reservedPort
	tlsConfig *tls.Config
	close     func() error

	mu             sync.Mutex // guards what follows
	user, password string
}

// NewEtcd starts a cluster and returns when every member serves. The server is
// built first if need be. ctx bounds that, not the cluster's life, which ends
// with Close or with this program.
func NewEtcd(ctx context.Context, opts EtcdOptions) (*Etcd, error) {
	return newEtcd(ctx, opts, reservePort)
}

func newEtcd(ctx context.Context, opts EtcdOptions, reserve func() (*reservedPort, error)) (*Etcd, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	binary, err := EtcdBinary(ctx, io.Discard)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		cluster, err := bootEtcd(ctx, binary, opts, reserve)
		if err == nil {
			return cluster, nil
		}
		if attempt == startAttempts || !isPortTaken(err) {
			return nil, fmt.Errorf("start etcd: %w", err)
		}
	}
}

// Endpoints returns the client URLs of all members, in their order.
func (e *Etcd) Endpoints() []string {
	var endpoints []string
	for _, m := range e.Members {
		endpoints = append(endpoints, m.Endpoint())
	}
	return endpoints
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

// Close kills all members, frozen or not, and removes their directory. Every
// call returns the first one's result.
func (e *Etcd) Close() error { return e.close() }

func (e *Etcd) shutDown() error {
	var errs []error
	for _, m := range e.Members {
		errs = append(errs, m.Process.close())
	}
	for _, p := range e.ports {
		errs = append(errs, p.release())
	}
	errs = append(errs, e.dir.remove())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close etcd: %w", err)
	}
	return nil
}

package testserver

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
)

// EnvConsul names the environment variable that names a Consul binary to run
// instead of the one that is built.
const EnvConsul = "COORDKIT_CONSUL"

var consulServer = serverModule{
	name:     "consul",
	override: EnvConsul,
	dir:      "internal/testserver/consulbin",
	upstream: "github.com/hashicorp/consul",
}

// ConsulBinary does for Consul what [EtcdBinary] does for etcd. A build takes
// some minutes.
func ConsulBinary(ctx context.Context, progress io.Writer) (string, error) {
	return consulServer.binary(ctx, progress)
}

// Consul is a running Consul datacenter of one or three servers on loopback. Its
// methods may be called from any goroutine.
//
// A failed server stays a member of the cluster, as with the other stores:
// autopilot is told not to remove it.
type Consul struct {
	*cluster
	// Members are the servers. The slice does not change.
	Members []*ConsulMember
	// TLS holds the files a client needs; nil without TLS.
	TLS *TLSFiles
	// Token is the secret of a token that may do everything; empty without ACLs.
	Token string

	tlsConfig *tls.Config
}

// ConsulMember is one server of a datacenter.
type ConsulMember struct{ *member }

// NewConsul starts a datacenter and returns when every member serves. The server
// is built first if need be. ctx bounds that, not the cluster's life, which ends
// with Close or with this program.
func NewConsul(ctx context.Context, opts ConsulOptions) (*Consul, error) {
	return newConsul(ctx, opts, reservePort)
}

func newConsul(ctx context.Context, opts ConsulOptions, reserve reserver) (*Consul, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("start consul: %w", err)
	}
	binary, err := ConsulBinary(ctx, io.Discard)
	if err != nil {
		return nil, err
	}
	var consul *Consul
	err = setUp("consul", func(c *cluster) error {
		consul = &Consul{cluster: c}
		return consul.boot(ctx, binary, opts, reserve)
	})
	if err != nil {
		return nil, err
	}
	return consul, nil
}

func (c *Consul) boot(ctx context.Context, binary string, opts ConsulOptions, reserve reserver) error {
	plan, err := c.plan(opts, reserve)
	if err != nil {
		return err
	}
	// What is set for another agent must not leak into this one.
	env := environWithout("CONSUL_")
	for i := range opts.Members {
		args, err := plan.args(i)
		if err != nil {
			return err
		}
		endpoint, rpc := plan.endpoint(i), plan.peer(plan.ports[i].rpc)
		newProbe := func() probe { return c.newProbe(endpoint, rpc) }
		m, err := c.launch(c.command(i, binary, env, args), endpoint, newProbe)
		if err != nil {
			return err
		}
		c.Members = append(c.Members, &ConsulMember{m})
	}
	return c.WaitHealthy(ctx)
}

// Member returns the member with index i, counted from 0.
func (c *Consul) Member(i int) *ConsulMember { return c.Members[i] }

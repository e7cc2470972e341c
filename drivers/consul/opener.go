package consul

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/idle"
)

// The parameters of a URL.
const (
	paramNamespace   = "consul_namespace"
	paramPartition   = "partition"
	paramDatacenter  = "datacenter"
	paramDialTimeout = "dial_timeout"
)

const defaultDialTimeout = 3 * time.Second

func init() {
	driver.Register(store, driver.Opener{
		Open:        open,
		DefaultPort: "8500",
		TLS:         true,
		Token:       true,
		MaxTTL:      maxTTL,
		Params: []driver.Param{
			{
				Name:  paramNamespace,
				Doc:   "the namespace of Consul Enterprise, which is not the one in the path (default: the token's)",
				Check: isName,
			},
			{
				Name:  paramPartition,
				Doc:   "the admin partition of Consul Enterprise (default: the agent's)",
				Check: isName,
			},
			{
				Name:  paramDatacenter,
				Doc:   "the datacenter whose store to use (default: the agent's)",
				Check: isName,
			},
			{
				Name:  paramDialTimeout,
				Doc:   "how long one attempt to connect may take (default 3s; no longer than a third of the session's TTL)",
				Check: isTimeout,
			},
		},
	})
}

var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func isName(s string) error {
	if !name.MatchString(s) {
		return fmt.Errorf(`%q is not a name of 1 to 64 letters, digits, "-" and "_" that begins with a letter or a digit`, s)
	}
	return nil
}

func isTimeout(s string) error {
	if d, err := time.ParseDuration(s); err != nil || d < time.Millisecond {
		return fmt.Errorf("%q is not a duration of at least 1ms, as %q", s, defaultDialTimeout.String())
	}
	return nil
}

// open makes a connection with clients of its own, one for each agent. It does
// not connect: the first call tells whether there is somebody.
func open(ctx context.Context, t driver.Target) (driver.Conn, error) {
	c, err := openWith(ctx, t, defaultTiming)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func openWith(ctx context.Context, t driver.Target, timing timing) (*conn, error) {
	o := op{name: "open", key: t.Namespace}
	if ctx.Err() != nil {
		return nil, failed(o, driver.ErrUnavailable, driver.ContextError(ctx))
	}
	timeout := defaultDialTimeout
	if text, ok := t.Params[paramDialTimeout]; ok {
		var err error
		if timeout, err = time.ParseDuration(text); err != nil {
			return nil, invalid(o, "parameter %s: %w", paramDialTimeout, err)
		}
	}
	if len(t.Hosts) == 0 {
		return nil, invalid(o, "no agent to connect to; want host:port")
	}
	// Package api would send what the environment has where the URL names none.
	if strings.ContainsAny(cmp.Or(string(t.Token), os.Getenv(api.HTTPTokenEnvName)), "\r\n\x00") {
		return nil, invalid(o, "the token that token_file, token_env or %s names has more than one line; want the token alone", api.HTTPTokenEnvName)
	}
	// Package api would take them for requests, and transactions need them too.
	in := tenant{
		namespace: cmp.Or(t.Params[paramNamespace], os.Getenv("CONSUL_NAMESPACE")),
		partition: cmp.Or(t.Params[paramPartition], os.Getenv("CONSUL_PARTITION")),
	}
	wire := newTransport(t.TLS, timeout, idle.CanLook)
	all := make([]access, len(t.Hosts))
	for i, host := range t.Hosts {
		of := wire.client()
		config := &api.Config{
			Address:    host,
			Scheme:     "http",
			HttpClient: of,
			Token:      string(t.Token),
			Datacenter: t.Params[paramDatacenter],
			Namespace:  in.namespace,
			Partition:  in.partition,
		}
		if t.TLS != nil {
			config.Scheme = "https"
		}
		client, err := api.NewClient(config)
		if err != nil {
			wire.close()
			return nil, invalid(o, "agent %s: %w", host, err)
		}
		all[i] = access{client, newKeys(of, client, wire)}
	}
	c := newConn(all, t.Namespace, in, t.Logger, timing)
	c.refresh, c.release = wire.refresh, wire.close
	return c, nil
}

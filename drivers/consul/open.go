package consul

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/sessions"
	"github.com/coordkit/coordkit/coord/driver/watch"
	"github.com/coordkit/coordkit/drivers/internal/dial"
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
		Open: func(ctx context.Context, t driver.Target) (driver.Conn, error) {
			c, err := open(ctx, t, dial.TCP())
			if err != nil {
				return nil, err
			}
			return c, nil
		},
		DefaultPort: "8500",
		TLS:         true,
		Token:       true,
		MaxTTL:      maxTTL,
		Params: []driver.Param{
			{Name: paramNamespace, Check: isName,
				Doc: "the namespace of Consul Enterprise, which is not the one in the path (default: the token's)"},
			{Name: paramPartition, Check: isName, Doc: "the admin partition of Consul Enterprise (default: the agent's)"},
			{Name: paramDatacenter, Check: isName, Doc: "the datacenter whose store to use (default: the agent's)"},
			{Name: paramDialTimeout, Check: isTimeout,
				Doc: "how long one attempt to connect may take (default 3s; no longer than a third of the session's TTL)"},
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

// Options are the settings of New. The zero value is a sensible default.
type Options struct {
	// Logger gets at level debug what the driver does about agents that do not answer. nil
	// means silence.
	Logger *zap.Logger

	// ConsulNamespace and Partition are those that the client was configured with, for
	// Consul Enterprise. The client does not tell, and transactions need to know.
	ConsulNamespace, Partition string
}

// New returns a connection that uses the caller's own client, its agent, token and HTTP
// connections. Everything is kept below namespace, one or more path segments joined by "/";
// the empty one is "coordkit". opts may be nil. A namespace of another form (see
// driver.Namespace) is an error that Is driver.ErrInvalid.
//
// The caller closes the connection, which does not close idle HTTP connections of the
// client. The package comment says how the client should be configured.
func New(client *api.Client, namespace string, opts *Options) (driver.Conn, error) {
	if opts == nil {
		opts = &Options{}
	}
	namespace, err := driver.Namespace(namespace)
	if err != nil {
		return nil, fmt.Errorf("consul: %w", err)
	}
	t := tenant{opts.ConsulNamespace, opts.Partition}
	return newConn(&agents{all: []agent{{client, client}}}, namespace, t, opts.Logger, sessions.New(store)), nil
}

func newConn(a *agents, namespace string, t tenant, log *zap.Logger, keeper *sessions.Keeper) *conn {
	if log == nil {
		log = zap.NewNop()
	}
	a.log = log
	k := newKeyspace(namespace)
	c := &conn{keyspace: k, tenant: t, agents: a, sessions: keeper, watching: make(chan struct{}, mostWatches)}
	c.scopes = scopes{
		keyspace: k, waits: make(map[string]int), keys: make(map[string]int),
		wants: make(map[string]uint64), asked: make(map[question]*answer),
	}
	c.waits = watch.NewHub(store, keeper, c.followScope)
	c.watches = watch.NewHub(store, keeper, c.followDir)
	return c
}

// open makes a connection with clients of its own, two for each agent. It does not connect:
// the first call tells whether the agents are there.
func open(ctx context.Context, t driver.Target, network dial.Network) (*conn, error) {
	o := attempt.Op{Store: store, Name: "open", Key: t.Namespace}
	if ctx.Err() != nil {
		return nil, o.Failed(driver.ErrUnavailable, driver.ContextError(ctx))
	}
	if len(t.Hosts) == 0 {
		return nil, o.Failed(driver.ErrInvalid, errors.New("no agent to connect to; want host:port"))
	}
	timeout, err := time.ParseDuration(cmp.Or(t.Params[paramDialTimeout], defaultDialTimeout.String()))
	if err != nil {
		return nil, o.Failed(driver.ErrInvalid, fmt.Errorf("parameter %s: %w", paramDialTimeout, err))
	}
	if strings.ContainsAny(cmp.Or(string(t.Token), os.Getenv(api.HTTPTokenEnvName)), "\r\n\x00") {
		return nil, o.Failed(driver.ErrInvalid, fmt.Errorf("the token that token_file, token_env or %s names "+
			"has more than one line; want the token alone", api.HTTPTokenEnvName))
	}
	// Package api would take the environment's for requests, and transactions need them too.
	in := tenant{
		namespace: cmp.Or(t.Params[paramNamespace], os.Getenv("CONSUL_NAMESPACE")),
		partition: cmp.Or(t.Params[paramPartition], os.Getenv("CONSUL_PARTITION")),
	}
	keeper := sessions.New(store)
	all := &agents{all: make([]agent, len(t.Hosts))}
	d := &dialer{
		network: network, timeout: timeout, life: keeper.Life(),
		round: func() uint64 { return all.turn.Load() / uint64(len(all.all)) },
	}
	// Other programs may need a connection that is idle. One for sessions stays longer: if
	// the agent grants no more connections, sessions are kept all the same.
	calls, kept := d.newTransport(t.TLS, mostIdle, 10*time.Second), d.newTransport(t.TLS, 1, 2*time.Minute)
	all.close = func() { calls.CloseIdleConnections(); kept.CloseIdleConnections() }
	for i, host := range t.Hosts {
		for client, transport := range map[**api.Client]*http.Transport{&all.all[i].calls: calls, &all.all[i].sessions: kept} {
			config := &api.Config{
				Address: host, Scheme: "http", HttpClient: httpClient(transport), Token: string(t.Token),
				Datacenter: t.Params[paramDatacenter], Namespace: in.namespace, Partition: in.partition,
			}
			if t.TLS != nil {
				config.Scheme = "https"
			}
			if *client, err = api.NewClient(config); err != nil {
				return nil, o.Failed(driver.ErrInvalid, fmt.Errorf("agent %s: %w", host, err))
			}
		}
	}
	return newConn(all, t.Namespace, in, t.Logger, keeper), nil
}

// maxConns is how many connections there are to an agent, apart from those for sessions:
// it grants 200 to all programs of an address (http_max_conns_per_client). mostIdle is how
// many of them stay when nobody uses them.
const (
	maxConns = 64
	mostIdle = 8
)

// dialer dials the addresses of a host in turns. The library has no such thing: a
// net.Dialer stays with the first address that accepts, also if nothing answers there, so
// behind a name with several addresses a lock would never reach the others (rules E3, S3).
type dialer struct {
	network dial.Network
	timeout time.Duration   // of one attempt to connect
	round   func() uint64   // how often all agents have had their turn
	life    context.Context // no connection is made after its end (rule N1)
}

// dial begins with another address in each round.
func (d *dialer) dial(ctx context.Context, _, hostPort string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()
	conn, err := d.network.Any(ctx, hostPort, d.round())
	if err == nil && d.life.Err() != nil {
		_ = conn.Close() // unused
		return nil, net.ErrClosed
	}
	return conn, err
}

// newTransport returns a transport that dials by d. config may be nil, for no TLS. A proxy
// that the environment names is not used: a lock has to reach its store, and none of the
// other stores' drivers would use it.
func (d *dialer) newTransport(config *tls.Config, spare int, idle time.Duration) *http.Transport {
	return &http.Transport{
		DialContext:         d.dial,
		TLSClientConfig:     config.Clone(),
		TLSHandshakeTimeout: d.timeout,
		MaxConnsPerHost:     maxConns,
		MaxIdleConnsPerHost: spare,
		IdleConnTimeout:     idle,
		DisableCompression:  true, // agents are near
		// With TLS all requests share a connection. It is tested, as a mute one would hold
		// all of them.
		ForceAttemptHTTP2: true,
		HTTP2:             &http.HTTP2Config{SendPingTimeout: 2 * time.Second, PingTimeout: time.Second},
	}
}

// httpClient returns a client that follows no redirect, as no agent sends one.
func httpClient(t *http.Transport) *http.Client {
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

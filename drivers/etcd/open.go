package etcd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/sessions"
	"github.com/coordkit/coordkit/drivers/internal/dial"
)

// Options are the settings of New. The zero value is a sensible default.
type Options struct {
	// Logger gets what the driver does about failures, at levels debug and info. nil means
	// silence.
	Logger *zap.Logger
}

// New returns a connection that uses the caller's own client, its endpoints, credentials
// and connections. Everything is kept below namespace, one or more path segments joined by
// "/"; the empty one is "coordkit". opts may be nil. A namespace of another form (see
// driver.Namespace) is an error that Is driver.ErrInvalid.
//
// The caller closes the connection, which does not close the client, and then the client.
// Wrappers that were put around the client's KV, Watcher or Lease are not used.
// Interceptors must not send a second request before the first has failed; after that the
// driver sees to it that they send no other. The package comment says how the client should
// be configured.
func New(client *clientv3.Client, namespace string, opts *Options) (driver.Conn, error) {
	namespace, err := driver.Namespace(namespace)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	log := zap.NewNop()
	if opts != nil && opts.Logger != nil {
		log = opts.Logger
	}
	keeper := sessions.New(scheme)
	first := &link{client: client, close: func() {}, current: keeper.Life(), replace: func() {}}
	return newConn(namespace, keeper, newWire(first, nil, keeper.Go, log)), nil
}

// minKeepaliveTime is that of gRPC, which raises what is lower without a word. etcd's
// servers close a connection that pings more often than every 5 s.
const minKeepaliveTime = 10 * time.Second

// settings are what the parameters of a URL say.
type settings struct{ dialTimeout, keepaliveTime, keepaliveTimeout time.Duration }

var defaultSettings = settings{5 * time.Second, minKeepaliveTime, 3 * time.Second}

var params = []struct {
	name, doc string
	least     time.Duration
	of        func(*settings) *time.Duration
}{
	{"dial_timeout", "how long one attempt to connect, or the check of the password when opening, may take (default 5s)",
		time.Millisecond, func(s *settings) *time.Duration { return &s.dialTimeout }},
	{"keepalive_time", "after how long without a sign of life a connection in use is tested, at least 10s (default 10s)",
		minKeepaliveTime, func(s *settings) *time.Duration { return &s.keepaliveTime }},
	{"keepalive_timeout", "how long the answer to that test may take before the connection is given up, at least 1s (default 3s)",
		time.Second, func(s *settings) *time.Duration { return &s.keepaliveTimeout }},
}

func init() {
	o := driver.Opener{Open: open, DefaultPort: "2379", TLS: true, Password: true, MinTTL: minTTL, MaxTTL: maxTTL}
	for _, p := range params {
		o.Params = append(o.Params, driver.Param{Name: p.name, Doc: p.doc, Check: func(s string) error {
			if d, err := time.ParseDuration(s); err != nil || d < p.least {
				return fmt.Errorf("%q is not a duration of at least %v, as %q", s, p.least, "15s")
			}
			return nil
		}})
	}
	driver.Register(scheme, o)
}

func parseSettings(values map[string]string) (settings, error) {
	s := defaultSettings
	for _, p := range params {
		if text, ok := values[p.name]; ok {
			var err error
			if *p.of(&s), err = time.ParseDuration(text); err != nil {
				return s, fmt.Errorf("%w: parameter %s: %w", driver.ErrInvalid, p.name, err)
			}
		}
	}
	return s, nil
}

func open(ctx context.Context, t driver.Target) (driver.Conn, error) {
	return openWith(ctx, t, dial.TCP())
}

// openWith connects with a client of the connection's own. Without a username it does not
// wait for a server: the first call tells whether there is one. With one it gets a token,
// and so needs a server.
func openWith(ctx context.Context, t driver.Target, network dial.Network, opts ...grpc.DialOption) (driver.Conn, error) {
	o := attempt.Op{Store: scheme, Name: "open", Key: t.Namespace}
	s, err := parseSettings(t.Params)
	if err != nil {
		return nil, o.Failed(nil, err)
	}
	keeper := sessions.New(scheme)
	d := &dialer{network: network, dials: make(map[string]uint64)}
	connect := func(ctx context.Context) (*link, error) { return d.client(ctx, keeper.Life(), t, s, opts) }
	var first *link
	for range 3 { // with each login the next of a host's addresses has its turn
		err = o.Do(ctx, keeper.Life(), func(ctx context.Context) (err error) {
			first, err = connect(ctx)
			return answer(o, err)
		})
		if !driver.Transient(err) || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		keeper.Close(nil)
		return nil, err
	}
	again := func() (*link, error) { return connect(keeper.Life()) }
	return newConn(t.Namespace, keeper, newWire(first, again, keeper.Go, t.Logger)), nil
}

// dialer makes clients and their network connections.
type dialer struct {
	network dial.Network

	mu    sync.Mutex
	dials map[string]uint64 // by host
}

// client makes a client, which lives until the link is closed or life ends. ctx bounds the
// making.
func (d *dialer) client(ctx, life context.Context, t driver.Target, s settings, opts []grpc.DialOption) (*link, error) {
	inner, end := context.WithCancel(life)
	stop := context.AfterFunc(ctx, end)
	client, err := clientv3.New(clientv3.Config{
		Context: inner, Endpoints: t.Hosts, TLS: t.TLS, Username: t.Username, Password: string(t.Password),
		DialTimeout: s.dialTimeout, DialKeepAliveTime: s.keepaliveTime, DialKeepAliveTimeout: s.keepaliveTimeout,
		Logger: zap.NewNop(), // it warns of every request that it repeats
		DialOptions: append([]grpc.DialOption{
			grpc.WithContextDialer(d.dial),
			grpc.WithNoProxy(),
			reconnect(s.dialTimeout),
		}, opts...),
	})
	if !stop() && err == nil { // ctx has ended just now
		_ = client.Close()
		err = ctx.Err()
	}
	switch {
	case err == nil:
		l := &link{client: client, close: func() { _ = client.Close(); end() }}
		l.current, l.replace = context.WithCancel(life)
		return l, nil
	case errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded:
		err = fmt.Errorf("no connection to %v within %v", t.Hosts, s.dialTimeout)
	}
	end()
	return nil, err
}

// reconnect has gRPC try again soon. By default its pauses begin at a second, which is much
// of a session's TTL, and grow to two minutes.
func reconnect(timeout time.Duration) grpc.DialOption {
	return grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
		MinConnectTimeout: timeout,
	})
}

// dial makes a network connection to a host. A host may have several addresses, of which
// some accept connections and say nothing. So each dialing begins with the next address.
func (d *dialer) dial(ctx context.Context, hostPort string) (net.Conn, error) {
	d.mu.Lock()
	first, ok := d.dials[hostPort]
	if !ok {
		first = uint64(rand.Uint32()) // so that not all programs begin with the same one
	}
	d.dials[hostPort] = first + 1
	d.mu.Unlock()
	return d.network.Any(ctx, hostPort, first)
}

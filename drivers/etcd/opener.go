package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/idle"
)

// The parameters of a URL.
const (
	paramDialTimeout      = "dial_timeout"
	paramKeepaliveTime    = "keepalive_time"
	paramKeepaliveTimeout = "keepalive_timeout"
)

// settings are what the parameters say.
type settings struct {
	dialTimeout      time.Duration
	keepaliveTime    time.Duration
	keepaliveTimeout time.Duration
}

// minKeepaliveTime is that of gRPC, which raises what is lower without a word.
// etcd's servers close a connection that pings more often than every 5 s.
const minKeepaliveTime = 10 * time.Second

var defaultSettings = settings{
	dialTimeout:      5 * time.Second,
	keepaliveTime:    minKeepaliveTime,
	keepaliveTimeout: 3 * time.Second,
}

func init() {
	driver.Register(store, driver.Opener{
		Open:        open,
		DefaultPort: "2379",
		TLS:         true,
		Password:    true,
		MinTTL:      minTTL,
		MaxTTL:      maxTTL,
		Params: []driver.Param{
			{
				Name:  paramDialTimeout,
				Doc:   "how long one attempt to connect, or the check of the password when opening, may take (default 5s)",
				Check: atLeast(time.Millisecond),
			},
			{
				Name:  paramKeepaliveTime,
				Doc:   "after how long without a sign of life a connection of gRPC's in use is tested, at least 10s (default 10s)",
				Check: atLeast(minKeepaliveTime),
			},
			{
				Name:  paramKeepaliveTimeout,
				Doc:   "how long the answer to that test may take before the connection is given up, at least 1s (default 3s)",
				Check: atLeast(time.Second),
			},
		},
	})
}

// atLeast checks that a parameter is a duration and not too short.
func atLeast(least time.Duration) func(string) error {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < least {
			return fmt.Errorf("%q is not a duration of at least %v, as %q", s, least, defaultSettings.dialTimeout.String())
		}
		return nil
	}
}

func parseSettings(params map[string]string) (settings, error) {
	s := defaultSettings
	for name, d := range map[string]*time.Duration{
		paramDialTimeout:      &s.dialTimeout,
		paramKeepaliveTime:    &s.keepaliveTime,
		paramKeepaliveTimeout: &s.keepaliveTimeout,
	} {
		text, ok := params[name]
		if !ok {
			continue
		}
		var err error
		if *d, err = time.ParseDuration(text); err != nil {
			return s, fmt.Errorf("%w: parameter %s: %w", driver.ErrInvalid, name, err)
		}
	}
	return s, nil
}

// open connects with a client of the connection's own. Without a username it
// does not wait for a server: the first call tells whether there is one. With
// one it gets a token, and so needs a server.
func open(ctx context.Context, t driver.Target) (driver.Conn, error) {
	o := op{name: "open", key: t.Namespace}
	s, err := parseSettings(t.Params)
	if err != nil {
		return nil, failed(o, nil, err)
	}
	if ctx.Err() != nil {
		return nil, failed(o, driver.ErrUnavailable, driver.ContextError(ctx))
	}
	// The client takes the ctx of its whole life, and ctx bounds the opening
	// only.
	life, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, cancel)
	client, err := clientv3.New(clientConfig(life, t, s))
	if !stop() && err == nil { // ctx has ended just now
		_ = client.Close()
		err = ctx.Err()
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		cancel()
		return nil, failed(o, driver.ErrUnavailable, fmt.Errorf("%w: no connection to %v", driver.ContextError(ctx), t.Hosts))
	case errors.Is(err, context.DeadlineExceeded):
		// Not the caller's deadline, so the error must not say that it Is one.
		cancel()
		return nil, failed(o, driver.ErrUnavailable, fmt.Errorf("no connection to %v within %v", t.Hosts, s.dialTimeout))
	case isAny(err, denials):
		cancel()
		return nil, failed(o, driver.ErrDenied, cause(err))
	default:
		cancel()
		kind := error(nil)
		if status.Code(err) == codes.Unavailable {
			kind = driver.ErrUnavailable
		}
		return nil, failed(o, kind, cause(err))
	}
	c := newConn(client, t.Namespace, t.Logger, defaultTiming)
	if idle.CanLook {
		c.over(poolFor(t, s))
	}
	c.direct, c.others = true, len(t.Hosts) > 1
	c.release = func() error {
		defer cancel()
		if err := client.Close(); err != nil && !errors.Is(err, context.Canceled) {
			return failed(op{name: "close", key: t.Namespace}, nil, err)
		}
		return nil
	}
	return c, nil
}

func poolFor(t driver.Target, s settings) *pool {
	to := access{hosts: t.Hosts, timeout: s.dialTimeout}
	if t.TLS != nil {
		to.tls = t.TLS.Clone()
		to.tls.NextProtos = []string{http2.NextProtoTLS}
	}
	p := newPool(to, t.Logger)
	p.login.username, p.login.password = t.Username, t.Password
	return p
}

func clientConfig(life context.Context, t driver.Target, s settings) clientv3.Config {
	return clientv3.Config{
		Context:              life,
		Endpoints:            t.Hosts,
		TLS:                  t.TLS,
		Username:             t.Username,
		Password:             string(t.Password),
		DialTimeout:          s.dialTimeout,
		DialKeepAliveTime:    s.keepaliveTime,
		DialKeepAliveTimeout: s.keepaliveTimeout,
		Logger:               quiet(t.Logger),
		DialOptions: []grpc.DialOption{
			reconnect(s.dialTimeout),
			grpc.WithStaticStreamWindowSize(window),
			grpc.WithStaticConnWindowSize(window),
		},
	}
}

// window is how much may be on its way to this side. By default gRPC finds out what is
// good, by a ping after each answer and event. That takes three hundredths of a lock and
// unlock, and a fifth of a handoff of which twenty programs are told. A line of ten
// thousand is about as long as this.
const window = 4 << 20

// reconnect has gRPC try again soon. By default its pauses begin at a second,
// which is much of a session's TTL, and grow to two minutes, so that a program
// would stay cut off for that long after the store is back.
func reconnect(timeout time.Duration) grpc.DialOption {
	return grpc.WithConnectParams(grpc.ConnectParams{
		Backoff: backoff.Config{
			BaseDelay:  100 * time.Millisecond,
			Multiplier: backoff.DefaultConfig.Multiplier,
			Jitter:     backoff.DefaultConfig.Jitter,
			MaxDelay:   3 * time.Second,
		},
		MinConnectTimeout: timeout,
	})
}

package consul

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// How many connections there are to an agent, idle ones too: one for each request
// that is made at a time, and some for renewals.
const (
	maxConns   = maxCalls + maxEyes + maxBroad + 1 + maxScans + 1 + maxKeepers
	maxKeepers = 11
)

// keptIdle is how long a connection waits for its next request: other processes may
// need it.
const keptIdle = 10 * time.Second

// keeperIdle is how long a connection for renewals waits for the next one. A
// session with a TTL that is up to three times as long always has one; others
// have the time to get one.
const keeperIdle = 2 * time.Minute

// transport is the HTTP transport of a connection of our own. It knows its TCP
// connections, so that none outlives it.
//
// What opens the first session and keeps all has connections that nothing else
// uses, of which one stays. Otherwise a wait could take the last one, and a
// renewal find that other programs have taken all that the agent grants to this
// address. With TLS package http has the connections: there is one, which everything
// shares, and which waits keep.
type transport struct {
	library *http.Transport // nil: pools
	keeper  *http.Transport // likewise, for requests of a ctx that keeping has made
	dialer  net.Dialer

	life   context.Context // ends when it is closed
	cancel context.CancelFunc

	mu    sync.Mutex
	open  map[*tcp]struct{} // nil once closed
	pools map[purpose]*pool
}

// purpose is what a pool is for.
type purpose struct {
	addr    string
	keeping bool // for requests of a ctx that keeping has made
}

// tcp is a connection that tells when it is closed.
type tcp struct {
	net.Conn
	owner *transport
}

// errFull is a connection on which an agent has spoken before it was asked: it has too
// many from an address, says so with status 429 and closes it.
var errFull = errors.New("the agent has too many connections from this address (limits.http_max_conns_per_client)")

// newTransport returns a transport. config may be nil, for no TLS; then it has pools if
// that is asked for.
func newTransport(config *tls.Config, dialTimeout time.Duration, pooled bool) *transport {
	t := &transport{
		dialer: net.Dialer{Timeout: dialTimeout},
		open:   make(map[*tcp]struct{}),
		pools:  make(map[purpose]*pool),
	}
	t.life, t.cancel = context.WithCancel(context.Background())
	switch {
	case config != nil:
		t.library = t.packageHTTP(maxConns, maxConns, keptIdle)
		t.library.TLSClientConfig = config.Clone() // it is changed for HTTP/2
		t.library.TLSHandshakeTimeout = dialTimeout
		t.keeper = t.library
	case !pooled:
		t.library = t.packageHTTP(maxConns-maxKeepers, maxConns-maxKeepers, keptIdle)
		t.keeper = t.packageHTTP(maxKeepers, 1, keeperIdle)
	}
	return t
}

// packageHTTP returns a transport of package http: with so many connections, of which so
// many may be idle, and for how long.
func (t *transport) packageHTTP(most, kept int, age time.Duration) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return t.dial(ctx, network, addr)
		},
		MaxConnsPerHost:     most, // of an agent that does not speak HTTP/2
		MaxIdleConnsPerHost: kept,
		IdleConnTimeout:     age,
		// Agents are near, and compressing costs both sides more than it saves.
		DisableCompression: true,
		// All requests share a connection, which has to be tested: the others of a
		// dead one would wait for it as well.
		ForceAttemptHTTP2: true,
		HTTP2:             &http.HTTP2Config{SendPingTimeout: 2 * time.Second, PingTimeout: time.Second},
	}
}

type keepingKey struct{}

// keeping marks a request as one by which sessions are kept.
func keeping(ctx context.Context) context.Context {
	return context.WithValue(ctx, keepingKey{}, true)
}

func isKeeping(ctx context.Context) bool { return ctx.Value(keepingKey{}) != nil }

// RoundTrip implements http.RoundTripper. An agent's answer is JSON. A page that
// somebody in between has made would else be read as what was asked for: package api
// takes a deletion for done if the word "true" is anywhere in it.
func (t *transport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	switch keeps := isKeeping(req.Context()); {
	case t.library == nil:
		resp, err = t.pool(purpose{req.URL.Host, keeps}).roundTrip(req)
	case keeps:
		resp, err = t.keeper.RoundTrip(req)
	default:
		resp, err = t.library.RoundTrip(req)
	}
	if err == nil && resp.StatusCode == http.StatusOK && !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		_ = resp.Body.Close() // of no interest
		return nil, errNoAgent
	}
	return resp, err
}

func (t *transport) pool(of purpose) *pool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.pools[of]
	if p == nil {
		most, kept, age := maxConns-maxKeepers, maxConns-maxKeepers, keptIdle
		if of.keeping {
			most, kept, age = maxKeepers, 1, keeperIdle
		}
		p = newPool(most, kept, age, func(ctx context.Context) (*tcp, error) { return t.dial(ctx, "tcp", of.addr) })
		if t.pools != nil {
			t.pools[of] = p
		}
	}
	return p
}

// dial connects. Package net would end by the deadline of a ctx before that says so
// itself, and what comes of it would seem to be the agent's fault.
func (t *transport) dial(ctx context.Context, network, addr string) (*tcp, error) {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	defer context.AfterFunc(t.life, cancel)()
	conn, err := t.dialer.DialContext(inner, network, addr)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded): // the dialer's own, which must not pass for ctx's
		return nil, errors.New(err.Error())
	case err != nil:
		return nil, err
	}
	c := &tcp{Conn: conn, owner: t}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		_ = conn.Close() // unused
		return nil, net.ErrClosed
	}
	t.open[c] = struct{}{}
	return c, nil
}

func (c *tcp) Close() error {
	c.owner.mu.Lock()
	delete(c.owner.open, c)
	c.owner.mu.Unlock()
	return c.Conn.Close()
}

// refresh closes the connections by which sessions are kept, if they are idle and nothing
// else uses them.
func (t *transport) refresh() {
	if t.keeper != t.library {
		t.keeper.CloseIdleConnections()
	}
	t.mu.Lock()
	pools := maps.Clone(t.pools)
	t.mu.Unlock()
	for of, p := range pools {
		if of.keeping {
			p.free.Empty()
		}
	}
}

// client returns an HTTP client on the transport. It follows no redirect: no agent
// sends one, and whoever does would be asked to read what was to be written, and his
// page be taken for the answer.
func (t *transport) client() *http.Client {
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// close closes every connection. Requests under way fail.
func (t *transport) close() {
	t.cancel()
	t.mu.Lock()
	open, pools := t.open, t.pools
	t.open, t.pools = nil, nil
	t.mu.Unlock()
	if t.library != nil {
		t.library.CloseIdleConnections()
		t.keeper.CloseIdleConnections()
	}
	for c := range open {
		_ = c.Close() // may be closed already
	}
	for _, p := range pools {
		p.free.Close()
	}
}

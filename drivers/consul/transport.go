package consul

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// How many connections there are to an agent, idle ones too: one for each request
// that is made at a time, and some for renewals. Package http would make more of
// its own accord, as it dials when a request has to wait and keeps what it dialed
// also when the request did not need it.
const (
	maxConns   = maxCalls + maxEyes + maxBroad + 1 + maxScans + 1 + maxKeepers
	maxKeepers = 11
)

// keptIdle is how long a connection for renewals waits for the next one. A
// session with a TTL that is up to three times as long always has one; others
// have the time to get one.
const keptIdle = 2 * time.Minute

// transport is the HTTP transport of a connection of our own. It knows its TCP
// connections, so that none outlives it: package http has no way to close one
// that is about to become idle.
//
// What opens the first session and keeps all has connections that nothing else
// uses, of which one stays. Otherwise a wait could take the last one, and a
// renewal find that other programs have taken all that the agent grants to this
// address. With TLS there is one connection, which everything shares, and which
// waits keep.
type transport struct {
	*http.Transport
	keeper *http.Transport // for requests of a ctx that keeping has made
	dialer net.Dialer

	life   context.Context // ends when it is closed
	cancel context.CancelFunc

	mu   sync.Mutex
	open map[*tcp]struct{} // nil once closed
}

// tcp is a connection that tells when it is closed.
//
// An agent that has too many connections from an address answers with status 429
// before it was asked. Package http takes that for an answer to nothing, and
// writes to the program's log; so it is not shown what comes unasked.
type tcp struct {
	net.Conn
	owner *transport
	state atomic.Int32 // fresh, spoken or refused
}

// The states of a connection.
const (
	fresh   int32 = iota
	spoken        // something was sent
	refused       // the agent spoke first
)

// errFull is a connection on which nothing was sent.
var errFull = errors.New("the agent has too many connections from this address (limits.http_max_conns_per_client)")

func (c *tcp) Write(b []byte) (int, error) {
	if !c.state.CompareAndSwap(fresh, spoken) && c.state.Load() == refused {
		return 0, errFull
	}
	return c.Conn.Write(b)
}

func (c *tcp) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.state.CompareAndSwap(fresh, refused) || c.state.Load() == refused {
		return 0, errFull
	}
	return n, err
}

// newTransport returns a transport. config may be nil, for no TLS.
func newTransport(config *tls.Config, dialTimeout time.Duration) *transport {
	t := &transport{
		dialer: net.Dialer{Timeout: dialTimeout},
		open:   make(map[*tcp]struct{}),
	}
	t.life, t.cancel = context.WithCancel(context.Background())
	t.Transport = &http.Transport{
		DialContext:         t.dial,
		TLSClientConfig:     config.Clone(), // it is changed for HTTP/2
		TLSHandshakeTimeout: dialTimeout,
		MaxConnsPerHost:     maxConns - maxKeepers,
		MaxIdleConnsPerHost: maxConns - maxKeepers, // by default all but two are closed after each request
		IdleConnTimeout:     10 * time.Second,      // other processes may need them
		// Agents are near, and compressing costs both sides more than it saves.
		DisableCompression: true,
		// With TLS all requests share a connection, which has to be tested: the
		// others of a dead one would wait for it as well.
		ForceAttemptHTTP2: true,
		HTTP2:             &http.HTTP2Config{SendPingTimeout: 2 * time.Second, PingTimeout: time.Second},
	}
	t.keeper = t.Transport
	if config == nil {
		t.keeper = t.Transport.Clone()
		t.keeper.MaxConnsPerHost, t.keeper.MaxIdleConnsPerHost, t.keeper.IdleConnTimeout = maxKeepers, 1, keptIdle
	}
	return t
}

type keepingKey struct{}

// keeping marks a request as one by which sessions are kept.
func keeping(ctx context.Context) context.Context {
	return context.WithValue(ctx, keepingKey{}, true)
}

// RoundTrip implements http.RoundTripper. An agent's answer is JSON. A page that
// somebody in between has made would else be read as what was asked for: package api
// takes a deletion for done if the word "true" is anywhere in it.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	by := t.Transport
	if req.Context().Value(keepingKey{}) != nil {
		by = t.keeper
	}
	resp, err := by.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusOK && !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		_ = resp.Body.Close() // of no interest
		return nil, errNoAgent
	}
	return resp, err
}

func (t *transport) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(t.life, cancel)
	defer stop()
	conn, err := t.dialer.DialContext(ctx, network, addr)
	if err != nil {
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

// refresh closes the connections by which sessions are kept, if they are idle.
func (t *transport) refresh() {
	if t.keeper != t.Transport {
		t.keeper.CloseIdleConnections()
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
	open := t.open
	t.open = nil
	t.mu.Unlock()
	t.CloseIdleConnections()
	t.keeper.CloseIdleConnections()
	for c := range open {
		_ = c.Close() // may be closed already
	}
}

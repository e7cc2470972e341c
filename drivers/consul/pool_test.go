package consul

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// host is what accepts connections as an agent does, and counts them.
type host struct {
	net.Listener
	serve    func(n int, conn net.Conn) // the n-th connection, from 1; it is closed when that returns
	accepted atomic.Int32
	running  sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]struct{}
}

func startHost(t *testing.T, serve func(n int, conn net.Conn)) *host {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	h := &host{Listener: l, serve: serve, open: make(map[net.Conn]struct{})}
	h.running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			n := int(h.accepted.Add(1))
			h.mu.Lock()
			h.open[conn] = struct{}{}
			h.mu.Unlock()
			h.running.Go(func() {
				h.serve(n, conn)
				h.drop(conn)
			})
		}
	})
	t.Cleanup(func() {
		must(t, l.Close())
		h.dropAll()
		h.running.Wait()
	})
	return h
}

func (h *host) drop(conn net.Conn) {
	_ = conn.Close() // may be closed already
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, conn)
}

func (h *host) dropAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for conn := range h.open {
		_ = conn.Close() // likewise
	}
}

func (h *host) connected() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.open)
}

func (h *host) url() string { return "http://" + h.Addr().String() + "/x" }

// answers serves request after request of a connection with the same answer.
func answers(answer string) func(int, net.Conn) {
	return func(_ int, conn net.Conn) {
		in := bufio.NewReader(conn)
		for {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body) // the next request shows what is wrong
			if _, err := io.WriteString(conn, answer); err != nil {
				return
			}
		}
	}
}

const answerTrue = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\ntrue"

func startTransport(t *testing.T) *transport {
	t.Helper()
	return startTransportAs(t, true)
}

// startTransportAs is startTransport with pools or without.
func startTransportAs(t *testing.T, pooled bool) *transport {
	t.Helper()
	wire := newTransport(nil, time.Second, pooled)
	t.Cleanup(wire.close)
	return wire
}

// send makes a request, and returns what was read of the answer.
func send(ctx context.Context, wire *transport, method, url, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	if body == "" {
		req.Body = nil
	}
	resp, err := wire.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	return string(said), err
}

func sends(t *testing.T, wire *transport, method, url, body string) {
	t.Helper()
	said, err := send(within(t), wire, method, url, body)
	if err != nil || said != "true" {
		t.Errorf("%s: %q, %v", method, said, err)
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	for _, answer := range []string{
		answerTrue,
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntrue\r\n0\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\n\r\n" + answerTrue,
	} {
		h := startHost(t, answers(answer))
		wire := startTransport(t)
		for range 5 {
			sends(t, wire, http.MethodGet, h.url(), "")
			sends(t, wire, http.MethodPut, h.url(), "words")
		}
		if n := h.accepted.Load(); n != 1 {
			t.Errorf("%d connections for requests after each other, answered with %q", n, answer)
		}
	}
}

// Renewals do not use the connections of others, nor lend theirs.
func TestRenewalsHaveConnectionsOfTheirOwn(t *testing.T) {
	for _, pooled := range []bool{true, false} {
		h := startHost(t, answers(answerTrue))
		wire := startTransportAs(t, pooled)
		for range 3 {
			sends(t, wire, http.MethodGet, h.url(), "")
			_, err := send(keeping(within(t)), wire, http.MethodPut, h.url(), "")
			must(t, err)
		}
		if n := h.accepted.Load(); n != 2 {
			t.Errorf("%d connections; want 2", n)
		}
		wire.refresh()
		eventually(t, "that for renewals is closed", func() bool { return h.connected() == 1 })
	}
}

// Without pools, package http has the connections, and what an agent has closed while it
// was idle is seen to be, as it reads all the time.
func TestWithoutPools(t *testing.T) {
	h := startHost(t, func(_ int, conn net.Conn) {
		in := bufio.NewReader(conn)
		if req, err := http.ReadRequest(in); err == nil {
			_, _ = io.Copy(io.Discard, req.Body) // the test shows what is wrong
			_, _ = io.WriteString(conn, answerTrue)
		}
	})
	wire := startTransportAs(t, false)
	for range 5 {
		sends(t, wire, http.MethodPut, h.url(), "words")
		eventually(t, "the connection is closed", func() bool {
			wire.mu.Lock()
			defer wire.mu.Unlock()
			return len(wire.open) == 0
		})
	}
	wire.close()
	if said, err := send(within(t), wire, http.MethodGet, h.url(), ""); err == nil {
		t.Errorf("answered after the end: %q", said)
	}
}

// What an agent has closed while it was idle is not used, for writes neither.
func TestIdleConnectionThatWasClosed(t *testing.T) {
	h := startHost(t, answers(answerTrue))
	wire := startTransport(t)
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		sends(t, wire, method, h.url(), "")
		h.dropAll()
		p := wire.pool(purpose{h.Addr().String(), false})
		eventually(t, "the end has come", func() bool {
			c, ok := p.free.Take()
			if ok {
				p.free.Put(c)
			}
			return !ok
		})
		sends(t, wire, method, h.url(), "")
	}
}

// An agent that closes a connection when the request is on its way leaves no doubt
// about what only reads, which is asked again; what changes something is not.
func TestConnectionThatIsClosedWhileAsked(t *testing.T) {
	for method, again := range map[string]bool{http.MethodGet: true, http.MethodPut: false} {
		h := startHost(t, func(n int, conn net.Conn) {
			if n > 1 {
				answers(answerTrue)(n, conn)
				return
			}
			in := bufio.NewReader(conn)
			_, err := http.ReadRequest(in)
			if err == nil {
				_, err = io.WriteString(conn, answerTrue)
			}
			if err == nil {
				_, err = http.ReadRequest(in)
			}
			if err != nil {
				t.Error(err)
			}
		})
		wire := startTransport(t)
		sends(t, wire, method, h.url(), "")
		said, err := send(within(t), wire, method, h.url(), "")
		if (err == nil) != again {
			t.Errorf("%s: %q, %v", method, said, err)
		}
		sends(t, wire, method, h.url(), "")
		if n := h.accepted.Load(); n != 2 {
			t.Errorf("%s: %d connections", method, n)
		}
	}
}

// An answer that is not read to its end, that is the last one of its connection, or
// that has more behind it takes the connection with it.
func TestConnectionIsNotUsedAgain(t *testing.T) {
	h := startHost(t, func(_ int, conn net.Conn) {
		in := bufio.NewReader(conn)
		if _, err := http.ReadRequest(in); err != nil {
			t.Error(err)
		}
		if _, err := io.WriteString(conn, strings.TrimSuffix(answerTrue, "true")); err != nil { // that would come later
			t.Error(err)
		}
		_, _ = in.ReadByte() // until the other side has gone
	})
	wire := startTransport(t)
	for range 2 {
		req, err := http.NewRequestWithContext(within(t), http.MethodPut, h.url(), nil)
		must(t, err)
		resp, err := wire.RoundTrip(req)
		must(t, err)
		must(t, resp.Body.Close())
		if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
			t.Errorf("read after the end: %v", err)
		}
	}
	if n := h.accepted.Load(); n != 2 {
		t.Errorf("not read: %d connections for 2 requests", n)
	}
	for _, answer := range []string{
		strings.Replace(answerTrue, "Content-Length", "Connection: close\r\nContent-Length", 1),
		answerTrue + "and more",
	} {
		h := startHost(t, answers(answer))
		sends(t, wire, http.MethodPut, h.url(), "")
		sends(t, wire, http.MethodPut, h.url(), "")
		if n := h.accepted.Load(); n != 2 {
			t.Errorf("%q: %d connections for 2 requests", answer, n)
		}
	}
}

// There are only so many connections: who comes then waits for one, or for the end of
// its ctx.
func TestConnectionsAreLimited(t *testing.T) {
	release := make(chan struct{})
	h := startHost(t, func(n int, conn net.Conn) {
		<-release
		answers(answerTrue)(n, conn)
	})
	letThrough := sync.OnceFunc(func() { close(release) })
	t.Cleanup(letThrough)
	wire := startTransport(t)
	const most = maxConns - maxKeepers
	var all sync.WaitGroup
	for range 2 * most {
		all.Go(func() { sends(t, wire, http.MethodPut, h.url(), "") })
	}
	eventually(t, "all connections are in use", func() bool { return h.connected() == most })
	ctx, cancel := context.WithTimeout(within(t), 10*time.Millisecond)
	defer cancel()
	_, err := send(ctx, wire, http.MethodPut, h.url(), "")
	wantIs(t, err, context.DeadlineExceeded)
	letThrough()
	all.Wait()
	if n := h.accepted.Load(); n != most {
		t.Errorf("%d connections; want %d", n, most)
	}
}

// Connections that are idle for long are closed, however many there are.
func TestIdleConnectionsAreClosed(t *testing.T) {
	h := startHost(t, answers(answerTrue))
	wire := startTransport(t)
	p := newPool(10, 10, 50*time.Millisecond, wire.pool(purpose{h.Addr().String(), false}).dial)
	wire.pools[purpose{h.Addr().String(), false}] = p
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { sends(t, wire, http.MethodPut, h.url(), "") })
	}
	all.Wait()
	eventually(t, "they are closed", func() bool { return h.connected() == 0 })
	sends(t, wire, http.MethodPut, h.url(), "")
	eventually(t, "the next one as well", func() bool { return h.connected() == 0 })
}

// Closing ends what is under way, and nothing is sent after it.
func TestClosedTransport(t *testing.T) {
	asked := make(chan struct{})
	h := startHost(t, func(n int, conn net.Conn) {
		in := bufio.NewReader(conn)
		if _, err := http.ReadRequest(in); n > 1 {
			if err == nil {
				t.Error("sent after the end")
			}
			return
		}
		close(asked)
		_, _ = in.ReadByte() // until the other side has gone
	})
	wire := startTransport(t)
	result := make(chan error, 1)
	go func() {
		_, err := send(context.Background(), wire, http.MethodGet, h.url(), "")
		result <- err
	}()
	<-asked
	wire.close()
	if err := receive(t, "the request", result); err == nil {
		t.Error("it was answered")
	}
	if said, err := send(within(t), wire, http.MethodGet, h.url(), ""); err == nil {
		t.Errorf("answered after the end: %q", said)
	}
}

// What has ended before it is sent is not sent, and takes no connection with it.
func TestEndedRequestIsNotSent(t *testing.T) {
	h := startHost(t, answers(answerTrue))
	wire := startTransport(t)
	sends(t, wire, http.MethodPut, h.url(), "")
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	for range 100 {
		sent := false
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent = true }})
		_, err := send(traced, wire, http.MethodPut, h.url(), "")
		wantIs(t, err, context.Canceled)
		if sent {
			t.Fatal("it was sent")
		}
	}
	sends(t, wire, http.MethodPut, h.url(), "")
	if n := h.accepted.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// Who cannot be reached in the driver's own time is not the caller's impatience.
func TestDialThatTakesTooLong(t *testing.T) {
	wire := newTransport(nil, time.Nanosecond, true)
	defer wire.close()
	_, err := wire.dial(within(t), "tcp", "127.0.0.1:1")
	if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("the error is %v; want one of a time-out that is not the ctx's", err)
	}
}

package consul

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// tap stands between a client and an agent and knows their requests: it counts
// them, holds one back, answers in the agent's place. Each connection of the
// client has one of its own to the agent. What the client has sent goes through
// also if the client is gone by then, as on a slow network.
type tap struct {
	target   string
	dialer   net.Dialer
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	conns   map[net.Conn]struct{} // to the agent
	clients map[net.Conn]struct{}
	most    int // of conns at a time
	watches int // queries that wait at the agent
	count   map[string]int
	status  map[int]int
	holds   []*holding
	replies []*holding                 // whose reply is held back, or is to be
	held    []*holding                 // all there ever were
	lost    []func(*http.Request) bool // of which the next reply is lost
	closed  bool
}

// holding is a request that is held back, or is to be.
type holding struct {
	kind    string
	caught  chan struct{} // closed when there is one
	release chan struct{} // closed to let it go
	landed  chan struct{} // closed when the agent has answered
	status  int           // of that answer
	once    sync.Once
	taken   atomic.Bool
}

// machines counts the addresses that taps have. An agent limits the connections
// of each, so a tap is a machine of its own, as clients are.
var machines atomic.Uint32

func newTap(t testing.TB, endpoint string) *tap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &tap{
		target:   strings.TrimPrefix(endpoint, "http://"),
		dialer:   net.Dialer{LocalAddr: &net.TCPAddr{IP: machine(machines.Add(1))}},
		listener: listener,
		conns:    make(map[net.Conn]struct{}),
		clients:  make(map[net.Conn]struct{}),
		count:    make(map[string]int),
		status:   make(map[int]int),
	}
	p.running.Go(p.accept)
	return p
}

// machine is the n-th loopback address but for that of the agents and the tests.
func machine(n uint32) net.IP {
	n %= 1 << 16
	return net.IPv4(127, 1+byte(n>>14), byte(n>>7)&127, 1+byte(n)&127)
}

func (p *tap) addr() string { return p.listener.Addr().String() }

func (p *tap) close() {
	_ = p.listener.Close() // once is enough
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		_ = c.Close() // may be closed already
	}
	for c := range p.clients {
		_ = c.Close() // likewise
	}
	for _, h := range p.held {
		h.free()
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (p *tap) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

func (p *tap) serve(client net.Conn) {
	defer client.Close()
	server, err := p.dialer.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.conns[server], p.clients[client] = struct{}{}, struct{}{}
	p.most = max(p.most, len(p.conns))
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, server)
		delete(p.clients, client)
	}()
	requests, replies := bufio.NewReader(client), bufio.NewReader(server)
	for p.exchange(client, server, requests, replies) {
	}
}

// exchange passes one request and its reply. It reports false when that was the
// last.
func (p *tap) exchange(client, server net.Conn, requests, replies *bufio.Reader) bool {
	req, err := http.ReadRequest(requests)
	if err != nil {
		return false
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return false
	}
	h, lose, done := p.arrive(req)
	defer done()
	if h != nil {
		close(h.caught)
		<-h.release
		defer close(h.landed)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	if err := req.Write(server); err != nil {
		return false
	}
	resp, err := http.ReadResponse(replies, req)
	if err != nil {
		return false
	}
	p.mu.Lock()
	p.status[resp.StatusCode]++
	var late *holding
	if len(p.replies) > 0 && p.replies[0].kind == kindOfRequest(req) {
		late, p.replies = p.replies[0], p.replies[1:]
	}
	p.mu.Unlock()
	if late != nil {
		close(late.caught)
		<-late.release
	}
	if h != nil {
		h.status = resp.StatusCode
	}
	if lose {
		_, _ = io.Copy(io.Discard, resp.Body) // it does not matter
		return false
	}
	return resp.Write(client) == nil && !resp.Close
}

// arrive takes note of a request, and says what is to become of it. done is
// called when it is answered.
func (p *tap) arrive(req *http.Request) (h *holding, lose bool, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kind := kindOfRequest(req)
	p.count[kind]++
	for len(p.holds) > 0 && p.holds[0].kind == kind && h == nil {
		if p.holds[0].taken.CompareAndSwap(false, true) {
			h = p.holds[0]
		}
		p.holds = p.holds[1:]
	}
	if len(p.lost) > 0 && p.lost[0](req) {
		p.lost = p.lost[1:]
		lose = true
	}
	if kind == "watch" {
		p.watches++
	}
	return h, lose, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if kind == "watch" {
			p.watches--
		}
	}
}

// kindOfRequest names a request by what the driver wants with it.
func kindOfRequest(req *http.Request) string {
	path := req.URL.Path
	switch {
	case path == "/v1/txn", req.Method == http.MethodDelete:
		return "write"
	case strings.HasPrefix(path, "/v1/session/"):
		kind, _, _ := strings.Cut(strings.TrimPrefix(path, "/v1/session/"), "/")
		return "session " + kind
	case req.URL.Query().Has("index"):
		return "watch"
	default:
		return "read"
	}
}

// hold keeps the next request of a kind that reaches one of the taps from its
// agent, until free is called.
func hold(kind string, taps ...*tap) *holding {
	h := &holding{kind: kind, caught: make(chan struct{}), release: make(chan struct{}), landed: make(chan struct{})}
	for _, p := range taps {
		p.mu.Lock()
		p.holds, p.held = append(p.holds, h), append(p.held, h)
		p.mu.Unlock()
	}
	return h
}

// holdReply keeps the next reply to a request of a kind from the client, until
// free is called.
func (p *tap) holdReply(kind string) *holding {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &holding{kind: kind, caught: make(chan struct{}), release: make(chan struct{})}
	p.replies, p.held = append(p.replies, h), append(p.held, h)
	return h
}

// free lets the request go on to the agent. If there is none yet, there will be
// none.
func (h *holding) free() {
	h.taken.Store(true)
	h.once.Do(func() { close(h.release) })
}

// loseReply lets the next request of a kind through and resets the connection
// in place of the reply.
func (p *tap) loseReply(kind string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = append(p.lost, func(req *http.Request) bool { return kindOfRequest(req) == kind })
}

// during counts the requests that are made while f runs, renewals aside.
func (p *tap) during(f func()) map[string]int {
	p.mu.Lock()
	clear(p.count)
	p.mu.Unlock()
	f()
	p.mu.Lock()
	defer p.mu.Unlock()
	counted := make(map[string]int)
	for kind, n := range p.count {
		if kind != "session renew" {
			counted[kind] = n
		}
	}
	return counted
}

// state is what a tap sees at a time.
type state struct {
	conns, most, watches int
	refused              int // requests answered with status 429
}

func (p *tap) state() state {
	p.mu.Lock()
	defer p.mu.Unlock()
	return state{len(p.conns), p.most, p.watches, p.status[http.StatusTooManyRequests]}
}

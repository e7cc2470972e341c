package storetest

import (
	"io"
	"maps"
	"net"
	"sync"
	"testing"
)

// tap stands between one client and a server and reads along what they say. To
// the server it comes from an address of its own, as another machine.
type tap struct {
	target   string
	dialer   net.Dialer
	listener net.Listener
	ears     ears
	running  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil once closed
	open  int                   // connections to the server
	most  int                   // of them at a time
	heard map[string]int
}

// newTap makes a tap before a server.
func newTap(t testing.TB, from net.IP, target string, ears ears) *tap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{
		target:   target,
		dialer:   net.Dialer{LocalAddr: &net.TCPAddr{IP: from}},
		listener: listener,
		ears:     ears,
		conns:    make(map[net.Conn]struct{}),
		heard:    make(map[string]int),
	}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close() // nothing is written to it
		p.mu.Lock()
		for c := range p.conns {
			_ = c.Close() // may be closed already
		}
		p.conns = nil
		p.mu.Unlock()
		p.running.Wait()
	})
	return p
}

// machine returns an address that nothing else of the test comes from. Servers
// limit the connections of each.
func (s *store) machine() net.IP {
	n := s.machines.Add(1)
	return net.IPv4(127, 0, byte(1+n>>7), byte(1+n&127))
}

// elsewhere returns the hosts by which a program on a machine of its own reaches
// the members.
func (s *store) elsewhere(t testing.TB) (ways []string) {
	t.Helper()
	from := s.machine()
	for _, host := range hosts(s.Endpoints()...) {
		ways = append(ways, newTap(t, from, host, ears{}).addr())
	}
	return ways
}

func (p *tap) addr() string { return p.listener.Addr().String() }

func (p *tap) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.pass(client) })
	}
}

func (p *tap) pass(client net.Conn) {
	defer client.Close()
	server, err := p.dialer.Dial("tcp", p.target)
	if err != nil || !p.begin(client, server) {
		return
	}
	defer p.end(client, server)
	p.running.Go(func() {
		p.overhear(client, server, p.ears.client)
		_ = server.Close() // ends the other direction
	})
	p.overhear(server, client, p.ears.server)
}

// overhear passes on what is said, whatever ends it.
func (p *tap) overhear(from, to net.Conn, ear func(*tap, io.Reader)) {
	if ear != nil {
		h := &hearing{from: from, to: to}
		ear(p, h)
		if h.pass() != nil {
			return
		}
	}
	_, _ = io.Copy(to, from) // what is not understood is passed on
}

// hearing passes on what was read when more is asked for: nobody is told
// something before the ear has heard it.
type hearing struct {
	from io.Reader
	to   io.Writer
	held []byte
}

func (h *hearing) Read(b []byte) (int, error) {
	if err := h.pass(); err != nil {
		return 0, err
	}
	n, err := h.from.Read(b)
	h.held = append(h.held[:0], b[:n]...)
	return n, err
}

func (h *hearing) pass() error {
	_, err := h.to.Write(h.held)
	h.held = h.held[:0]
	return err
}

func (p *tap) begin(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		_ = server.Close() // nobody waits for it
		return false
	}
	p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	p.open++
	p.most = max(p.most, p.open)
	return true
}

func (p *tap) end(client, server net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, client)
	delete(p.conns, server)
	p.open--
	_ = server.Close() // may be closed already
}

func (p *tap) hear(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard[what]++
}

// soFar returns what was heard, and how often.
func (p *tap) soFar() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.heard)
}

// peak returns how many connections there were at a time, at the most.
func (p *tap) peak() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

// Package wire counts what clients ask of a store, by standing between them and
// reading along.
//
// What keeps a session alive is not counted, since it has nothing to do with what
// the session is used for.
package wire

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Reader reads what one client says on one connection until it ends, and calls
// request for each request.
type Reader func(said io.Reader, request func())

// Proxy stands before one server.
type Proxy struct {
	listener net.Listener
	target   string
	read     Reader
	requests atomic.Int64
	running  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool // nil once closed
}

// Listen starts a proxy before the server at target, a host:port, on a port of
// its own of the loopback address. The caller closes it.
func Listen(target string, read Reader) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: target, read: read, conns: make(map[net.Conn]bool)}
	p.running.Go(p.accept)
	return p, nil
}

// Addr is where clients connect, as host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Requests is how many were counted so far. A request is counted while it is passed on, so
// its answer may come first. After Close all are counted.
func (p *Proxy) Requests() int64 { return p.requests.Load() }

// Close ends the connections and returns when nothing of the proxy runs.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	for c := range p.conns {
		_ = c.Close() // may have ended by itself
	}
	p.conns = nil
	p.mu.Unlock()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.pass(client) })
	}
}

func (p *Proxy) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.keep(client, server) {
		return
	}
	defer p.forget(client, server)
	p.running.Go(func() {
		_, _ = io.Copy(client, server) // whatever ends it
		_ = client.Close()             // ends the other direction
	})
	said := io.TeeReader(client, server)
	p.read(said, func() { p.requests.Add(1) })
	_, _ = io.Copy(io.Discard, said) // what is not understood is passed on
}

func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.conns == nil {
			return false
		}
		p.conns[c] = true
	}
	return true
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}

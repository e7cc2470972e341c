// Package delay puts the round trip of a network between clients and servers
// that run on one machine.
//
// A [Proxy] delivers what it reads after half a round trip, in either direction.
// It limits no rate: as much as a client sends is under way at a time, and each
// connection goes its own pace. [Start] runs proxies in a process of their own,
// so that their work is not counted as the clients'.
package delay

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Proxy forwards the connections to one server. As in a network, a connection
// takes a round trip to be made, before the first byte is on its way.
type Proxy struct {
	listener net.Listener
	target   string
	rtt      time.Duration
	running  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool // nil once closed
}

// Listen starts a proxy before the server at target, a host:port, on a port of
// its own of the loopback address. The caller closes it.
func Listen(target string, rtt time.Duration) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: target, rtt: rtt, conns: make(map[net.Conn]bool)}
	p.running.Go(p.accept)
	return p, nil
}

// Addr is where clients connect, as host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close ends all connections and returns when nothing of the proxy runs.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	for c := range p.conns {
		_ = c.Close() // it may have ended by itself
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
		p.running.Go(func() { p.forward(client.(*net.TCPConn)) })
	}
}

// forward serves one connection until both directions have ended.
func (p *Proxy) forward(client *net.TCPConn) {
	defer client.Close()
	connected := time.Now().Add(p.rtt)
	conn, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	server := conn.(*net.TCPConn)
	defer server.Close()
	if !p.keep(client, server) {
		return
	}
	defer p.forget(client, server)
	var both sync.WaitGroup
	both.Go(func() { p.pipe(client, server, connected) })
	both.Go(func() { p.pipe(server, client, time.Time{}) })
	both.Wait()
}

// pipe delivers to to what from sends. What was sent before begin counts as sent then.
func (p *Proxy) pipe(from, to *net.TCPConn, begin time.Time) {
	underWay := make(chan chunk, mostChunks)
	p.running.Go(func() { read(from, underWay, begin, p.rtt/2) })
	if err := deliver(underWay, to); err != nil {
		_ = from.Close() // which ends the other direction as well
		_ = to.Close()
	}
	for range underWay { // a reader that is held up comes to its end
	}
}

// chunk is what one read returned, and when it arrives at the other side.
type chunk struct {
	data []byte
	err  error // io.EOF: the sender has ended its stream
	due  time.Time
}

// A direction of a connection has at most this many chunks of this size under way.
// Then its sender is held up.
const (
	mostChunks = 1024
	chunkSize  = 64 << 10
)

// read sends on what it reads, and at last how that ended.
func read(from net.Conn, underWay chan<- chunk, begin time.Time, delay time.Duration) {
	defer close(underWay)
	buf := make([]byte, chunkSize)
	for {
		n, err := from.Read(buf)
		sent := time.Now()
		if sent.Before(begin) {
			sent = begin
		}
		underWay <- chunk{bytes.Clone(buf[:n]), err, sent.Add(delay)}
		if err != nil {
			return
		}
	}
}

// deliver writes each chunk when it is due.
func deliver(underWay <-chan chunk, to *net.TCPConn) error {
	timer, err := newTimer()
	if err != nil {
		return err
	}
	defer timer.Close()
	for c := range underWay {
		if err := timer.SleepUntil(c.due); err != nil {
			return err
		}
		if _, err := to.Write(c.data); err != nil {
			return err
		}
		if errors.Is(c.err, io.EOF) {
			return to.CloseWrite() // the other direction may go on
		}
		if c.err != nil {
			return c.err
		}
	}
	return nil
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

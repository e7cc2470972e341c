// Package delay adds a network's round trip between clients and servers on one
// machine.
//
// A [Proxy] delivers each chunk half a round trip after it has read it, in either
// direction. It adds delay and limits no rate: chunks are in flight at the same
// time, and no connection waits for another. [Start] runs proxies in a process of
// their own, so their processor time and memory do not count as the clients'.
package delay

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Proxy forwards connections to one server. As in a network, connecting takes a
// round trip: the proxy delays a client's first bytes by one more.
type Proxy struct {
	listener net.Listener
	target   string
	rtt      time.Duration
	running  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool // nil once closed
}

// Listen starts a proxy to target, a host:port, on a free loopback port. The caller
// closes it.
func Listen(target string, rtt time.Duration) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: target, rtt: rtt, conns: make(map[net.Conn]bool)}
	p.running.Go(p.accept)
	return p, nil
}

// Addr returns where clients connect, as host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close closes all connections and returns when no goroutine of the proxy is left.
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

// forward connects a client to the server and returns when both directions have
// ended.
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

// pipe forwards one direction. What from sends before begin counts as sent at begin.
func (p *Proxy) pipe(from, to *net.TCPConn, begin time.Time) {
	inFlight := make(chan chunk, mostChunks)
	p.running.Go(func() { read(from, inFlight, begin, p.rtt/2) })
	if err := deliver(inFlight, to); err != nil {
		_ = from.Close() // which ends the other direction as well
		_ = to.Close()
	}
	for range inFlight { // so that read is not blocked and ends
	}
}

// chunk is what one read returned, and when to deliver it.
type chunk struct {
	data []byte
	err  error // of the read; io.EOF at the end of the stream
	due  time.Time
}

// One direction has at most mostChunks of at most chunkSize in flight. Beyond that
// the sender blocks.
const (
	mostChunks = 1024
	chunkSize  = 64 << 10
)

// read reads chunks until a read fails, and closes the channel.
func read(from net.Conn, inFlight chan<- chunk, begin time.Time, delay time.Duration) {
	defer close(inFlight)
	buf := make([]byte, chunkSize)
	for {
		n, err := from.Read(buf)
		sent := time.Now()
		if sent.Before(begin) {
			sent = begin
		}
		inFlight <- chunk{bytes.Clone(buf[:n]), err, sent.Add(delay)}
		if err != nil {
			return
		}
	}
}

// deliver writes each chunk when it is due. It returns nil after it has passed on
// the end of the stream.
func deliver(inFlight <-chan chunk, to *net.TCPConn) error {
	timer, err := newTimer()
	if err != nil {
		return err
	}
	defer timer.file.Close()
	for c := range inFlight {
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

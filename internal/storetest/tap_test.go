package storetest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// tap stands between one client and a server and reads along what the server
// says. To the server it comes from an address of its own, as another machine.
type tap struct {
	target   string
	dialer   net.Dialer
	listener net.Listener
	listen   func(*tap, io.Reader) // reads what is said on a connection
	running  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil once closed
	open  int                   // connections to the server
	most  int                   // of them at a time
	heard map[string]int
}

// newTap makes the n-th tap before a server, n less than 250.
func newTap(t testing.TB, n int, target string, listen func(*tap, io.Reader)) *tap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{
		target:   target,
		dialer:   net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(n+1))}},
		listener: listener,
		listen:   listen,
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
		_, _ = io.Copy(server, client) // whatever ends it
		_ = server.Close()             // ends the other direction
	})
	said := io.TeeReader(server, client)
	p.listen(p, said)
	_, _ = io.Copy(io.Discard, said) // what is not understood is passed on
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

// hearStatus counts HTTP responses by their status.
func hearStatus(p *tap, said io.Reader) {
	r := bufio.NewReader(said)
	for {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return
		}
		p.hear(resp.Status)
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return
		}
	}
}

const ownEvent = "own "

// hearEvents counts the notifications that ZooKeeper sends, by path. Those of
// the session's own nodes, whose names begin with it, are marked.
func hearEvents(p *tap, said io.Reader) {
	r := bufio.NewReader(said)
	own := ""
	for first := true; ; first = false {
		var length [4]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(length[:]))
		if _, err := io.ReadFull(r, frame); err != nil {
			return
		}
		const event = -1
		switch {
		case first: // version, timeout, session, password
			own = fmt.Sprintf("%016x-", binary.BigEndian.Uint64(frame[8:]))
		case int32(binary.BigEndian.Uint32(frame)) == event: // zxid, error; type, state, path
			path := string(frame[16+8+4:])
			if strings.HasPrefix(path[strings.LastIndexByte(path, '/')+1:], own) {
				path = ownEvent + path
			}
			p.hear(path)
		}
	}
}

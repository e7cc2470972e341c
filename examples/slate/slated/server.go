package slated

import (
	"encoding/json"
	"net"
	"strings"
	"sync"
	"time"
)

// Server is a running store. Its methods are safe for concurrent use.
type Server struct {
	listener net.Listener
	running  sync.WaitGroup // every goroutine

	mu      sync.Mutex
	rev     uint64 // rises with each change
	keys    map[string]KV
	leases  map[string]*time.Timer // each revokes its lease
	changed chan struct{}          // closed, and replaced, at each change of keys
	watches int
	conns   map[net.Conn]struct{} // nil once closed
}

// Start listens on a free port of 127.0.0.1 and serves until Close.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return Serve(l), nil
}

// Serve serves the connections that l accepts until Close, which closes l.
func Serve(l net.Listener) *Server {
	s := &Server{
		listener: l, keys: make(map[string]KV), leases: make(map[string]*time.Timer),
		changed: make(chan struct{}), conns: make(map[net.Conn]struct{}),
	}
	s.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			if s.conns == nil { // closed in the meantime
				_ = c.Close()
			} else {
				s.conns[c] = struct{}{}
				s.running.Go(func() { s.serve(c) })
			}
			s.mu.Unlock()
		}
	})
	return s
}

// Addr is where clients connect, as host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close closes all connections and returns when nothing of the server runs any
// more. What it held is lost.
func (s *Server) Close() {
	_ = s.listener.Close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close()
	}
	s.conns = nil
	for _, t := range s.leases {
		t.Stop()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// Count counts the keys that begin with prefix, and for all clients the leases,
// the waits under way and the connections.
func (s *Server) Count(prefix string) (keys, leases, watches, conns int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.keys {
		if strings.HasPrefix(k, prefix) {
			keys++
		}
	}
	return keys, len(s.leases), s.watches, len(s.conns)
}

// serve answers the requests of a connection. They are read on a goroutine of
// their own, so that a wait hears of it when its client hangs up.
func (s *Server) serve(c net.Conn) {
	requests := make(chan Request)
	quit := make(chan struct{})
	s.running.Go(func() {
		defer close(requests)
		for in := json.NewDecoder(c); ; {
			var r Request
			if in.Decode(&r) != nil {
				return
			}
			select { // either is ready for good once nobody takes requests
			case requests <- r:
			case <-quit:
				return
			}
		}
	})
	defer func() {
		close(quit)
		_ = c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	out := json.NewEncoder(c)
	for r := range requests {
		var reply Reply
		if r.Op == "wait" {
			var ok bool
			if reply, ok = s.wait(r, requests); !ok {
				return
			}
		} else {
			reply = s.Do(r)
		}
		if out.Encode(reply) != nil {
			return
		}
	}
}

// wait returns when the key is gone, or made anew, and after ten seconds in any
// case, so that a client knows that somebody is there. It is false if the client
// hangs up, or speaks, which ends the connection too.
func (s *Server) wait(r Request, hangup <-chan Request) (Reply, bool) {
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches++
	defer func() { s.watches-- }()
	for s.keys[r.Key].Created == r.Created {
		changed := s.changed
		s.mu.Unlock()
		var late, gone bool
		select { // if several are ready, a change is found again, and the others stay so
		case <-changed:
		case <-deadline.C:
			late = true
		case <-hangup:
			gone = true
		}
		s.mu.Lock()
		if gone {
			return Reply{}, false
		}
		if late {
			return Reply{Rev: s.rev}, true
		}
	}
	return Reply{OK: true, Rev: s.rev}, true
}

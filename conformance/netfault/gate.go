package netfault

import (
	"context"
	"net"
	"sync"
)

// DialFunc is the type of net.Dialer.DialContext.
type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// Gate holds back a single request of a client, while later requests of the client
// go through: the packet that took the long way. A proxy cannot do that, as it sees
// connections and not requests. A client under test dials with DialContext.
//
// The request is held with its connection, so the client must send later requests on
// another one. It does if it has a connection for each request, or if it drops one
// on which no reply came in time.
//
// All methods are safe for concurrent use.
type Gate struct {
	dial  DialFunc
	match func(request []byte) bool

	mu    sync.Mutex
	armed *heldRequest // takes the next request that matches; nil: all go through
}

// heldRequest is a request that is held back, or is to be.
type heldRequest struct {
	released, landed chan struct{}
	taken            bool
}

// NewGate returns a gate for connections that dial makes. match reports whether Hold
// is to hold a request back. It is given the bytes of one Write of the client, which
// it may neither change nor keep.
func NewGate(dial DialFunc, match func(request []byte) bool) *Gate {
	return &Gate{dial: dial, match: match}
}

// DialContext connects as the gate's dial function does, through the gate.
func (g *Gate) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := g.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &gatedConn{Conn: c, gate: g}, nil
}

// Hold holds back the next request that matches, until release is called. Its sender
// sees that the request was written and that no reply comes. Deadlines and Close work
// as ever: the sender may give up. release sends the request on, also after that, and
// returns when the store has answered it or its connection has ended. If no request
// came, none is held back from then on. What else the client writes on the connection
// of the request is held with it.
//
// A second Hold replaces one that no request has met. release is to be called once.
func (g *Gate) Hold() (release func()) {
	h := &heldRequest{released: make(chan struct{}), landed: make(chan struct{})}
	g.mu.Lock()
	g.armed = h
	g.mu.Unlock()
	return func() {
		g.mu.Lock()
		if g.armed == h {
			g.armed = nil
		}
		taken := h.taken
		g.mu.Unlock()
		close(h.released)
		if taken {
			<-h.landed
		}
	}
}

// take returns the hold that holds this request back, or nil.
func (g *Gate) take(request []byte) *heldRequest {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.armed
	if h == nil || !g.match(request) {
		return nil
	}
	h.taken, g.armed = true, nil
	return h
}

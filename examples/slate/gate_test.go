package slate

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
)

// gate keeps the next transaction that is written on any of its connections.
type gate struct {
	mu   sync.Mutex
	held *hold // nil: nothing is to be kept
}

// hold is a transaction that is kept: caught, or still to come.
type hold struct {
	released, landed chan struct{}
	caught           bool
}

func (g *gate) dial(ctx context.Context, host string) (net.Conn, error) {
	c, err := dialTCP(ctx, host)
	if err != nil {
		return nil, err
	}
	return &gatedConn{Conn: c, gate: g}, nil
}

// hold keeps the next transaction until release is called, which returns when
// it has landed.
func (g *gate) hold() (release func()) {
	h := &hold{released: make(chan struct{}), landed: make(chan struct{})}
	g.mu.Lock()
	g.held = h
	g.mu.Unlock()
	return func() {
		g.mu.Lock()
		g.held = nil
		caught := h.caught
		g.mu.Unlock()
		close(h.released)
		if caught {
			<-h.landed
		}
	}
}

// gatedConn is a connection whose request can be kept while its sender goes on
// without it.
type gatedConn struct {
	net.Conn
	gate *gate

	mu   sync.Mutex
	near net.Conn // what the sender has instead, once its request is kept
}

func (c *gatedConn) end() net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.near != nil {
		return c.near
	}
	return c.Conn
}

func (c *gatedConn) Read(p []byte) (int, error) { return c.end().Read(p) }
func (c *gatedConn) Close() error               { return c.end().Close() }

func (c *gatedConn) Write(line []byte) (int, error) {
	c.gate.mu.Lock()
	h := c.gate.held
	if h == nil || !bytes.Contains(line, []byte(`"Op":"txn"`)) {
		c.gate.mu.Unlock()
		return c.Conn.Write(line)
	}
	h.caught, c.gate.held = true, nil
	c.gate.mu.Unlock()

	near, silence := net.Pipe()
	c.mu.Lock()
	c.near = near
	c.mu.Unlock()
	line = bytes.Clone(line)
	go func() {
		defer close(h.landed)
		defer silence.Close()
		defer c.Conn.Close()
		<-h.released
		if _, err := c.Conn.Write(line); err == nil {
			_, _ = io.ReadFull(c.Conn, make([]byte, 1)) // it was executed
		}
	}()
	return len(line), nil
}

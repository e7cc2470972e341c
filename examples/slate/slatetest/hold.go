package slatetest

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// dialFunc is the type of net.Dialer.DialContext.
type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// gate keeps the next transaction that is written on any of its connections.
type gate struct {
	dialer dialFunc

	mu   sync.Mutex
	held *hold // nil: nothing is to be kept
}

// hold is a transaction that is kept: caught, or still to come.
type hold struct {
	released, landed chan struct{}
	caught           bool
}

func (g *gate) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := g.dialer(ctx, network, addr)
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
		if g.held == h {
			g.held = nil
		}
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

	mu              sync.Mutex
	near            net.Conn // what the sender has instead, once its request is kept
	toRead, toWrite time.Time
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

// keep lets the sender go on with a connection on which nothing comes, under the
// deadlines that it has set. It returns that connection's other end.
func (c *gatedConn) keep() (silence net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.near, silence = net.Pipe()
	_ = c.near.SetReadDeadline(c.toRead) // a Pipe that is open takes any deadline
	_ = c.near.SetWriteDeadline(c.toWrite)
	_ = c.Conn.SetDeadline(time.Time{}) // the request lands after the sender's deadlines, too
	return silence
}

func (c *gatedConn) Write(line []byte) (int, error) {
	c.gate.mu.Lock()
	h := c.gate.held
	if h == nil || !bytes.Contains(line, []byte(`"Op":"txn"`)) {
		c.gate.mu.Unlock()
		return c.end().Write(line)
	}
	h.caught, c.gate.held = true, nil
	c.gate.mu.Unlock()

	silence := c.keep()
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

func (c *gatedConn) SetDeadline(t time.Time) error {
	return c.set(t, net.Conn.SetDeadline, &c.toRead, &c.toWrite)
}

func (c *gatedConn) SetReadDeadline(t time.Time) error {
	return c.set(t, net.Conn.SetReadDeadline, &c.toRead)
}

func (c *gatedConn) SetWriteDeadline(t time.Time) error {
	return c.set(t, net.Conn.SetWriteDeadline, &c.toWrite)
}

// set sets deadlines where the sender is now, and notes them for where it may be
// later.
func (c *gatedConn) set(t time.Time, on func(net.Conn, time.Time) error, noted ...*time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, deadline := range noted {
		*deadline = t
	}
	if c.near != nil {
		return on(c.near, t)
	}
	return on(c.Conn, t)
}

package netfault

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// gatedConn is a connection whose requests a gate can hold back. From then on its
// client has one end of a silent pipe instead, under the deadlines that it has set,
// and the gate has the real connection.
type gatedConn struct {
	net.Conn // the real one
	gate     *Gate

	reading sync.Mutex // is held during a Read of the real connection

	mu              sync.Mutex
	silent          net.Conn // nil before a request is held
	toRead, toWrite time.Time
}

// past is a deadline that ends what is under way.
var past = time.Unix(1, 0)

// end is the connection that the client has now.
func (c *gatedConn) end() net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent != nil {
		return c.silent
	}
	return c.Conn
}

// Read goes on with the silent pipe if a request is held meanwhile: a client may read
// and write on two goroutines.
func (c *gatedConn) Read(p []byte) (int, error) {
	n, err := c.readReal(p)
	if n > 0 || c.end() == c.Conn {
		return n, err
	}
	n, err = c.end().Read(p)
	if errors.Is(err, io.ErrClosedPipe) {
		err = net.ErrClosed // as of any net.Conn
	}
	return n, err
}

func (c *gatedConn) readReal(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.end() != c.Conn {
		return 0, nil
	}
	return c.Conn.Read(p)
}

func (c *gatedConn) Write(p []byte) (int, error) {
	if end := c.end(); end != c.Conn {
		return end.Write(p)
	}
	h := c.gate.take(p)
	if h == nil {
		return c.Conn.Write(p)
	}
	go deliver(h, c.Conn, c.silence(), bytes.Clone(p))
	return len(p), nil
}

// silence lets the client go on with a silent pipe, and returns its other end.
func (c *gatedConn) silence() net.Conn {
	c.mu.Lock()
	silent, far := net.Pipe()
	_ = silent.SetReadDeadline(c.toRead) // a pipe that is open takes any deadline
	_ = silent.SetWriteDeadline(c.toWrite)
	c.silent = silent
	c.mu.Unlock()
	_ = c.Conn.SetReadDeadline(past) // so that a Read under way moves over
	c.reading.Lock()
	defer c.reading.Unlock()
	_ = c.Conn.SetDeadline(time.Time{}) // the request lands after the client's deadlines, too
	return far
}

// deliver waits until a request is released, sends it on, with what else the client
// has written into the pipe, and waits for an answer.
func deliver(h *heldRequest, store, client net.Conn, request []byte) {
	defer close(h.landed)
	defer client.Close()
	defer store.Close()
	more := make(chan []byte)
	go func() {
		written, _ := io.ReadAll(client)
		more <- written
	}()
	<-h.released
	_ = client.SetReadDeadline(past)
	if _, err := store.Write(append(request, <-more...)); err == nil {
		_, _ = store.Read(make([]byte, 1))
	}
}

func (c *gatedConn) Close() error { return c.end().Close() }

func (c *gatedConn) SetDeadline(t time.Time) error {
	return c.set(t, net.Conn.SetDeadline, &c.toRead, &c.toWrite)
}

func (c *gatedConn) SetReadDeadline(t time.Time) error {
	return c.set(t, net.Conn.SetReadDeadline, &c.toRead)
}

func (c *gatedConn) SetWriteDeadline(t time.Time) error {
	return c.set(t, net.Conn.SetWriteDeadline, &c.toWrite)
}

// set sets deadlines on the connection that the client has now, and notes them for
// the one that it may have later.
func (c *gatedConn) set(t time.Time, on func(net.Conn, time.Time) error, noted ...*time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, deadline := range noted {
		*deadline = t
	}
	if c.silent != nil {
		return on(c.silent, t)
	}
	return on(c.Conn, t)
}

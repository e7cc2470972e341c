package netfault

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// memoryWindow is how many bytes a connection of a Memory takes that its peer has
// not read.
const memoryWindow = 64 << 10

// memoryConn is one end of a connection inside the process.
type memoryConn struct {
	addr  memoryAddr
	peer  *memoryConn
	state *sync.Cond // of both ends: its lock guards what follows, and each change is broadcast

	received        []byte // and not read yet
	finished        bool   // this end sends nothing more
	closed          bool   // this end is gone
	broken          bool   // this end was reset by its peer
	abrupt          bool   // Close resets the peer
	toRead, toWrite deadline
}

func newMemoryConns(client, server memoryAddr) (*memoryConn, *memoryConn) {
	state := sync.NewCond(new(sync.Mutex))
	c, s := &memoryConn{addr: client, state: state}, &memoryConn{addr: server, state: state}
	c.peer, s.peer = s, c
	return c, s
}

// deadline is the end of the time for an operation.
type deadline struct {
	passed bool
	timer  *time.Timer // nil if none is to come
}

// set is called with the lock held.
func (d *deadline) set(at time.Time, state *sync.Cond) {
	if d.timer != nil {
		d.timer.Stop()
	}
	left := time.Until(at)
	d.timer, d.passed = nil, !at.IsZero() && left <= 0
	if !at.IsZero() && left > 0 {
		var timer *time.Timer
		timer = time.AfterFunc(left, func() {
			state.L.Lock()
			defer state.L.Unlock()
			if d.timer == timer { // and not replaced since
				d.passed = true
				state.Broadcast()
			}
		})
		d.timer = timer
	}
	state.Broadcast()
}

func (c *memoryConn) failed(op string, err error) error {
	return &net.OpError{Op: op, Net: "memory", Source: c.addr, Addr: c.peer.addr, Err: err}
}

func (c *memoryConn) Read(p []byte) (int, error) {
	c.state.L.Lock()
	defer c.state.L.Unlock()
	for {
		switch {
		case c.closed:
			return 0, c.failed("read", net.ErrClosed)
		case c.toRead.passed:
			return 0, c.failed("read", os.ErrDeadlineExceeded)
		case len(p) == 0:
			return 0, nil
		case len(c.received) > 0:
			n := copy(p, c.received)
			c.received = c.received[n:]
			c.state.Broadcast()
			return n, nil
		case c.broken:
			return 0, c.failed("read", os.NewSyscallError("read", syscall.ECONNRESET))
		case c.peer.finished || c.peer.closed:
			return 0, io.EOF
		}
		c.state.Wait()
	}
}

// Write returns when all is on its way, or nothing more can be. What is sent to
// a peer that is gone is answered with a reset, as by TCP: the Write succeeds,
// and what is done next fails.
func (c *memoryConn) Write(p []byte) (n int, err error) {
	c.state.L.Lock()
	defer c.state.L.Unlock()
	for {
		switch {
		case c.closed:
			return n, c.failed("write", net.ErrClosed)
		case c.toWrite.passed:
			return n, c.failed("write", os.ErrDeadlineExceeded)
		case c.finished || c.broken:
			return n, c.failed("write", os.NewSyscallError("write", syscall.EPIPE))
		case len(p) == n:
			return n, nil
		case c.peer.closed:
			c.broken = true
			c.state.Broadcast()
			return len(p), nil
		}
		if room := memoryWindow - len(c.peer.received); room > 0 {
			sent := min(room, len(p)-n)
			c.peer.received = append(c.peer.received, p[n:n+sent]...)
			n += sent
			c.state.Broadcast()
			continue
		}
		c.state.Wait()
	}
}

// Close ends both streams. The peer reads what was sent before, and then their
// end; a reset, if bytes from the peer were not read.
func (c *memoryConn) Close() error {
	c.state.L.Lock()
	defer c.state.L.Unlock()
	if c.closed {
		return c.failed("close", net.ErrClosed)
	}
	c.closed = true
	c.peer.broken = c.peer.broken || c.abrupt || len(c.received) > 0
	c.received = nil
	c.toRead.set(time.Time{}, c.state)
	c.toWrite.set(time.Time{}, c.state) // and tells everybody
	return nil
}

// CloseWrite ends the stream to the peer.
func (c *memoryConn) CloseWrite() error {
	c.state.L.Lock()
	defer c.state.L.Unlock()
	switch {
	case c.closed:
		return c.failed("close", net.ErrClosed)
	case c.broken:
		return c.failed("close", os.NewSyscallError("shutdown", syscall.ENOTCONN))
	}
	c.finished = true
	c.state.Broadcast()
	return nil
}

// SetLinger with 0 makes Close reset the peer, whatever was read.
func (c *memoryConn) SetLinger(sec int) error {
	c.state.L.Lock()
	defer c.state.L.Unlock()
	c.abrupt = sec == 0
	return nil
}

func (c *memoryConn) LocalAddr() net.Addr  { return c.addr }
func (c *memoryConn) RemoteAddr() net.Addr { return c.peer.addr }

func (c *memoryConn) SetDeadline(t time.Time) error { return c.setDeadlines(t, &c.toRead, &c.toWrite) }

func (c *memoryConn) SetReadDeadline(t time.Time) error { return c.setDeadlines(t, &c.toRead) }

func (c *memoryConn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, &c.toWrite) }

func (c *memoryConn) setDeadlines(t time.Time, of ...*deadline) error {
	c.state.L.Lock()
	defer c.state.L.Unlock()
	if c.closed {
		return c.failed("set", net.ErrClosed)
	}
	for _, d := range of {
		d.set(t, c.state)
	}
	return nil
}

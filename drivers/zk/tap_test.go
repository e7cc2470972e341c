package zk

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/drivers/internal/dial"
)

// tap is a dialer that sees what passes: the requests by their operations, and
// the passwords of sessions, which the driver does not need and an operator who
// ends a session does.
type tap struct {
	mu        sync.Mutex
	count     map[string]int // of requests, by operation
	passwords map[int64][]byte
	locals    map[string]bool // addresses of the connections on this side
	seen      int64           // the zxid that the last request for a session named
	also      *tap            // is told the passwords too; nil: nobody
	step      func(c *tapped, op int32, frame []byte) bool
	stall     int32 // requests of this operation wait for the next; 0: none do
}

func newTap() *tap {
	return &tap{count: make(map[string]int), passwords: make(map[int64][]byte), locals: make(map[string]bool)}
}

func (p *tap) dial(ctx context.Context, host string) (net.Conn, error) {
	c, err := dial.TCP().Dial(ctx, host)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.locals[c.LocalAddr().String()] = true
	return &tapped{Conn: c, tap: p}, nil
}

// sent returns what was sent so far.
func (p *tap) sent() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.count)
}

// during returns what was sent while fn ran.
func (p *tap) during(fn func()) map[string]int {
	before := p.sent()
	fn()
	diff := make(map[string]int)
	for op, n := range p.sent() {
		if n > before[op] {
			diff[op] = n - before[op]
		}
	}
	return diff
}

// intercept has step look at every request. What it returns true for is not
// sent, and the driver sees the connection reset. nil ends that.
func (p *tap) intercept(step func(c *tapped, op int32, frame []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = step
}

var opNames = map[int32]string{
	1: "create", 2: "delete", 3: "exists", 4: "get", 5: "set", 9: "sync", 11: "ping", 12: "children",
	14: "multi", 18: "forget", 19: "container", 100: "auth", 101: "setWatches", -11: "close",
}

// tapped is a connection of a tap.
type tapped struct {
	net.Conn
	tap    *tap
	opened bool
	hello  []byte

	stalled []byte // requests

	detached atomic.Bool    // the driver has lost it
	busy     sync.WaitGroup // until this is over, the driver does not see that
	reading  sync.Mutex     // held while the driver reads
}

func (c *tapped) Write(b []byte) (total int, _ error) {
	if !c.opened {
		c.opened = true
		c.tap.mu.Lock()
		c.tap.seen = int64(binary.BigEndian.Uint64(b[8:]))
		c.tap.mu.Unlock()
		return c.Conn.Write(b)
	}
	for len(b) > 0 { // messages that are sent together
		m := b[:4+binary.BigEndian.Uint32(b)]
		if n, err := c.write(m); err != nil {
			return n, err
		}
		b = b[len(m):]
		total += len(m)
	}
	return total, nil
}

func (c *tapped) write(b []byte) (int, error) {
	op := int32(binary.BigEndian.Uint32(b[8:]))
	c.tap.mu.Lock()
	name := opNames[op]
	if b[len(b)-1] == 1 {
		switch op {
		case opGetChildren2:
			name = "watch"
		case opGetData, opExists:
			name = "watch data"
		}
	}
	c.tap.count[name]++
	step, stall := c.tap.step, c.tap.stall
	c.tap.mu.Unlock()
	if c.detached.Load() {
		return 0, net.ErrClosed
	}
	if step != nil && step(c, op, b) {
		return 0, net.ErrClosed
	}
	if op == stall {
		c.stalled = append(c.stalled, b...)
		return len(b), nil
	}
	if len(c.stalled) > 0 {
		all := append(c.stalled, b...)
		c.stalled = nil
		if _, err := c.Conn.Write(all); err != nil {
			return 0, err
		}
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// stallAt makes requests of an operation wait for the next one that is not, as with a
// server that has not noticed them.
func (p *tap) stallAt(op int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stall = op
}

const opMulti = 14

// writes are the operations that change something.
var writes = map[int32]bool{1: true, 2: true, 5: true, 14: true, 19: true}

// hold keeps the next request that changes something below a path from landing,
// and its connection from being used by the driver, which sees it reset. release
// lets the request land, by the way that it was sent on.
func (p *tap) hold(below string) (release func()) {
	held := make(chan struct{})
	p.intercept(func(c *tapped, op int32, frame []byte) bool {
		if !writes[op] || !bytes.Contains(frame, []byte(below)) {
			return false
		}
		p.intercept(nil)
		c.detach()
		late := bytes.Clone(frame)
		go func() {
			<-held
			_, _ = c.Conn.Write(late) // the server may have given the connection up
			_, _ = io.Copy(io.Discard, c.Conn)
			_ = c.Conn.Close()
		}()
		return true
	})
	return func() {
		p.intercept(nil)
		close(held)
	}
}

// detach takes the connection away from the driver, which sees it reset, and
// keeps it open.
func (c *tapped) detach() {
	c.detached.Store(true)
	_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // ends the driver's reading
	c.reading.Lock()
	defer c.reading.Unlock()
	_ = c.Conn.SetReadDeadline(time.Now().Add(time.Second))
}

// Close implements net.Conn.
func (c *tapped) Close() error {
	if c.detached.Load() {
		return nil
	}
	return c.Conn.Close()
}

const helloLength = 4 + 4 + 4 + 8 + 4 + 16

func (c *tapped) Read(b []byte) (int, error) {
	n, err := c.read(b)
	if c.detached.Load() {
		c.busy.Wait()
	}
	return n, err
}

func (c *tapped) read(b []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.detached.Load() {
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(b)
	if c.detached.Load() {
		return 0, net.ErrClosed
	}
	if len(c.hello) < helloLength {
		c.hello = append(c.hello, b[:n]...)
		if len(c.hello) >= helloLength {
			id := int64(binary.BigEndian.Uint64(c.hello[12:]))
			for t := c.tap; t != nil && id != 0; t = t.also { // 0: the session is over
				t.mu.Lock()
				t.passwords[id] = bytes.Clone(c.hello[24:40])
				t.mu.Unlock()
			}
		}
	}
	return n, err
}

// expire ends a session in the store, as somebody does who knows its password.
// The driver, which loses its connection by that, may take the session back in
// between; so it is tried until the store says that there is no such session.
func (p *tap) expire(ctx context.Context, host string, id int64) error {
	p.mu.Lock()
	password := p.passwords[id]
	p.mu.Unlock()
	hello := binary.BigEndian.AppendUint32(nil, 0)
	hello = binary.BigEndian.AppendUint64(hello, 0)
	hello = binary.BigEndian.AppendUint32(hello, 10000)
	hello = binary.BigEndian.AppendUint64(hello, uint64(id))
	hello = binary.BigEndian.AppendUint32(hello, uint32(len(password)))
	hello = append(hello, password...)
	hello = append(binary.BigEndian.AppendUint32(nil, uint32(len(hello))), hello...)
	bye := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, 1), uint32(0xfffffff5))
	for ctx.Err() == nil {
		c, err := dial.TCP().Dial(ctx, host)
		if err != nil {
			return err
		}
		_ = c.SetDeadline(time.Now().Add(time.Second))
		answer := make([]byte, helloLength)
		if _, err = c.Write(append(hello[:len(hello):len(hello)], bye...)); err == nil {
			_, err = io.ReadFull(c, answer)
		}
		known := err != nil || binary.BigEndian.Uint64(answer[12:]) != 0
		if known {
			_, _ = io.ReadFull(c, answer[:20])
		}
		_ = c.Close()
		if !known {
			return nil
		}
	}
	return ctx.Err()
}

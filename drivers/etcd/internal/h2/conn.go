package h2

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Window is how much may be on its way to this side, in bytes. A line of ten thousand
// is about as long as this.
const Window = 4 << 20

// MaxRequest is how long a message to the server may be, in bytes: it goes in one
// frame, and every server takes one of this size.
const MaxRequest = 16<<10 - prefix

// What HTTP/2 begins with on both sides.
const (
	firstWindow = 64<<10 - 1
	lastStream  = 1<<31 - 1
)

// Conn is a connection to a server. It serves one call at a time, or one stream, whose
// two sides may be used at the same time.
type Conn struct {
	socket  net.Conn
	fields  []hpack.HeaderField // of every request, but for the path
	in      *bufio.Reader
	frames  *http2.Framer // reads from in
	message []byte        // what a call has received

	id       uint32      // of the stream under way, or the last one
	taken    uint32      // bytes that the server does not know to have been received
	ofStream uint32      // of these, by the stream
	pinged   bool        // the server has asked for a sign of life since the request
	spent    atomic.Bool // it serves no other call

	mu      sync.Mutex // guards what follows: a stream's two sides write
	out     bytes.Buffer
	writer  *http2.Framer // writes to out
	block   bytes.Buffer
	encoder *hpack.Encoder // writes to block
	room    int64          // bytes that may be sent on the connection
	first   int64          // and on each stream, at its beginning
	left    int64          // and on this stream
}

// Field is one that every request has in its header.
type Field struct{ Name, Value string }

// New makes a connection of a socket, with TLS or without, to a server that calls itself
// authority. Nothing is sent before the first call.
func New(socket net.Conn, authority string, fields ...Field) *Conn {
	scheme := "http"
	if _, secure := socket.(*tls.Conn); secure {
		scheme = "https"
	}
	c := &Conn{
		socket: socket, in: bufio.NewReader(socket),
		room: firstWindow, first: firstWindow,
		fields: []hpack.HeaderField{
			{Name: ":method", Value: "POST"},
			{Name: ":scheme", Value: scheme},
			{Name: ":authority", Value: authority},
			{Name: "content-type", Value: "application/grpc"},
			{Name: "te", Value: "trailers"},
			{Name: "user-agent", Value: "coordkit"},
		},
	}
	c.Add(fields...)
	c.frames = http2.NewFramer(nil, c.in)
	c.frames.SetReuseFrames()
	c.frames.ReadMetaHeaders = hpack.NewDecoder(4<<10, nil)
	c.writer = http2.NewFramer(&c.out, nil)
	c.encoder = hpack.NewEncoder(&c.block)
	c.out.WriteString(http2.ClientPreface)
	// Writing to memory does not fail.
	_ = c.writer.WriteSettings(
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: Window},
	)
	_ = c.writer.WriteWindowUpdate(0, Window-firstWindow)
	return c
}

// Add adds fields to all requests from the next on.
func (c *Conn) Add(fields ...Field) {
	for _, f := range fields {
		c.fields = append(c.fields, hpack.HeaderField{Name: f.Name, Value: f.Value})
	}
}

// Socket returns what the system reads and writes, below TLS.
func (c *Conn) Socket() net.Conn {
	if t, ok := c.socket.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c.socket
}

// Good reports whether the connection can serve another call. There is none under way. What
// a server with TLS has said together with its last answer is not known yet.
func (c *Conn) Good() bool { return !c.spent.Load() && c.in.Buffered() == 0 && c.id < lastStream }

// Close closes the connection, unless it is closed already, which is an error. A call that
// is under way fails. TLS has no last word, for which there might be no room.
func (c *Conn) Close() error { return c.Socket().Close() }

// request writes the header of a request, and with it whatever was to be sent before.
// The last message of it is sent along if it is not nil.
func (c *Conn) request(path string, last []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id == 0 {
		c.id = 1
	} else {
		c.id += 2
	}
	c.ofStream, c.left, c.pinged = 0, c.first, false
	c.block.Reset()
	// Writing to memory does not fail.
	_ = c.encoder.WriteField(hpack.HeaderField{Name: ":path", Value: path})
	for _, f := range c.fields {
		_ = c.encoder.WriteField(f)
	}
	_ = c.writer.WriteHeaders(http2.HeadersFrameParam{StreamID: c.id, BlockFragment: c.block.Bytes(), EndHeaders: true})
	if last != nil {
		if err := c.data(last, true); err != nil {
			return err
		}
	}
	return c.flush()
}

// data writes a message. The caller holds the lock. It does not wait for room: a server
// that has not read what would fill its windows, some thousand messages, is taken for lost.
func (c *Conn) data(message []byte, last bool) error {
	n := int64(len(message))
	if n > c.room || n > c.left {
		return errors.New("the server does not read")
	}
	c.room -= n
	c.left -= n
	return c.writer.WriteData(c.id, last, message)
}

// flush sends what was written. The caller holds the lock.
func (c *Conn) flush() error {
	_, err := c.socket.Write(c.out.Bytes())
	c.out.Reset()
	return err
}

// next reads the next frame of the stream, and deals with those of the connection on
// the way. What it owes the server for them is sent now or, if that has time, with the
// next request.
func (c *Conn) next(now bool) (http2.Frame, error) {
	for {
		f, err := c.frames.ReadFrame()
		if err != nil {
			return nil, err
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			err = c.agree(f)
		case *http2.PingFrame:
			err = c.pong(f, now)
		case *http2.WindowUpdateFrame:
			c.grow(f)
		case *http2.GoAwayFrame:
			c.spent.Store(true)
			if f.LastStreamID < c.id {
				err = fmt.Errorf("the server closes the connection (%v)", f.ErrCode)
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == c.id {
				err = fmt.Errorf("the server ended the call (%v)", f.ErrCode)
			}
		case *http2.DataFrame:
			if err = c.received(f.Length, f.StreamEnded()); err == nil && f.StreamID == c.id {
				return f, nil
			}
		case *http2.MetaHeadersFrame:
			if f.StreamID == c.id {
				return f, nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// agree takes the server's settings, and says so at once.
func (c *Conn) agree(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := f.ForeachSetting(func(s http2.Setting) error {
		switch s.ID {
		case http2.SettingInitialWindowSize:
			c.left += int64(s.Val) - c.first
			c.first = int64(s.Val)
		case http2.SettingHeaderTableSize:
			c.encoder.SetMaxDynamicTableSizeLimit(s.Val)
			c.encoder.SetMaxDynamicTableSize(min(s.Val, 4<<10))
		}
		return s.Valid()
	})
	if err != nil {
		return err
	}
	_ = c.writer.WriteSettingsAck() // to memory
	return c.flush()
}

// pong answers a ping. A server whose gRPC measures how much may be on its way pings
// after each request; that one has time until the next.
func (c *Conn) pong(f *http2.PingFrame, now bool) error {
	if f.IsAck() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.writer.WritePing(true, f.Data) // to memory
	if !now && !c.pinged {
		c.pinged = true
		return nil
	}
	return c.flush()
}

// grow takes note that the server has room for more.
func (c *Conn) grow(f *http2.WindowUpdateFrame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch f.StreamID {
	case 0:
		c.room += int64(f.Increment)
	case c.id:
		c.left += int64(f.Increment)
	}
}

// received takes note of data, and lets the server send more in good time.
func (c *Conn) received(length uint32, last bool) error {
	c.taken += length
	c.ofStream += length
	if c.taken < Window/4 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// To memory.
	_ = c.writer.WriteWindowUpdate(0, c.taken)
	if !last && c.ofStream > 0 {
		_ = c.writer.WriteWindowUpdate(c.id, c.ofStream)
	}
	c.taken, c.ofStream = 0, 0
	return c.flush()
}

// failed makes the error of a call that the server has not answered. What it has done
// is not known.
func (c *Conn) failed(ctx context.Context, err error) error {
	c.spent.Store(true)
	_ = c.Close() // may be closed already
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return status.Error(codes.Unavailable, err.Error())
}

package consul

import (
	"bufio"
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"sync/atomic"
)

// channel is a TCP connection of a pool.
type channel struct {
	*tcp
	pool *pool
	in   *bufio.Reader // of the channel itself, which counts
	out  *bufio.Writer

	used   bool  // it has served a request before the latest
	heard  bool  // the agent has said something to the latest
	broken bool  // what was written did not go out
	left   int64 // how much may still be read
}

// maxHeader is how long the header of an answer may be: as package http has it.
const maxHeader = 10 << 20

func newChannel(t *tcp, p *pool) *channel {
	c := &channel{tcp: t, pool: p}
	c.in, c.out = bufio.NewReader(c), bufio.NewWriter(c)
	return c
}

// Socket implements idle.Conn.
func (c *channel) Socket() net.Conn { return c.Conn }

func (c *channel) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, errNoAgent
	}
	n, err := c.tcp.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	c.heard = c.heard || n > 0
	return n, err
}

func (c *channel) Write(b []byte) (int, error) {
	n, err := c.tcp.Write(b)
	c.broken = c.broken || err != nil
	return n, err
}

// exchange makes a request. The connection serves it until the answer was read. With
// an error, or with the request's ctx, it is closed.
func (c *channel) exchange(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // may be closed already
	resp, err := c.ask(req)
	if err != nil {
		stop()
		_ = c.Close() // likewise
		return nil, err
	}
	resp.Body = &reply{ReadCloser: resp.Body, ctx: ctx, channel: c, stop: stop, last: resp.Close}
	return resp, nil
}

// ask writes a request and reads the header of the answer. An agent that has closed
// the connection before it had all of the request may have said why.
func (c *channel) ask(req *http.Request) (*http.Response, error) {
	failure := req.Write(c.out)
	if failure == nil {
		failure = c.out.Flush()
	}
	if failure != nil && !c.broken {
		return nil, failure // the request's own
	}
	c.left, c.heard = maxHeader, false
	resp, err := c.response(req)
	switch {
	case err != nil && failure != nil:
		return nil, failure
	case err != nil:
		return nil, err
	}
	resp.Close = resp.Close || failure != nil
	return resp, nil
}

// response reads the header of an answer, after those that only announce it.
func (c *channel) response(req *http.Request) (*http.Response, error) {
	for {
		resp, err := http.ReadResponse(c.in, req)
		switch {
		case err != nil:
			return nil, err
		case resp.StatusCode >= http.StatusOK || resp.StatusCode == http.StatusSwitchingProtocols:
			c.left = math.MaxInt64
			resp.Close = resp.Close || resp.StatusCode == http.StatusSwitchingProtocols
			return resp, nil
		}
	}
}

// reply is the body of an answer, with whose end the connection is given back.
type reply struct {
	io.ReadCloser
	ctx     context.Context // of the request
	channel *channel
	stop    func() bool // ends the watch on ctx; false if the connection is being closed
	last    bool        // the connection serves no other request
	state   atomic.Int32
}

// The states of a reply.
const (
	unread int32 = iota
	finished
	dropped
)

func (r *reply) Read(b []byte) (int, error) {
	switch r.state.Load() {
	case finished:
		return 0, io.EOF
	case dropped:
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := r.ReadCloser.Read(b)
	switch {
	case err == io.EOF:
		r.end(finished)
	case err != nil:
		r.end(dropped)
		if r.ctx.Err() != nil {
			err = r.ctx.Err()
		}
	}
	return n, err
}

// Close drops what was not read, and the connection with it: there may be much.
func (r *reply) Close() error {
	if r.ReadCloser == http.NoBody {
		r.end(finished)
	} else {
		r.end(dropped)
	}
	return nil
}

func (r *reply) end(state int32) {
	if !r.state.CompareAndSwap(unread, state) {
		return
	}
	c, kept := r.channel, r.stop()
	c.pool.give(c, kept && state == finished && !r.last && c.in.Buffered() == 0)
}

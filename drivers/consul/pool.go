package consul

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"time"
)

// pool is the connections to one agent over which requests go without TLS, each one
// request at a time.
//
// Package http has two goroutines for a connection, which write and read for whoever
// asks. To wake them, and be woken by them, is a tenth of what a request takes to an
// agent that is near. Here who asks writes and reads. But then nobody reads while a
// connection is idle, so each is looked at before it is used.
type pool struct {
	dial func(context.Context) (*tcp, error)
	room chan struct{} // holds one for each request under way
	kept int           // how many connections may be idle
	idle time.Duration // and for how long

	mu     sync.Mutex
	free   []*channel // idle; the last was used last
	reaper *time.Timer
	reaps  bool // the reaper is to run
	closed bool // none is to be idle any more
}

func newPool(most, kept int, idle time.Duration, dial func(context.Context) (*tcp, error)) *pool {
	return &pool{dial: dial, room: make(chan struct{}, most), kept: kept, idle: idle}
}

// roundTrip makes a request: see http.RoundTripper. One that only reads is made again
// if an agent has closed a connection that was idle before it has answered; of another
// nobody knows then whether it was carried out.
func (p *pool) roundTrip(req *http.Request) (*http.Response, error) {
	select {
	case p.room <- struct{}{}:
	case <-req.Context().Done():
		return nil, refuse(req, req.Context().Err())
	}
	resp, err := p.exchange(req)
	if err != nil {
		<-p.room
	}
	return resp, err
}

func (p *pool) exchange(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	for {
		c, err := p.take(ctx)
		if err == nil && ctx.Err() != nil { // what is not sent now surely never will be
			p.put(c)
			err = ctx.Err()
		}
		if err != nil {
			return nil, refuse(req, err)
		}
		if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GotConn != nil {
			trace.GotConn(httptrace.GotConnInfo{Conn: c, Reused: c.used})
		}
		resp, err := c.exchange(req)
		switch {
		case err == nil:
			return resp, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !c.used || c.heard || req.Method != http.MethodGet || hasBody(req):
			return nil, err
		}
	}
}

// take returns a connection that was idle or a new one. The agent may have closed the
// former, and may refuse the latter, unasked.
func (p *pool) take(ctx context.Context) (*channel, error) {
	for {
		c := p.last()
		if c == nil {
			conn, err := p.dial(ctx)
			if err != nil {
				return nil, err
			}
			c = newChannel(conn, p)
		}
		err := look(c.tcp.Conn)
		if err == nil {
			return c, nil
		}
		_ = c.Close() // may be closed already
		if !c.used {
			return nil, err
		}
	}
}

// last takes the connection that was used last from those that are idle; nil if there
// is none.
func (p *pool) last() *channel {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		return nil
	}
	c := p.free[len(p.free)-1]
	p.free[len(p.free)-1], p.free = nil, p.free[:len(p.free)-1]
	return c
}

// give ends the use of a connection, which is good for another request or not.
func (p *pool) give(c *channel, good bool) {
	if good {
		p.put(c)
	} else {
		_ = c.Close() // may be closed already
	}
	<-p.room
}

// put has a connection be idle, or closes it.
func (p *pool) put(c *channel) {
	if !p.keep(c) {
		_ = c.Close() // may be closed already
	}
}

func (p *pool) keep(c *channel) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.free) >= p.kept {
		return false
	}
	c.used, c.since = true, time.Now()
	p.free = append(p.free, c)
	if !p.reaps { // else it looks again when it has run
		p.reapLocked(p.idle)
	}
	return true
}

func (p *pool) reapLocked(after time.Duration) {
	p.reaps = true
	if p.reaper == nil {
		p.reaper = time.AfterFunc(after, p.reap)
	} else {
		p.reaper.Reset(after)
	}
}

// reap closes the connections that were idle for long.
func (p *pool) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for n < len(p.free) && time.Since(p.free[n].since) >= p.idle {
		_ = p.free[n].Close() // may be closed already
		n++
	}
	p.free = slices.Delete(p.free, 0, n)
	if p.reaps = len(p.free) > 0; p.reaps {
		p.reapLocked(p.idle - time.Since(p.free[0].since))
	}
}

// closeIdle closes the connections that are idle, which have nothing to wait for then.
func (p *pool) closeIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeIdleLocked()
}

// close is closeIdle for good.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.closeIdleLocked()
}

func (p *pool) closeIdleLocked() {
	for _, c := range p.free {
		_ = c.Close() // may be closed already
	}
	p.free = nil
	if p.reaps {
		p.reaps = false
		p.reaper.Stop()
	}
}

// refuse ends a request that is not sent, as a RoundTripper has to.
func refuse(req *http.Request, err error) error {
	if req.Body != nil {
		_ = req.Body.Close() // not read
	}
	return err
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

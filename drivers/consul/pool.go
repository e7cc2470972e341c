package consul

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/coordkit/coordkit/drivers/internal/idle"
)

// pool is the connections to one agent over which requests go without TLS, each one
// request at a time.
//
// Package http has two goroutines for a connection, which write and read for whoever
// asks. To wake them, and be woken by them, is a tenth of what a request takes to an
// agent that is near. Here who asks writes and reads.
type pool struct {
	dial func(context.Context) (*tcp, error)
	room chan struct{} // holds one for each request under way
	free *idle.Set[*channel]
}

// newPool returns a pool of so many connections, of which so many may be idle, and for
// how long.
func newPool(most, kept int, age time.Duration, dial func(context.Context) (*tcp, error)) *pool {
	return &pool{dial: dial, room: make(chan struct{}, most), free: idle.New[*channel](kept, age)}
}

// roundTrip makes a request: see http.RoundTripper. One that only reads is made again.
func (p *pool) roundTrip(req *http.Request) (resp *http.Response, err error) {
	asked := false
	err = p.use(req.Context(), req.Method == http.MethodGet && !hasBody(req), func(c *channel) (err error) {
		asked = true
		resp, err = c.exchange(req)
		return err
	})
	if !asked && req.Body != nil {
		_ = req.Body.Close() // not read
	}
	return resp, err
}

// use makes a request by a function, which gives the connection back or, with an error,
// has closed it. If it is to be made again it is if an agent has closed a connection that
// was idle before it has answered; of a request that changes something nobody knows then
// whether it was carried out.
func (p *pool) use(ctx context.Context, again bool, request func(*channel) error) error {
	select {
	case p.room <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := p.try(ctx, again, request)
	if err != nil {
		<-p.room
	}
	return err
}

func (p *pool) try(ctx context.Context, again bool, request func(*channel) error) error {
	for {
		c, err := p.take(ctx)
		if err == nil && ctx.Err() != nil { // what is not sent now surely never will be
			p.free.Put(c)
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GotConn != nil {
			trace.GotConn(httptrace.GotConnInfo{Conn: c, Reused: c.used})
		}
		err = request(c)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !c.used || c.heard || !again:
			return err
		}
	}
}

// take returns a connection that was idle or a new one, which the agent may refuse
// unasked.
func (p *pool) take(ctx context.Context) (*channel, error) {
	if c, ok := p.free.Take(); ok {
		c.used = true
		return c, nil
	}
	conn, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	if err := idle.Look(conn.Conn); err != nil {
		_ = conn.Close() // may be closed already
		if errors.Is(err, idle.ErrSpoken) {
			err = errFull
		}
		return nil, err
	}
	return newChannel(conn, p), nil
}

// give ends the use of a connection, which is good for another request or not.
func (p *pool) give(c *channel, good bool) {
	if good {
		p.free.Put(c)
	} else {
		_ = c.Close() // may be closed already
	}
	<-p.room
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

package consul

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

// op is a call of the driver's interface, as far as its requests need to know
// it.
type op struct {
	name, key string
	write     bool            // it changes something in the store
	urgent    bool            // it does not wait for others to get an answer
	keeping   bool            // it opens the first session or keeps one, see transport
	limit     time.Duration   // of each attempt
	life      context.Context // of the session, or else of the connection: calls end with it
}

// maxCalls is how many requests are made at a time, watches and renewals aside.
// Each takes a connection, of which an agent grants 200 to a client's address
// (http_max_conns_per_client), in use or not; what is more is refused with
// status 429. A thousand goroutines that lock at once must not get there.
const maxCalls = 12

// do makes one attempt of a request. It returns within moments of the end of
// ctx, of o.limit and of o.life: package api has no time-outs of its own.
//
// The limit is there so that the next attempt can go to another agent. An agent
// that stays silent for a quarter of it is not asked again while there are
// others, but may still answer.
func (c *conn) do(ctx context.Context, o op, request func(context.Context, *agent) error) error {
	if err := c.ready(ctx, o); err != nil {
		return err
	}
	attempt, end := c.attempt(ctx, o)
	defer end()
	return c.ask(ctx, attempt, o, request)
}

// ready says why nothing is to be sent.
func (c *conn) ready(ctx context.Context, o op) error {
	switch {
	case c.ctx.Err() != nil:
		return failed(o, driver.ErrClosed, nil)
	case ctx.Err() != nil: // so nothing has to be cleared up
		return failed(o, driver.ErrUnavailable, driver.ContextError(ctx))
	}
	return nil
}

// attempt returns the ctx of one attempt, which the caller ends.
func (c *conn) attempt(ctx context.Context, o op) (attempt context.Context, end func()) {
	attempt, cancel := context.WithCancel(ctx)
	limit := c.limits.Begin(o.limit, cancel)
	stop := context.AfterFunc(o.life, cancel)
	return attempt, func() {
		limit.End()
		stop()
		cancel()
	}
}

// ask makes the request of an attempt on behalf of a caller whose ctx is given.
func (c *conn) ask(ctx, attempt context.Context, o op, request func(context.Context, *agent) error) error {
	if !o.urgent {
		// If both are ready nothing is sent, and the request fails at once.
		select {
		case c.room <- struct{}{}:
			defer func() { <-c.room }()
		case <-attempt.Done():
			return c.failure(ctx, attempt, o, false, errCrowded)
		}
	}
	a := c.agents.current()
	defer c.limits.Begin(o.limit/4, func() { c.agents.giveUp(a) }).End()
	traced, sent := trace(attempt)
	if o.keeping {
		traced = keeping(traced)
	}
	err := request(traced, a)
	if err == nil {
		return nil
	}
	err = c.failure(ctx, attempt, o, sent.Load(), err)
	if ctx.Err() == nil && o.life.Err() == nil && driver.Transient(err) {
		c.agents.giveUp(a)
	}
	if isFull(err) {
		c.watches.yield()
	}
	return err
}

var errCrowded = errors.New("too many requests are waiting for their answers")

// trace returns a ctx for one request, and what tells whether it may have been
// sent: without a connection, it was not.
func trace(ctx context.Context) (context.Context, *atomic.Bool) {
	sent := new(atomic.Bool)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	}), sent
}

// failure makes the error of an attempt.
func (c *conn) failure(ctx, attempt context.Context, o op, sent bool, err error) error {
	switch {
	case ctx.Err() != nil:
		kind, why := driver.ErrUnavailable, driver.ContextError(ctx)
		switch {
		case sent && o.write:
			kind = driver.ErrUncertain
		case sent:
			kind = nil // the store was there; the caller did not wait for it
		}
		return failed(o, kind, why)
	case c.ctx.Err() != nil:
		return failed(o, driver.ErrClosed, nil)
	case attempt.Err() != nil && sent:
		return failed(o, kindOf(nil, sent, o.write), fmt.Errorf("no answer within %v", o.limit))
	case attempt.Err() != nil:
		return failed(o, driver.ErrUnavailable, fmt.Errorf("nothing was sent within %v", o.limit))
	default:
		return failed(o, kindOf(err, sent, o.write), cause(err))
	}
}

// get reads a key. It is nil if there is none.
func (c *conn) get(ctx context.Context, o op, key string) (kv *api.KVPair, err error) {
	err = c.do(ctx, o, func(ctx context.Context, a *agent) (err error) {
		var meta *api.QueryMeta
		kv, meta, err = a.keys.Get(key, consistently(ctx))
		return answered(meta, err)
	})
	return kv, err
}

// answered says of a read that has succeeded if it was no agent that has answered.
// Theirs always tell of an index, also with the status of what does not exist, which
// would be believed of anybody between here and there.
func answered(meta *api.QueryMeta, err error) error {
	if err == nil && meta.LastIndex == 0 {
		return errNoAgent
	}
	return err
}

// list reads all keys that begin with a prefix.
func (c *conn) list(ctx context.Context, o op, prefix string) (api.KVPairs, error) {
	return c.listAs(ctx, o, prefix, api.QueryOptions{RequireConsistent: true})
}

func (c *conn) listAs(ctx context.Context, o op, prefix string, q api.QueryOptions) (kvs api.KVPairs, err error) {
	err = c.do(ctx, o, func(ctx context.Context, a *agent) (err error) {
		kvs, _, err = listAll(a, prefix, q.WithContext(ctx))
		return err
	})
	return kvs, err
}

// listAll lists or says why it cannot. Consul leaves out what a token may not
// read, and nodes would seem to be gone. It says so in a header, but not to
// those who have no token: they are told when they read a single key.
func listAll(a *agent, prefix string, q *api.QueryOptions) (api.KVPairs, *api.QueryMeta, error) {
	kvs, meta, err := a.keys.List(prefix, q)
	switch err = answered(meta, err); {
	case err != nil:
		return nil, nil, err
	case meta.ResultsFilteredByACLs:
		return nil, nil, errFiltered
	case len(kvs) == 0 && meta.DefaultACLPolicy == "deny":
		_, _, err = a.keys.Get(prefix, new(api.QueryOptions).WithContext(q.Context()))
	}
	return kvs, meta, err
}

var errFiltered = api.StatusError{Code: http.StatusForbidden, Body: "the token may not read all keys of the namespace"}

// errFilteredAfter is the same of a call that has had its effect, which is
// ErrUncertain too.
var errFilteredAfter = fmt.Errorf("%w for what follows: %w", driver.ErrDenied, errFiltered)

// consistently makes a linearizable read.
func consistently(ctx context.Context) *api.QueryOptions {
	return (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx)
}

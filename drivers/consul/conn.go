package consul

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/consul/api"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/sessions"
	"github.com/coordkit/coordkit/coord/driver/watch"
)

// store is the scheme of the driver's URLs.
const store = "consul"

// limit bounds an attempt of a call that belongs to no session.
const limit = 5 * time.Second

// conn implements driver.Conn and driver.Watcher.
type conn struct {
	keyspace
	tenant   tenant
	agents   *agents
	sessions *sessions.Keeper
	waits    *watch.Hub // of keys and prefixes
	watches  *watch.Hub // of directories
	scopes   scopes
	watching chan struct{} // holds one for each Watch that has a query of its own

	// newest is the greatest index that the store is known to have reached.
	newest atomic.Uint64
}

// tenant is the namespace and partition of Consul Enterprise. Transactions take them from
// each operation and not, as every other request, from the client.
type tenant struct{ namespace, partition string }

// Caps implements driver.Conn.
func (c *conn) Caps() driver.Caps {
	return driver.CapCreateList | driver.CapWaitAny | driver.CapWatch | driver.CapShared | driver.CapDurable
}

// Close implements driver.Conn.
func (c *conn) Close() error {
	c.sessions.Close(c.agents.close)
	return nil
}

// agents are the agents of a connection. One of them is asked for as long as it answers;
// then it is the next one's turn. Connections that have gone mute are left in the same way:
// those that are idle are closed when the turn moves, so the next request dials.
type agents struct {
	all   []agent
	turn  atomic.Uint64
	log   *zap.Logger
	close func() // closes idle connections; nil if they are the program's own
}

// agent is how one of them is asked. Sessions are kept by connections that nothing else
// uses: waits and calls may have taken all the others.
type agent struct{ calls, sessions *api.Client }

// at returns the agent of a turn.
func (a *agents) at(turn uint64) agent { return a.all[turn%uint64(len(a.all))] }

// next ends a turn, unless that was done already.
func (a *agents) next(turn uint64) {
	if !a.turn.CompareAndSwap(turn, turn+1) {
		return
	}
	a.log.Debug("the agent does not answer; it is the next one's turn", zap.Uint64("turn", turn+1))
	if a.close != nil {
		a.close()
	}
}

// purpose is what a request is for.
type purpose int

const (
	forCall    purpose = iota // a call waits for the answer
	forSession                // it opens, renews or ends a session
	forNews                   // it is answered when there is news
)

// send returns the request of an attempt (see attempt.Op.Do): ask, made to the agent whose
// turn it is. If that does not answer in a fifth of the attempt's limit, later requests go
// to the next one.
func (c *conn) send(o attempt.Op, why purpose, ask func(ctx context.Context, a *api.Client) error) func(context.Context) error {
	return func(ctx context.Context) error {
		turn := c.agents.turn.Load()
		client := c.agents.at(turn).calls
		if why == forSession {
			client = c.agents.at(turn).sessions
		}
		if why != forNews {
			defer time.AfterFunc(o.Limit/5, func() { c.agents.next(turn) }).Stop()
		}
		var sent atomic.Bool // without a connection, nothing was
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
		})
		err := ask(traced, client)
		if err != nil && err == context.Cause(ctx) { // package http returns it as it is; it may be an error of another call
			err = ctx.Err()
		}
		err = explain(o, err, sent.Load())
		_, answered := errors.AsType[*driver.Error](err)
		if err != nil && ctx.Err() == nil && (!answered || driver.Transient(err)) {
			c.agents.next(turn)
		}
		return err
	}
}

// outcome is what became of a transaction.
type outcome struct {
	found   []*api.KVPair // what the operations have found or made, in their order
	refused int           // the first operation whose condition is not met; -1: all was done
}

// txn returns the request of a transaction. Only the entries of a tree have values. Package
// api's own method does not tell the status of an error.
func (c *conn) txn(o attempt.Op, ops []*api.KVTxnOp, became *outcome) func(context.Context) error {
	body := make(api.TxnOps, len(ops))
	for i, op := range ops {
		op.Namespace, op.Partition = c.tenant.namespace, c.tenant.partition
		body[i] = &api.TxnOp{KV: op}
	}
	return c.send(o, forCall, func(ctx context.Context, a *api.Client) error {
		var r api.TxnResponse
		_, err := a.Raw().Write("/v1/txn", body, &r, new(api.WriteOptions).WithContext(ctx))
		if answer, ok := errors.AsType[api.StatusError](err); ok && answer.Code == http.StatusConflict {
			err = json.Unmarshal([]byte(answer.Body), &r)
		}
		if err != nil {
			return err
		}
		*became = outcome{refused: -1}
		for _, e := range r.Errors {
			if err := explainRefusal(o, e.What); err != nil {
				return err
			}
			if became.refused < 0 {
				became.refused = e.OpIndex
			}
		}
		if len(r.Results)+len(r.Errors) == 0 && slices.ContainsFunc(ops, sets) {
			return errNotConsul
		}
		for _, result := range r.Results {
			if result.KV == nil {
				return errNotConsul
			}
			became.found = append(became.found, result.KV)
			c.saw(result.KV.ModifyIndex)
		}
		return nil
	})
}

// saw takes note of an index that the store has reached.
func (c *conn) saw(index uint64) {
	for {
		newest := c.newest.Load()
		if index <= newest || c.newest.CompareAndSwap(newest, index) {
			return
		}
	}
}

// How many queries wait at a time. Each takes a connection of the agent.
const (
	mostKeys      = 24 // for single keys
	mostKeysOfDir = 4  // of these, in one directory
	mostOwnOfDir  = 2  // of these, of the session that waits
	mostDirs      = 4  // for directories; what is more is in one query for the namespace
	mostWatches   = 16 // for Watch; what is more lists every second
)

// scopes are what the waits of a connection follow: a key, or all keys below a prefix,
// which ends in a slash. Consul tells a client of a scope at the cost of a connection, so
// there are few, however many nodes are waited for.
type scopes struct {
	keyspace
	mu    sync.Mutex
	waits map[string]int    // by scope
	keys  map[string]int    // followed keys, by the prefix of their directory
	wants map[string]uint64 // the greatest version that is waited for, by key
	asked map[question]*answer
}

// enter returns a scope in which the session can wait for a node. Each call is followed by
// leave.
func (c *scopes) enter(n driver.Node, own bool) (scope string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	dir, keys := c.dir(n.Dir), 0
	for _, n := range c.keys {
		keys += n
	}
	most := mostKeysOfDir
	if own {
		most = mostOwnOfDir
	}
	switch {
	case c.waits[n.Key] > 0:
		scope = n.Key
	case keys < mostKeys && c.keys[dir] < most:
		scope = n.Key
		c.keys[dir]++
	case c.waits[dir] > 0 || len(c.waits)-keys < mostDirs:
		scope = dir
	default:
		scope = c.all()
	}
	c.waits[scope]++
	if scope == n.Key {
		c.wants[scope] = max(c.wants[scope], n.Version, n.Token)
	}
	return scope
}

// leave ends a wait for each of the nodes.
func (c *scopes) leave(scope string, nodes ...driver.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits[scope] -= len(nodes); c.waits[scope] > 0 {
		return
	}
	delete(c.waits, scope)
	if dir := c.dir(nodes[0].Dir); scope == nodes[0].Key {
		delete(c.wants, scope)
		if c.keys[dir]--; c.keys[dir] == 0 {
			delete(c.keys, dir)
		}
	}
}

// wanted returns the greatest version of a key that is waited for.
func (c *scopes) wanted(key string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wants[key]
}

// question is what a query asks for: a scope, as soon as it has changed after an index; at
// once if that is 0.
type question struct {
	scope      string
	index      uint64
	consistent bool
}

// answer is what a query has found.
type answer struct {
	kvs   api.KVPairs
	index uint64 // of the scope's last change
	at    uint64 // each node whose version is not greater is among kvs, or gone
	err   error
	done  chan struct{} // closed when the rest is set
}

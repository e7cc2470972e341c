package slate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/lease"
	"github.com/coordkit/coordkit/coord/driver/sessions"
	"github.com/coordkit/coordkit/examples/slate/slated"
)

// conn is a connection: none on the network, but a place to dial, and the sessions.
type conn struct {
	addr      string
	dial      dialFunc
	namespace string
	sessions  *sessions.Keeper
}

// dialFunc is the type of net.Dialer.DialContext.
type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

func newConn(addr, namespace string, dial dialFunc) *conn {
	return &conn{addr: addr, dial: dial, namespace: namespace, sessions: sessions.New(store)}
}

func (c *conn) Caps() driver.Caps { return driver.CapCreateList | driver.CapShared }

func (c *conn) Close() error {
	c.sessions.Close(nil)
	return nil
}

func (c *conn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	o := attempt.Op{Store: store, Name: "open session", Write: true, Limit: min(ttl/3, 5*time.Second)}
	if err := driver.CheckTTL(ttl, minTTL, maxTTL); err != nil {
		return nil, o.Failed(nil, err)
	}
	sent := time.Now()
	var r slated.Reply
	err := o.Do(ctx, c.sessions.Life(), func(ctx context.Context) (err error) {
		r, err = c.send(ctx, o, slated.Request{Op: "grant", TTL: ttl})
		return err
	})
	if err != nil {
		return nil, err
	}
	s := &session{conn: c}
	ask := func(r slated.Request) func(context.Context) error {
		return func(ctx context.Context) error { _, err := c.send(ctx, o, r); return err }
	}
	err = c.sessions.Open(&s.Session, sessions.Config{
		Lease: lease.Config{
			Session: r.Lease, TTL: ttl, Sent: sent,
			Renew: ask(slated.Request{Op: "renew", Lease: r.Lease, TTL: ttl}),
		},
		Revoke: ask(slated.Request{Op: "revoke", Lease: r.Lease}),
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// send sends a request, on a TCP connection of its own, and says what the answer means.
func (c *conn) send(ctx context.Context, o attempt.Op, r slated.Request) (reply slated.Reply, err error) {
	tcp, err := c.dial(ctx, "tcp", c.addr)
	if err != nil {
		return reply, attempt.NotSent(err)
	}
	defer tcp.Close()
	defer context.AfterFunc(ctx, func() { _ = tcp.Close() })() // ends a read or a write under way
	if err = json.NewEncoder(tcp).Encode(r); err == nil {
		err = json.NewDecoder(tcp).Decode(&reply)
	}
	switch {
	case err != nil:
		return reply, err
	case reply.Err == "lease":
		return reply, o.Failed(driver.ErrSessionLost, errors.New("no such lease"))
	case reply.Err != "":
		return reply, o.Failed(nil, errors.New(reply.Err))
	}
	return reply, nil
}

func (c *conn) List(ctx context.Context, dir string) (nodes []driver.Node, err error) {
	o := attempt.Op{Store: store, Name: "list", Key: dir, Limit: 5 * time.Second}
	err = o.Do(ctx, c.sessions.Life(), func(ctx context.Context) (err error) {
		nodes, err = c.list(ctx, o, dir)
		return err
	})
	return nodes, err
}

func (c *conn) list(ctx context.Context, o attempt.Op, dir string) ([]driver.Node, error) {
	r, err := c.send(ctx, o, slated.Request{Op: "txn", Then: []slated.Action{{Get: c.prefix(dir)}}})
	if err != nil {
		return nil, err
	}
	return c.nodes(dir, r.Got[0]), nil
}

// Keys: <namespace>/<dir>/<session>-<id>.

func (c *conn) prefix(dir string) string { return c.namespace + "/" + dir + "/" }

func (c *conn) key(dir, session, id string) string { return c.prefix(dir) + session + "-" + id }

// nodes makes nodes of keys, and leaves out the keys that are none.
func (c *conn) nodes(dir string, kvs []slated.KV) (nodes []driver.Node) {
	for _, kv := range kvs {
		if n, ok := c.node(dir, kv); ok {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b driver.Node) int { return cmp.Compare(a.Seq, b.Seq) })
	return nodes
}

// node makes a node of a key. A key whose name tells of another session than the one it
// is bound to is none.
func (c *conn) node(dir string, kv slated.KV) (driver.Node, bool) {
	session, id, _ := strings.Cut(strings.TrimPrefix(kv.Key, c.prefix(dir)), "-")
	if session == "" || session != kv.Lease || !driver.ValidID(id) {
		return driver.Node{}, false
	}
	return driver.Node{
		Dir: dir, ID: id, Key: kv.Key, Session: session,
		Seq: kv.Created, Token: kv.Created, Version: kv.Modified, Data: kv.Value,
	}, true
}

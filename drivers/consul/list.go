package consul

import (
	"context"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// List implements driver.Conn by a linearizable read.
func (c *conn) List(ctx context.Context, dir string) (nodes []driver.Node, err error) {
	o := attempt.Op{Store: store, Name: "list", Key: dir, Limit: limit}
	err = o.Do(ctx, c.sessions.Life(), c.send(o, forCall, func(ctx context.Context, a *api.Client) error {
		kvs, _, err := c.read(a, o, c.dir(dir), consistently(ctx))
		nodes = c.nodes(dir, kvs)
		return err
	}))
	if err != nil {
		return nil, err
	}
	return nodes, nil
}

// List implements driver.Session. A read as Consul makes it by default is enough if its
// index is not below that of the session's own last write: then it holds that write, and
// what preceded it in the line (L3). Otherwise the read is linearizable.
func (s *session) List(ctx context.Context, dir string) (nodes []driver.Node, err error) {
	o, c := s.Read("list", dir), s.conn
	err = s.Do(ctx, o, c.send(o, forCall, func(ctx context.Context, a *api.Client) error {
		var kvs api.KVPairs
		var index uint64
		var err error
		last := s.lastWrite(dir)
		if last > 0 {
			kvs, index, err = c.read(a, o, c.dir(dir), new(api.QueryOptions).WithContext(ctx))
		}
		if err == nil && (last == 0 || index < last) {
			kvs, _, err = c.read(a, o, c.dir(dir), consistently(ctx))
		}
		nodes = c.nodes(dir, kvs)
		return err
	}))
	if err != nil {
		return nil, err
	}
	return nodes, nil
}

// read reads all keys that begin with a prefix, and returns the index at which that is
// true. If Consul has left out what the token may not read, that is an error: nodes would
// seem to be gone. Consul tells of it in a header, but not a client without a token. Such a
// client is told when it reads a single key.
func (c *conn) read(a *api.Client, o attempt.Op, prefix string, q *api.QueryOptions) (api.KVPairs, uint64, error) {
	kvs, meta, err := a.KV().List(prefix, q)
	if err == nil && len(kvs) == 0 && meta.DefaultACLPolicy == "deny" {
		_, _, err = a.KV().Get(prefix, new(api.QueryOptions).WithContext(q.Context()))
	}
	switch {
	case err != nil:
		return nil, 0, err
	case meta.LastIndex == 0: // an agent always tells the index
		return nil, 0, errNotConsul
	case meta.ResultsFilteredByACLs:
		return nil, 0, o.Failed(driver.ErrDenied, errFiltered)
	}
	c.saw(meta.LastIndex)
	return kvs, meta.LastIndex, nil
}

// readKey reads a key, which is nil if there is none, and the index at which that is true.
func (c *conn) readKey(a *api.Client, key string, q *api.QueryOptions) (*api.KVPair, uint64, error) {
	kv, meta, err := a.KV().Get(key, q)
	switch {
	case err != nil:
		return nil, 0, err
	case meta.LastIndex == 0:
		return nil, 0, errNotConsul
	}
	c.saw(meta.LastIndex)
	return kv, meta.LastIndex, nil
}

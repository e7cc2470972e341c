package consul

import (
	"context"

	"github.com/hashicorp/consul/api"
)

// keys is how an agent is asked about keys, which is most of what it is asked.
type keys interface {
	// Get reads a key, List all that begin with a prefix: as api.KV has them.
	Get(key string, q *api.QueryOptions) (*api.KVPair, *api.QueryMeta, error)
	List(prefix string, q *api.QueryOptions) (api.KVPairs, *api.QueryMeta, error)

	// remove deletes a key that was last changed at an index. It reports false if it
	// was not, and is there.
	remove(ctx context.Context, key string, index uint64) (bool, error)

	// transact makes a transaction. What it was refused for is an api.StatusError with
	// a body of JSON.
	transact(ctx context.Context, ops []*api.KVTxnOp) (findings, error)
}

// findings is what a transaction that was made has found.
type findings struct {
	found    []*api.KVPair
	filtered bool // the token may not read all of it; told only of those that just read
}

// library is the way of package api.
type library struct {
	*api.KV
	raw *api.Raw
}

func newLibrary(c *api.Client) keys { return library{c.KV(), c.Raw()} }

func (l library) remove(ctx context.Context, key string, index uint64) (bool, error) {
	done, _, err := l.DeleteCAS(&api.KVPair{Key: key, ModifyIndex: index}, new(api.WriteOptions).WithContext(ctx))
	return done, err
}

// transact does not use package api's own method, which does not tell the status of an
// error.
func (l library) transact(ctx context.Context, ops []*api.KVTxnOp) (findings, error) {
	body := make(api.TxnOps, len(ops))
	for i, kv := range ops {
		body[i] = &api.TxnOp{KV: kv}
	}
	var found transacted
	_, err := l.raw.Write("/v1/txn", body, &found, new(api.WriteOptions).WithContext(ctx))
	return found.findings(), err
}

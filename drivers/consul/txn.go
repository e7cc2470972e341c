package consul

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

// tenant is the namespace and partition of Consul Enterprise. Transactions take
// them from each operation and not, as every other request, from the URL.
type tenant struct{ namespace, partition string }

// conflict tells which operations of a transaction failed, by their index. Then
// nothing of it was done.
type conflict map[int]string

// txn makes a transaction. It returns the entries that its operations have
// found or made, in their order; only those of a tree have values.
func (c *conn) txn(ctx context.Context, o op, ops ...*api.KVTxnOp) ([]*api.KVPair, conflict, error) {
	var made findings
	err := c.do(ctx, o, c.transact(ops, &made))
	return readAnswer(o, made, err)
}

// transact returns the request of a transaction.
func (c *conn) transact(ops []*api.KVTxnOp, made *findings) func(context.Context, *agent) error {
	for _, kv := range ops {
		kv.Namespace, kv.Partition = c.tenant.namespace, c.tenant.partition
	}
	return func(ctx context.Context, a *agent) (err error) {
		*made, err = a.keys.transact(ctx, ops)
		return err
	}
}

// readAnswer tells what came of a transaction.
func readAnswer(o op, made findings, err error) ([]*api.KVPair, conflict, error) {
	var answer api.StatusError
	switch {
	case err == nil:
		return made.found, nil, nil
	case errors.As(err, &answer) && answer.Code == http.StatusConflict:
		conflict, err := readConflict(o, answer.Body)
		return nil, conflict, err
	default:
		return nil, nil, err
	}
}

// errNoSession is what a transaction says of a session that is over. It is
// certain, for the answer is a majority's.
var errNoSession = errors.New("the store knows no such session")

func readConflict(o op, body string) (conflict, error) {
	var resp api.TxnResponse
	if err := json.Unmarshal([]byte(body), &resp); err != nil {
		return nil, failed(o, nil, fmt.Errorf("the answer to a transaction cannot be read: %w", err))
	}
	found := make(conflict)
	for _, e := range resp.Errors {
		switch {
		case containsAny(e.What, denials):
			return nil, failed(o, driver.ErrDenied, errors.New(e.What))
		case strings.Contains(e.What, "invalid session"):
			return nil, failed(o, driver.ErrSessionLost, errNoSession)
		}
		found[e.OpIndex] = e.What
	}
	return found, nil
}

// unless says that a key does not exist.
func unless(key string) *api.KVTxnOp { return &api.KVTxnOp{Verb: api.KVCheckNotExists, Key: key} }

// ifIndex says that a key was last changed at an index, or does not exist if
// that is 0. Indexes never come back, so this also tells the key from a later
// one of the same name.
func ifIndex(key string, index uint64) *api.KVTxnOp {
	if index == 0 {
		return unless(key)
	}
	return &api.KVTxnOp{Verb: api.KVCheckIndex, Key: key, Index: index}
}

// ifHeldBy says that a key is held by a session.
func ifHeldBy(key, session string) *api.KVTxnOp {
	return &api.KVTxnOp{Verb: api.KVCheckSession, Key: key, Session: session}
}

// lock sets a key and binds it to a session.
func lock(key, session string, value []byte) *api.KVTxnOp {
	return &api.KVTxnOp{Verb: api.KVLock, Key: key, Session: session, Value: value}
}

// replace sets a key that was last changed at an index. Who holds it stays. The store
// takes it for no change if nothing of the key is another, and leaves the index: then
// an earlier request that asked for the same index, and comes late, would be carried
// out. So the flags, which nobody reads, say which one was replaced.
func replace(key string, index uint64, value []byte) *api.KVTxnOp {
	return &api.KVTxnOp{Verb: api.KVCAS, Key: key, Index: index, Value: value, Flags: index}
}

// removeSame deletes a key that was last changed at an index, or is gone.
func removeSame(key string, index uint64) *api.KVTxnOp {
	return &api.KVTxnOp{Verb: api.KVDeleteCAS, Key: key, Index: index}
}

func remove(key string) *api.KVTxnOp { return &api.KVTxnOp{Verb: api.KVDelete, Key: key} }

func tree(prefix string) *api.KVTxnOp { return &api.KVTxnOp{Verb: api.KVGetTree, Key: prefix} }

// entryOf returns the first of the entries with that key.
func entryOf(kvs []*api.KVPair, key string) *api.KVPair {
	for _, kv := range kvs {
		if kv.Key == key {
			return kv
		}
	}
	return nil
}

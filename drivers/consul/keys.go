package consul

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

// keyspace is the part of the store below one namespace, without the slash at its end.
type keyspace string

// newKeyspace returns the keyspace of a namespace. Consul decodes the key of a read once
// more than it should, so a key with a percent sign may be written and not be read. So
// keys have "=" in its place, which is in no directory.
func newKeyspace(namespace string) keyspace {
	return keyspace(strings.ReplaceAll(namespace, "%", "="))
}

// all is the prefix of every key.
func (k keyspace) all() string { return string(k) + "/" }

// dir is the prefix of a directory's keys.
func (k keyspace) dir(dir string) string { return k.all() + strings.ReplaceAll(dir, "%", "=") + "/" }

// node is the key of a node.
func (k keyspace) node(dir, session, id string) string { return k.dir(dir) + session + "-" + id }

// fence is the key of a session's fence.
func (k keyspace) fence(session string) string { return k.all() + ".fence/" + session }

// isIn reports whether a node's key lies in its directory.
func (k keyspace) isIn(n driver.Node) bool {
	name, ok := strings.CutPrefix(n.Key, k.dir(n.Dir))
	return ok && nodeName.MatchString(name)
}

// nodeName is the last segment of a node's key: the session and the id.
var nodeName = regexp.MustCompile(`^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-([A-Za-z0-9]{1,16})$`)

// nodes returns the nodes among the keys of a directory, in the order of Seq. A key is a
// node only if the session in its name holds it: what an operator has written under such a
// name would outlive the session.
func (k keyspace) nodes(dir string, kvs []*api.KVPair) []driver.Node {
	nodes := make([]driver.Node, 0, len(kvs))
	for _, kv := range kvs {
		name, ok := strings.CutPrefix(kv.Key, k.dir(dir))
		part := nodeName.FindStringSubmatch(name)
		if !ok || part == nil || part[1] != kv.Session {
			continue
		}
		nodes = append(nodes, driver.Node{
			Dir: dir, ID: part[2], Key: kv.Key, Session: kv.Session,
			Seq: kv.CreateIndex, Token: kv.CreateIndex, Version: kv.ModifyIndex, Data: kv.Value,
		})
	}
	slices.SortFunc(nodes, func(a, b driver.Node) int { return cmp.Compare(a.Seq, b.Seq) })
	return nodes
}

// isHeld reports whether the session in a key's name holds it, as that of a node.
func isHeld(kv *api.KVPair) bool {
	return kv.Session != "" && strings.HasPrefix(kv.Key[strings.LastIndexByte(kv.Key, '/')+1:], kv.Session)
}

// The operations of transactions.

// unless: the key does not exist.
func unless(key string) *api.KVTxnOp { return &api.KVTxnOp{Verb: api.KVCheckNotExists, Key: key} }

// ifIndex: the key was last changed at the index, or does not exist if that is 0.
func ifIndex(key string, index uint64) *api.KVTxnOp {
	if index == 0 {
		return unless(key)
	}
	return &api.KVTxnOp{Verb: api.KVCheckIndex, Key: key, Index: index}
}

// ifHeld: the session holds the key.
func ifHeld(key, session string) *api.KVTxnOp {
	return &api.KVTxnOp{Verb: api.KVCheckSession, Key: key, Session: session}
}

// lock sets a key and binds it to a session.
func lock(key, session string, value []byte) *api.KVTxnOp {
	return &api.KVTxnOp{Verb: api.KVLock, Key: key, Session: session, Value: value}
}

// moveFence changes the fence's key. The index moves only if the value changes.
func moveFence(key, session string, from uint64) *api.KVTxnOp {
	return lock(key, session, strconv.AppendUint(nil, from, 10))
}

// replace sets a key that was last changed at the index. If the value stays the same, the
// index would too, and a delayed request that asks for it would still be executed. So the
// flags, which nothing reads, change with it.
func replace(key string, index uint64, value []byte) *api.KVTxnOp {
	return &api.KVTxnOp{Verb: api.KVCAS, Key: key, Index: index, Value: value, Flags: index}
}

// removeAt deletes a key that was last changed at the index, or is gone.
func removeAt(key string, index uint64) *api.KVTxnOp {
	return &api.KVTxnOp{Verb: api.KVDeleteCAS, Key: key, Index: index}
}

// remove deletes a key.
func remove(key string) *api.KVTxnOp { return &api.KVTxnOp{Verb: api.KVDelete, Key: key} }

// tree reads all keys that begin with the prefix.
func tree(prefix string) *api.KVTxnOp { return &api.KVTxnOp{Verb: api.KVGetTree, Key: prefix} }

// sets reports whether an operation sets a key, of which the outcome tells.
func sets(op *api.KVTxnOp) bool { return op.Verb == api.KVLock || op.Verb == api.KVCAS }

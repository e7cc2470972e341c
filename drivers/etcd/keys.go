package etcd

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/coordkit/coordkit/coord/driver"
)

// keyspace is the part of the store below one namespace. The package comment shows the
// keys.
type keyspace string

// prefix is what the keys of a directory begin with.
func (k keyspace) prefix(dir string) string { return string(k) + "/" + dir + "/" }

func (k keyspace) node(dir, session, id string) string { return k.prefix(dir) + session + "-" + id }

func (k keyspace) fence(session string) string { return string(k) + "/.fence/" + session }

// formatLease writes a lease as etcdctl does, with leading zeros.
func formatLease(lease int64) string { return fmt.Sprintf("%016x", lease) }

// asNode returns a key as the node that it is, as seen at a revision. A key is a node only
// if it is bound to the lease that its name tells: what another client writes under such a
// name would outlive the session.
func (k keyspace) asNode(dir string, kv *mvccpb.KeyValue, revision int64) (driver.Node, bool) {
	name, ok := strings.CutPrefix(string(kv.Key), k.prefix(dir))
	session, id, _ := strings.Cut(name, "-")
	lease, err := strconv.ParseInt(session, 16, 64)
	if !ok || err != nil || lease <= 0 || lease != kv.Lease || len(session) != 16 || strings.ToLower(session) != session || !driver.ValidID(id) {
		return driver.Node{}, false
	}
	return driver.Node{
		Dir: dir, ID: id, Key: string(kv.Key), Session: session,
		Seq: uint64(kv.CreateRevision), Token: uint64(kv.CreateRevision), Version: uint64(revision), Data: kv.Value,
	}, true
}

// nodes returns the nodes among the keys of a directory, in the order of Seq. The range was
// asked for in the order of keys: for any other the server sorts all of them.
func (k keyspace) nodes(dir string, kvs []*mvccpb.KeyValue, revision int64) []driver.Node {
	nodes := make([]driver.Node, 0, len(kvs))
	for _, kv := range kvs {
		if n, ok := k.asNode(dir, kv, revision); ok {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b driver.Node) int { return cmp.Compare(a.Seq, b.Seq) })
	return nodes
}

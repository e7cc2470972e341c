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

// keyspace is the part of the store below one namespace:
//
//	<namespace>/<dir>/<lease>-<id>                a node
//	<namespace>/<dir>/<lease>-<id>.<generation>   likewise, see names
//	<namespace>/.fence/<lease>                    a session's fence, see fence
//
// A lease is written as sixteen hexadecimal digits, as etcdctl shows it with
// leading zeros. Names are used again and again: every dead name under a
// prefix makes ranges over it slower until the store is compacted.
type keyspace string

// hexDigits is how many digits a lease is written with.
const hexDigits = 16

func formatLease(lease int64) string { return fmt.Sprintf("%0*x", hexDigits, lease) }

// parseLease is the reverse of formatLease, and takes nothing that formatLease
// does not make: each node has one name.
func parseLease(s string) (lease int64, ok bool) {
	if len(s) != hexDigits {
		return 0, false
	}
	for i := range len(s) { // digits and small letters
		if c := s[i]; c < '0' || c > 'f' || '9' < c && c < 'a' {
			return 0, false
		}
	}
	lease, err := strconv.ParseInt(s, 16, 64)
	return lease, err == nil && lease > 0
}

// node is a node's key of the first generation.
func (k keyspace) node(dir string, lease int64, id string) string {
	return k.dir(dir).node(formatLease(lease), id)
}

// node is the key of a node in a directory.
func (s span) node(session, id string) string { return s.from + session + "-" + id }

// generationMark comes before the number of a generation, which the first has not.
const generationMark = "."

// keyOf is the key of a generation of a slot, of which the first's is given.
func keyOf(first string, generation int) string {
	if generation == 0 {
		return first
	}
	return first + generationMark + strconv.Itoa(generation)
}

// cutGeneration parts what follows the session in a node's key. It takes nothing that
// keyOf does not make: each node has one name.
func cutGeneration(s string) (id string, ok bool) {
	id, generation, later := strings.Cut(s, generationMark)
	if !later {
		return id, true
	}
	n, err := strconv.Atoi(generation)
	return id, err == nil && n > 0 && generation == strconv.Itoa(n)
}

func (k keyspace) fence(lease int64) string {
	return string(k) + "/.fence/" + formatLease(lease)
}

// dir is the range of a directory's keys. It may hold others that are not
// nodes.
func (k keyspace) dir(dir string) span {
	prefix := string(k) + "/" + dir
	return span{from: prefix + "/", to: prefix + "0"} // '0' follows '/'
}

// span is the range of keys that are not less than from and less than to.
type span struct{ from, to string }

// spanOf is the range of one key.
func spanOf(key string) span { return span{from: key, to: key + "\x00"} }

func (s span) contains(key string) bool { return s.from <= key && key < s.to }

// nodes returns the nodes among the keys of a directory, in the order of Seq.
// The range was asked for in the order of keys, which costs the server nothing;
// by another it would sort all of them, each time.
func (k keyspace) nodes(dir string, kvs []*mvccpb.KeyValue, seen int64) []driver.Node {
	nodes := make([]driver.Node, 0, len(kvs))
	for _, kv := range kvs {
		if n, ok := k.asNode(dir, kv, seen); ok {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b driver.Node) int { return cmp.Compare(a.Seq, b.Seq) })
	return nodes
}

// asNode returns kv as the node that it is. It is none unless it is bound to
// the lease that its name tells: what somebody else wrote under such a name
// would outlive the session, and is not the session's.
func (k keyspace) asNode(dir string, kv *mvccpb.KeyValue, seen int64) (driver.Node, bool) {
	name, ok := strings.CutPrefix(string(kv.Key), k.dir(dir).from)
	if !ok {
		return driver.Node{}, false
	}
	session, id, _ := strings.Cut(name, "-")
	lease, ok := parseLease(session)
	if !ok || lease != kv.Lease {
		return driver.Node{}, false
	}
	if id, ok = cutGeneration(id); !ok || !driver.ValidID(id) {
		return driver.Node{}, false
	}
	return driver.Node{
		Dir:     dir,
		ID:      id,
		Key:     string(kv.Key),
		Session: session,
		Seq:     uint64(kv.CreateRevision),
		Token:   uint64(kv.CreateRevision),
		Version: uint64(seen),
		Data:    kv.Value,
	}, true
}

// leaseOf returns the lease that the name of a key tells.
func leaseOf(key string) (lease int64, ok bool) {
	session, _, _ := strings.Cut(key[strings.LastIndexByte(key, '/')+1:], "-")
	return parseLease(session)
}

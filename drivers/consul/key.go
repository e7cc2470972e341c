package consul

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

// keyspace is the part of the store below one namespace:
//
//	<namespace>/<dir>/<session>-<id>   a node
//	<namespace>/.fence/<session>       a session's fence, see fence
//
// Names are used again and again: every deleted name leaves a tombstone for a
// quarter of an hour, which lists have to step over.
type keyspace string

// segment is a namespace or a directory as it stands in keys. Consul takes the
// key of a read for a text that may be percent-encoded once more, and refuses
// one that would then hold a space or two dots, though it has written it. So
// keys hold no percent sign: "=" stands for it, which occurs in no directory.
func segment(name string) string { return strings.ReplaceAll(name, "%", "=") }

func newKeyspace(namespace string) keyspace { return keyspace(segment(namespace)) }

// all is the prefix of every key.
func (k keyspace) all() string { return string(k) + "/" }

// dir is the prefix of a directory's keys. It may hold others that are not
// nodes.
func (k keyspace) dir(dir string) string { return k.all() + segment(dir) + "/" }

func (k keyspace) node(dir, session, id string) string { return k.dir(dir) + session + "-" + id }

func (k keyspace) fence(session string) string { return k.all() + ".fence/" + session }

// uuidLen is the length of a session's ID.
const uuidLen = 36

// parseName splits the last segment of a node's key.
func parseName(name string) (session, id string, ok bool) {
	if len(name) <= uuidLen+1 || name[uuidLen] != '-' {
		return "", "", false
	}
	session, id = name[:uuidLen], name[uuidLen+1:]
	return session, id, isUUID(session) && driver.ValidID(id)
}

func isUUID(s string) bool {
	for i := range len(s) {
		switch c := s[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return len(s) == uuidLen
}

// sessionOf returns the session that a node's key tells.
func sessionOf(key string) (session string, ok bool) {
	session, _, ok = parseName(key[strings.LastIndexByte(key, '/')+1:])
	return session, ok
}

// held reports whether a key is a node: it is only while the session that its
// name tells holds it. What somebody else has written under such a name would
// outlive the session, and is not the session's.
func held(kv *api.KVPair) bool {
	session, ok := sessionOf(kv.Key)
	return ok && session == kv.Session
}

// asNode returns kv as the node that it is.
func (k keyspace) asNode(dir string, kv *api.KVPair) (driver.Node, bool) {
	name, ok := strings.CutPrefix(kv.Key, k.dir(dir))
	if !ok {
		return driver.Node{}, false
	}
	session, id, ok := parseName(name)
	if !ok || session != kv.Session {
		return driver.Node{}, false
	}
	return driver.Node{
		Dir:     dir,
		ID:      id,
		Key:     kv.Key,
		Session: session,
		Seq:     kv.CreateIndex,
		Token:   kv.CreateIndex,
		Version: kv.ModifyIndex,
		Data:    kv.Value,
	}, true
}

// nodes returns the nodes among the keys of a directory, in the order of Seq.
// No two have the same, because no transaction makes more than one of a directory.
func (k keyspace) nodes(dir string, kvs []*api.KVPair) []driver.Node {
	nodes := make([]driver.Node, 0, len(kvs))
	for _, kv := range kvs {
		if n, ok := k.asNode(dir, kv); ok {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b driver.Node) int { return cmp.Compare(a.Seq, b.Seq) })
	return nodes
}

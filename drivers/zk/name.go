package zk

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/coordkit/coordkit/coord/driver"
)

// space is the part of the store below one namespace, as an absolute path:
//
//	/<namespace>/<dir>/<session>-<id>-<nonce>-<sequence>   a node
//	/<namespace>/.sessions/<session>-<n>                   a session's fence
//
// The session is written as sixteen hexadecimal digits. The nonce is counted by
// the session, so no name is ever used twice: a request that arrives late means
// the node it was made for, or none. The sequence is ZooKeeper's.
type space string

func (s space) dir(dir string) string { return string(s) + "/" + dir }

func (s space) sessionsDir() string { return string(s) + "/.sessions" }

func (s space) fence(session string, n int) string {
	return s.sessionsDir() + "/" + session + "-" + strconv.Itoa(n)
}

// formatSession writes a session's number as ZooKeeper's own tools do, but with
// leading zeros.
func formatSession(id int64) string { return fmt.Sprintf("%016x", uint64(id)) }

// parseSession is the reverse of formatSession.
func parseSession(s string) (id int64, ok bool) {
	if len(s) != 16 || strings.ContainsFunc(s, func(r rune) bool { return 'A' <= r && r <= 'F' }) {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 16, 64)
	return int64(n), err == nil && n != 0
}

// slotPrefix begins the names of all nodes that a session makes for an id.
func slotPrefix(session, id string) string { return session + "-" + id + "-" }

// name is the last part of a node's path, taken apart.
type name struct {
	stem     string // all before the sequence, which is no other node's
	session  string
	owner    int64 // session as a number
	id       string
	sequence int32
}

// parseName takes a name apart, and takes nothing that the driver does not
// make.
func parseName(s string) (n name, ok bool) {
	session, rest, _ := strings.Cut(s, "-")
	id, rest, _ := strings.Cut(rest, "-")
	nonce, sequence, _ := strings.Cut(rest, "-")
	owner, ok := parseSession(session)
	if !ok || !driver.ValidID(id) {
		return name{}, false
	}
	if _, err := strconv.ParseUint(nonce, 10, 64); err != nil || nonce[0] == '0' && nonce != "0" {
		return name{}, false
	}
	i, ok := parseSequence(sequence)
	if !ok {
		return name{}, false
	}
	return name{stem: s[:len(s)-len(sequence)-1], session: session, owner: owner, id: id, sequence: i}, true
}

// sequenceLength is how long a sequence is, except for the most negative ones.
const sequenceLength = 10

// parseSequence reads a sequence as the server formats it: in ten characters,
// with leading zeros, negative numbers included. Long lines have it read often.
func parseSequence(s string) (sequence int32, ok bool) {
	if len(s) > 0 && s[0] == '-' {
		i, err := strconv.ParseInt(s, 10, 32)
		ok = len(s) == sequenceLength && i < 0 || len(s) == sequenceLength+1 && i <= -1e9
		return int32(i), err == nil && ok
	}
	var n int64
	for i := range len(s) {
		digit := s[i] - '0'
		if digit > 9 || i >= sequenceLength {
			return 0, false
		}
		n = n*10 + int64(digit)
	}
	return int32(n), len(s) == sequenceLength && n <= math.MaxInt32
}

// trailing reads the number at the end of a name, unless that may be a negative one.
func trailing(name string) (sequence int32, ok bool) {
	if len(name) < sequenceLength {
		return 0, false
	}
	sequence, ok = parseSequence(name[len(name)-sequenceLength:])
	return sequence, ok && sequence >= 0
}

// cut splits a node's path into its directory's and its name.
func cut(path string) (dir, base string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

// exhausted is the sequence number from which on the sequence of a directory is
// not relied upon. At 2147483647 it does not go on: depending on its version and
// its load a server wraps around, hands out the last number again and again, or
// does both in turns.
const exhausted = 1<<31 - 1<<20

// number returns the Seq and the Token of the node that was created as the
// sequence-th child of a directory that was itself created at zxid parent. It
// reports false if the sequence does not tell: then they are the node's own
// czxid.
//
// Every creation takes a zxid of its own. So the node's czxid is not less than
// parent + 1 + sequence, that of a later node, however it is numbered, is
// greater, and a directory that is removed and made again begins beyond all
// numbers of its predecessor. (A foreign transaction that makes several children
// of a directory at once takes one zxid for all. It could do harm only if as
// many zxids later the directory were gone and made again.)
func number(parent int64, sequence int32) (uint64, bool) {
	if sequence < 0 || sequence >= exhausted {
		return 0, false
	}
	return uint64(parent) + 1 + uint64(sequence), true
}

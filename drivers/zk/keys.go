package zk

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

const store = "zk"

// space is the part of the store below one namespace, as an absolute path. The package
// comment shows the keys.
type space string

func (s space) dir(dir string) string { return string(s) + "/" + dir }

// fence is where a session's fence stands. A position has the number of the fence, which is
// another one if an operator has removed it, in its upper half and its version in the lower.
func (s space) fence(session string, at uint64) string {
	return s.dir(".sessions/" + session + "-" + strconv.FormatUint(at>>32, 10))
}

// formatSession writes a session's number as ZooKeeper's tools do, but with leading zeros.
func formatSession(id int64) string { return fmt.Sprintf("%016x", uint64(id)) }

// slotPrefix begins the names of all nodes that a session makes for an id.
func slotPrefix(session, id string) string { return session + "-" + id + "-" }

// name is the last part of a node's path, taken apart.
type name struct {
	base     string // the whole
	session  string
	owner    int64 // session as a number
	id       string
	sequence int32
}

// parseName takes a name apart, and accepts nothing that the driver does not make.
func parseName(base string) (n name, ok bool) {
	parts := strings.SplitN(base, "-", 4)
	if len(parts) < 4 || !driver.ValidID(parts[1]) {
		return name{}, false
	}
	owner, _ := strconv.ParseUint(parts[0], 16, 64)
	nonce, _ := strconv.ParseUint(parts[2], 10, 64)
	sequence, _ := strconv.ParseInt(parts[3], 10, 32)
	n = name{base, parts[0], int64(owner), parts[1], int32(sequence)}
	return n, owner != 0 && base == fmt.Sprintf("%s%d-%010d", slotPrefix(formatSession(n.owner), n.id), nonce, sequence)
}

// cut splits a node's path into its directory's and its name.
func cut(path string) (dir, base string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

// exhausted is the number from which on the sequence of a directory is not relied upon. After
// 2147483647 a server wraps around, gives out the last number again, or both in turns.
const exhausted = math.MaxInt32 - 1<<20 + 1

// number returns the Seq and the Token of the node that was created as the sequence-th child
// of a directory, itself created at the zxid parent. If it reports false they are the node's
// own czxid. As every creation has a zxid, a directory that was made again goes on beyond.
func number(parent int64, sequence int32) (uint64, bool) {
	if sequence < 0 || sequence >= exhausted {
		return 0, false
	}
	return uint64(parent) + 1 + uint64(sequence), true
}

// check returns an error that Is driver.ErrInvalid if a node is none of its directory's.
func (s space) check(n driver.Node) error {
	dir, base := cut(n.Key)
	if _, ok := parseName(base); !ok || dir != s.dir(n.Dir) {
		return fmt.Errorf("%w node: %q is not a node's path in directory %q", driver.ErrInvalid, n.Key, n.Dir)
	}
	return nil
}

// ensure makes a key, and above it what is missing: a persistent namespace, ephemeral fences,
// and directories that are containers, which the servers remove when they are empty.
func (s space) ensure(c *gozk.Conn, acl []gozk.ACL, path string) error {
	parent, _ := cut(path)
	create, mode := c.Create, int32(gozk.FlagPersistent)
	switch parent {
	case s.dir(".sessions"):
		mode = gozk.FlagEphemeral
	case string(s):
		create, mode = c.CreateContainer, gozk.FlagContainer
	}
	_, err := create(path, nil, mode, acl)
	if errors.Is(err, gozk.ErrNoNode) && parent != "" { // there may be no permission to make what exists above
		if err = s.ensure(c, acl, parent); err == nil {
			_, err = create(path, nil, mode, acl)
		}
	}
	if errors.Is(err, gozk.ErrNodeExists) || errors.Is(err, gozk.ErrNoNode) {
		return nil
	}
	return err
}

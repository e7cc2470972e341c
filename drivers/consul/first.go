package consul

import (
	"context"
	"slices"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

var _ driver.FirstTeller = (*session)(nil)

// Consul sends a list with all data, and has no other that tells of the order. So in a
// line of a thousand, whoever is told that the one ahead is gone would read some
// hundred kilobytes to learn that it is first. A session that has several places in
// it knows better: who was ahead of one of them is in the list that it was given when
// it took the last, and none ahead of the one it had its turn with is left. So those
// few are asked for, one by one, by one transaction.
const (
	mostAsked = mostTrees / 2 // for how many
	longLine  = 4             // a line is long that has this many times as many
)

// First implements driver.FirstTeller. It asks for a few nodes or for all. A list
// that was read in vain serves the call of List that follows.
func (s *session) First(ctx context.Context, n driver.Node) (first bool, err error) {
	c, o := s.conn, s.op("list", n.Dir)
	err = s.live(func() error {
		if !c.isIn(n) {
			return invalid(o, "node %s is not in directory %q", n.Key, n.Dir)
		}
		change, own := s.glance.last(), s.ledger.has(n)
		if ahead, few := s.ledger.ahead(n); own && few {
			first, err = s.leads(ctx, o, n, ahead)
			return err
		}
		var nodes []driver.Node
		if own {
			nodes, err = s.list(ctx, o, n.Dir)
		} else { // a list does not tell by the session's own whether it is recent enough
			var kvs []*api.KVPair
			kvs, err = c.list(ctx, o, c.dir(n.Dir))
			nodes = c.nodes(n.Dir, kvs)
		}
		if err != nil {
			return err
		}
		if first = len(nodes) > 0 && nodes[0].Same(n); !first {
			s.glance.keep(n.Dir, nodes, change)
		}
		return nil
	})
	return first && err == nil, err
}

// leads reports whether a node of the session's own is there, and none of those that
// were ahead of it. The read need not be linearizable: if it shows the node, all of
// them were made before, and who is gone by then stays so. Nor can it be from before
// somebody has taken the node away together with the last of the others, as it shows
// the one and not the other.
func (s *session) leads(ctx context.Context, o op, n driver.Node, ahead []standing) (bool, error) {
	ops := make([]*api.KVTxnOp, 0, 1+len(ahead))
	ops = append(ops, tree(n.Key)) // reading the key itself would fail if there is none
	for _, other := range ahead {
		ops = append(ops, tree(other.key))
	}
	kvs, err := s.conn.readTxn(ctx, o, ops...)
	if err != nil || !alive(n, kvs) {
		return false, err
	}
	for _, other := range ahead {
		if alive(driver.Node{Key: other.key, Token: other.token}, kvs) {
			return false, nil
		}
	}
	s.ledger.passed(n)
	return true, nil
}

// standing is a node in a line.
type standing struct {
	key   string
	token uint64
}

// listed takes note of a list. It is of use for the session's nodes in it: who is ahead
// of these can only become less.
func (l *ledger) listed(dir string, nodes []driver.Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.live[dir]) < 2 || len(nodes) < longLine {
		delete(l.lines, dir) // of a single one the whole line is ahead, and a short line is quickly read
		return
	}
	if l.lines == nil {
		l.lines = make(map[string][]standing)
	}
	line := make([]standing, len(nodes))
	for i := range nodes {
		line[i] = standing{nodes[i].Key, nodes[i].Token}
	}
	l.lines[dir] = line
}

// ahead returns who may be ahead of a node, if these are few in a long line.
func (l *ledger) ahead(n driver.Node) (nodes []standing, few bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[n.Dir]
	i := slices.Index(line[:min(len(line), mostAsked+1)], standing{n.Key, n.Token})
	if i < 0 || i*longLine > len(line) {
		return nil, false
	}
	return line[:i:i], true
}

// passed takes note that a node of the session's own is the first.
func (l *ledger) passed(n driver.Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[n.Dir]
	if i := slices.Index(line, standing{n.Key, n.Token}); i > 0 {
		l.lines[n.Dir] = line[i:]
	}
}

// has reports whether a node is the session's own, and acknowledged to be there.
func (l *ledger) has(n driver.Node) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.live[n.Dir][n.ID]
	return ok && known.token == n.Token
}

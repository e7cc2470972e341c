package etcd

import (
	"context"

	"github.com/coordkit/coordkit/coord/driver"
)

var _ driver.FirstTeller = (*session)(nil)

// First implements driver.FirstTeller. Where a feed has told of all that has gone
// since the last list, there is nothing to ask. Otherwise it asks for what was
// created up to the node's creation, and no more of that than two: the server still
// looks at the whole line, but the answer is short.
//
// Any member may answer that is not behind what this connection was told: who is ahead
// can only become less. What others have done to the node since, it may not know, as
// the feed may not.
//
// Since etcd 3.7 a range of keys alone is answered from what the server has in memory,
// which in a long line is quicker by far, and comes without the leases, by which a node
// is told from what only looks like one (etcd-io/etcd#22209). That does for a node of
// the session's own as it was created, which is bound to its lease.
func (s *session) First(ctx context.Context, n driver.Node) (first bool, err error) {
	dir := s.conn.dir(n.Dir)
	err = s.live(func() error {
		var known bool
		if first, known = s.conn.feeds.first(dir, n); known {
			return nil
		}
		o, upTo := s.op("list", n.Dir), rangeOver(dir)
		upTo.MaxCreateRevision, upTo.Limit = int64(n.Token), 2
		upTo.KeysOnly = n.Session == s.name && s.names.untouched(dir.node(s.name, n.ID), n)
		resp, err := s.conn.readLocal(ctx, o, upTo)
		if err != nil || len(resp.Kvs) != 1 {
			return err
		}
		kv := resp.Kvs[0]
		switch itself := string(kv.Key) == n.Key && uint64(kv.CreateRevision) == n.Token; {
		case !itself:
			return nil
		case !upTo.KeysOnly || kv.Lease != 0: // the lease is known
		case kv.Version == 1:
			kv.Lease = s.id
		default: // somebody has written to it
			s.names.updating(dir.node(s.name, n.ID), n)
			resp, err = s.conn.readLocal(ctx, o, rangeOver(spanOf(n.Key)))
			if err != nil || len(resp.Kvs) != 1 {
				return err
			}
		}
		only, ok := s.conn.asNode(n.Dir, resp.Kvs[0], resp.Header.Revision)
		first = ok && only.Same(n)
		return nil
	})
	return first && err == nil, err
}

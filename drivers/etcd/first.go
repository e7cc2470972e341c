package etcd

import (
	"context"

	"github.com/coordkit/coordkit/coord/driver"
)

var _ driver.FirstTeller = (*session)(nil)

// First implements driver.FirstTeller. Where a feed has told of all that has gone
// since the last list, there is nothing to ask. Otherwise it asks for what was
// created up to the node's creation, and no more of that than two: the server still
// looks at the whole line, but the answer is short, and keys alone are quickly found
// (see guess).
//
// Any member may answer that is not behind what this connection was told: who is ahead
// can only become less. What others have done to the node since, it may not know, as
// the feed may not.
func (s *session) First(ctx context.Context, n driver.Node) (first bool, err error) {
	dir := s.conn.dir(n.Dir)
	err = s.live(func() error {
		var known bool
		if first, known = s.conn.feeds.first(dir, n); known {
			return nil
		}
		o, upTo := s.op("list", n.Dir), rangeOver(dir)
		upTo.MaxCreateRevision, upTo.Limit, upTo.KeysOnly = int64(n.Token), 2, true
		resp, err := s.conn.readLocal(ctx, o, upTo)
		if err != nil || len(resp.Kvs) != 1 {
			return err
		}
		switch kv := resp.Kvs[0]; {
		case kv.Lease != 0: // it came with the answer
		case kv.Version == 1 && n.Session == s.name:
			kv.Lease = s.id // as it was created, if it is the node
		default:
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

package etcd

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/coordkit/coordkit/coord/driver"
)

var _ driver.NameLister = (*session)(nil)

// List implements driver.Session. The read is linearizable, and so holds more
// than L3 asks for.
func (s *session) List(ctx context.Context, dir string) ([]driver.Node, error) {
	return s.list(ctx, dir, false)
}

// ListNames implements driver.NameLister: where there is a crowd, it asks for the keys
// alone.
func (s *session) ListNames(ctx context.Context, dir string) ([]driver.Node, error) {
	return s.list(ctx, dir, s.conn.feeds.byKeys(s.conn.dir(dir)))
}

func (s *session) list(ctx context.Context, dir string, byKeys bool) (nodes []driver.Node, err error) {
	err = s.live(func() error {
		ask := rangeOver(s.conn.dir(dir))
		ask.KeysOnly = byKeys
		resp, err := s.conn.read(ctx, s.op("list", dir), ask)
		if err == nil {
			nodes = s.listed(dir, resp.Kvs, resp.Header.Revision, byKeys)
		}
		return err
	})
	return nodes, err
}

// listed returns the nodes of a directory as it was at a revision, and takes note of
// them.
func (s *session) listed(dir string, kvs []*mvccpb.KeyValue, revision int64, byKeys bool) []driver.Node {
	guessed := byKeys && guess(kvs)
	nodes := s.conn.nodes(dir, kvs, revision)
	s.conn.feeds.listed(s.conn.dir(dir), nodes, s.name, uint64(revision), guessed)
	return nodes
}

// guess gives keys that came without leases those that their names tell, and reports
// whether it did.
//
// Since etcd 3.7 a range of keys alone is answered from what the server has in its
// memory, which is quicker by far, and comes without the leases, by which a node is
// told from what only looks like one (etcd-io/etcd#22209). Older servers leave out the
// values alone: if one key has a lease, those without have none.
func guess(kvs []*mvccpb.KeyValue) bool {
	for _, kv := range kvs {
		if kv.Lease != 0 {
			return false
		}
	}
	for _, kv := range kvs {
		kv.Lease, _ = leaseOf(string(kv.Key))
	}
	return len(kvs) > 0
}

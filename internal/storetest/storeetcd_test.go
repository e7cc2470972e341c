package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	_ "github.com/coordkit/coordkit/drivers/etcd"
	"github.com/coordkit/coordkit/internal/testserver"
)

func startEtcd(t testing.TB, opts testserver.EtcdOptions) *store {
	t.Helper()
	etcd := testserver.StartEtcd(t, opts)
	s := newStore(etcd, "etcd", 2*time.Second)
	for _, m := range etcd.Members {
		s.members = append(s.members, m)
	}
	s.frozenLeader = "etcd#15247: a leader that goes on after a pause revokes leases that were renewed meanwhile"
	s.operator = func(t testing.TB) operator { return etcdOperator(t, s) }
	s.left = func(ctx context.Context) (left []string, err error) {
		c, err := clientv3.New(etcd.ClientConfig())
		if err != nil {
			return nil, err
		}
		defer c.Close()
		keys, err := c.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			return nil, err
		}
		for _, kv := range keys.Kvs {
			left = append(left, fmt.Sprintf("key %q", kv.Key))
		}
		leases, err := c.Leases(ctx)
		if err != nil {
			return nil, err
		}
		for _, l := range leases.Leases {
			left = append(left, fmt.Sprintf("lease %x", l.ID))
		}
		return left, nil
	}
	s.wantNothingLeft(t)
	return s
}

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
	s := &store{cluster: etcd, scheme: "etcd", ttl: 2 * time.Second}
	for _, m := range etcd.Members {
		s.members = append(s.members, m)
	}
	wantNothingLeft(t, func(ctx context.Context) (string, error) {
		c, err := clientv3.New(etcd.ClientConfig())
		if err != nil {
			return "", err
		}
		defer c.Close()
		keys, err := c.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			return "", err
		}
		leases, err := c.Leases(ctx)
		if err != nil {
			return "", err
		}
		if keys.Count == 0 && len(leases.Leases) == 0 {
			return "", nil
		}
		return fmt.Sprintf("keys %v, leases %v", keys.Kvs, leases.Leases), nil
	})
	return s
}

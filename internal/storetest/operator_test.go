package storetest

import (
	"context"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/consul/api"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// operator is what somebody can do to a store who looks after it.
type operator struct {
	expire     func(ctx context.Context, session string) error
	removeNode func(ctx context.Context, key string) error
	removeDir  func(ctx context.Context, namespace, dir string) error

	// ways are the hosts that clients connect to if the operator is to end their
	// sessions.
	ways []string
}

func etcdOperator(t testing.TB, s *store) operator {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: s.Endpoints(), DialTimeout: patience})
	must(t, "connecting to etcd", err)
	t.Cleanup(func() { _ = c.Close() })
	return operator{
		expire: func(ctx context.Context, session string) error {
			id, err := strconv.ParseInt(session, 16, 64)
			if err == nil {
				_, err = c.Revoke(ctx, clientv3.LeaseID(id))
			}
			return err
		},
		removeNode: func(ctx context.Context, key string) error {
			_, err := c.Delete(ctx, key)
			return err
		},
		removeDir: func(ctx context.Context, namespace, dir string) error {
			_, err := c.Delete(ctx, namespace+"/"+dir+"/", clientv3.WithPrefix())
			return err
		},
		ways: s.elsewhere(t),
	}
}

// consulOperator asks whichever member serves.
func consulOperator(t testing.TB, s *store) operator {
	t.Helper()
	var members []*api.Client
	for _, e := range s.Endpoints() {
		c, err := plainConsul(e)
		must(t, "a client of Consul", err)
		members = append(members, c)
	}
	any := func(ctx context.Context, do func(*api.Client, *api.WriteOptions) error) (err error) {
		for _, c := range members {
			brief, cancel := context.WithTimeout(ctx, s.ttl)
			err = do(c, new(api.WriteOptions).WithContext(brief))
			cancel()
			if err == nil {
				return nil
			}
		}
		return err
	}
	return operator{
		expire: func(ctx context.Context, session string) error {
			return any(ctx, func(c *api.Client, w *api.WriteOptions) error { _, err := c.Session().Destroy(session, w); return err })
		},
		removeNode: func(ctx context.Context, key string) error {
			return any(ctx, func(c *api.Client, w *api.WriteOptions) error { _, err := c.KV().Delete(key, w); return err })
		},
		removeDir: func(ctx context.Context, namespace, dir string) error {
			return any(ctx, func(c *api.Client, w *api.WriteOptions) error {
				// As the driver writes names, see its documentation.
				_, err := c.KV().DeleteTree(namespace+"/"+strings.ReplaceAll(dir, "%", "=")+"/", w)
				return err
			})
		},
		ways: s.elsewhere(t),
	}
}

// zooKeeperOperator removes with a client of its own, for each time a new one, as
// servers come and go. To end a session it has to know its password, which it hears
// on the way.
func zooKeeperOperator(t testing.TB, s *store) operator {
	t.Helper()
	var mu sync.Mutex
	passwords := make(map[string][]byte)
	with := func(do func(c plainZK) error) error {
		c, err := plainZooKeeper(s.Endpoints()...)
		if err != nil {
			return err
		}
		defer c.close()
		return do(c)
	}
	op := operator{
		expire: func(ctx context.Context, session string) error {
			mu.Lock()
			password := passwords[session]
			mu.Unlock()
			return expireInZooKeeper(ctx, s.Endpoints(), session, password)
		},
		removeNode: func(_ context.Context, key string) error {
			return with(func(c plainZK) error { return c.Delete(key, -1) })
		},
		removeDir: func(_ context.Context, namespace, dir string) error {
			return with(func(c plainZK) error { return c.removeChildren(path.Join("/", namespace, dir)) })
		},
	}
	for _, e := range s.Endpoints() {
		op.ways = append(op.ways, newTap(t, s.machine(), e, ears{server: hearPasswords(func(session string, password []byte) {
			mu.Lock()
			defer mu.Unlock()
			passwords[session] = password
		})}).addr())
	}
	return op
}

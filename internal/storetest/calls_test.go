package storetest

import (
	"context"
	"maps"
	"path"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/etcd"
)

// calls counts the requests of a client of etcd, by what it wants with them.
// What goes by a stream, as watches and renewals do, is not counted.
type calls struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *calls) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	what := path.Base(method)
	switch what {
	case "Txn":
		what = "transaction"
	case "Range":
		what = "read"
	}
	c.mu.Lock()
	c.n[what]++
	c.mu.Unlock()
	return invoke(ctx, method, req, reply, cc, opts...)
}

func (c *calls) soFar() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}

// countedEtcd is on a client of the program's own.
func countedEtcd(t *testing.T, s *store) program {
	t.Helper()
	counted := &calls{n: make(map[string]int)}
	raw, err := clientv3.New(clientv3.Config{
		Endpoints:   s.Endpoints(),
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(counted.intercept)},
	})
	must(t, "connecting", err)
	conn, err := etcd.New(raw, "test", nil)
	must(t, "etcd.New", err)
	client, err := coord.New(conn, coord.Config{})
	must(t, "coord.New", err)
	t.Cleanup(func() {
		if err := client.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := raw.Close(); err != nil {
			t.Errorf("closing the etcd client: %v", err)
		}
	})
	return program{Client: client, soFar: counted.soFar}
}

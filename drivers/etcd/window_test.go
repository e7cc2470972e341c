package etcd

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// listening is a connection that remembers what was written.
type listening struct {
	net.Conn
	mu      *sync.Mutex
	written *bytes.Buffer
}

func (l listening) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written.Write(b)
	return l.Conn.Write(b)
}

// A connection of Open sends no pings by which gRPC finds out how much may be on its
// way.
func TestNoPingAfterEachAnswer(t *testing.T) {
	const many = 20
	// That is all there is to tell them by from what keeps a connection alive, and from
	// answers to the server's own.
	ping := []byte{0, 0, 8, 6, 0, 0, 0, 0, 0, 2, 4, 16, 16, 9, 14, 7, 7}
	target := targetOf(t, single.Get(t))
	pings := func(config clientv3.Config) int {
		l := listening{mu: new(sync.Mutex), written: new(bytes.Buffer)}
		config.DialOptions = append(config.DialOptions, grpc.WithContextDialer(func(ctx context.Context, addr string) (_ net.Conn, err error) {
			conn := l
			conn.Conn, err = new(net.Dialer).DialContext(ctx, "tcp", addr)
			return conn, err
		}))
		client, err := clientv3.New(config)
		must(t, err)
		for range many {
			_, err := client.Get(within(t), target.Namespace)
			must(t, err)
		}
		must(t, client.Close())
		l.mu.Lock()
		defer l.mu.Unlock()
		return bytes.Count(l.written.Bytes(), ping)
	}
	usual := clientConfig(t.Context(), target, defaultSettings)
	if n := pings(usual); n > 0 {
		t.Errorf("%d pings for %d answers", n, many)
	}
	usual.DialOptions = usual.DialOptions[:1] // as gRPC does without the others
	if n := pings(usual); n == 0 {
		t.Errorf("gRPC sends no pings by itself any more, so its windows need not be set")
	}
}

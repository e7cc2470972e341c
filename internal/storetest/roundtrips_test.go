package storetest

import (
	"context"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/etcd"
	"github.com/coordkit/coordkit/internal/testserver"
	"github.com/coordkit/coordkit/recipes/mutex"
)

func etcdURL(e *testserver.Etcd) string {
	return "etcd://" + strings.ReplaceAll(strings.Join(e.Endpoints(), ","), "http://", "") + "/test"
}

// calls counts the unary requests of one client by method.
type calls struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *calls) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	c.mu.Lock()
	c.n[method]++
	c.mu.Unlock()
	return invoke(ctx, method, req, reply, cc, opts...)
}

// want compares what was called since the last want, and starts again.
func (c *calls) want(t *testing.T, what string, want map[string]int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	ok := len(c.n) == len(want)
	for method, n := range want {
		ok = ok && c.n[method] == n
	}
	if !ok {
		t.Errorf("%s took %v; want %v", what, c.n, want)
	}
	clear(c.n)
}

const (
	txn  = "/etcdserverpb.KV/Txn"
	read = "/etcdserverpb.KV/Range"
)

// countedClient is a client of its own whose requests are counted.
func countedClient(t *testing.T, e *testserver.Etcd) (*coord.Client, *calls) {
	t.Helper()
	counted := &calls{n: map[string]int{}}
	raw, err := clientv3.New(clientv3.Config{
		Endpoints:   e.Endpoints(),
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(counted.intercept)},
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := etcd.New(raw, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := coord.New(conn, coord.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := raw.Close(); err != nil {
			t.Errorf("closing the etcd client: %v", err)
		}
	})
	return client, counted
}

func TestRoundTripsOnEtcd(t *testing.T) {
	e := testserver.StartEtcd(t, testserver.EtcdOptions{})
	a, countA := countedClient(t, e)
	b, countB := countedClient(t, e)
	c, countC := countedClient(t, e)
	ctx := t.Context()
	lock := func(c *coord.Client) *mutex.Held {
		t.Helper()
		held, err := mutex.New(c, "m").Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	unlock := func(h *mutex.Held) {
		t.Helper()
		if err := h.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, client := range []*coord.Client{a, b, c} { // sessions are opened before the counting
		unlock(lock(client))
	}
	clear(countA.n)
	clear(countB.n)
	clear(countC.n)

	held := lock(a)
	countA.want(t, "acquire, free", map[string]int{txn: 1})

	waits := func(c *coord.Client, line int) chan *mutex.Held {
		granted := make(chan *mutex.Held, 1)
		go func() {
			h, err := mutex.New(c, "m").Lock(ctx)
			if err != nil {
				t.Error(err)
			}
			granted <- h
		}()
		lineOf(ctx, t, mutex.New(a, "m"), line)
		return granted
	}
	second := waits(b, 1)
	third := waits(c, 2)
	fourth := waits(b, 3)
	clear(countA.n) // looking at the line
	unlock(held)
	countA.want(t, "release", map[string]int{txn: 1})
	heldB := <-second
	countB.want(t, "two joinings, and a handoff from the head of the line", map[string]int{txn: 2})
	countC.want(t, "joining", map[string]int{txn: 1})
	unlock(heldB)
	countB.want(t, "release", map[string]int{txn: 1})
	heldC := <-third
	countC.want(t, "a handoff from who was not the head when looked at", map[string]int{read: 1})
	unlock(heldC)
	heldB = <-fourth
	countB.want(t, "the same", map[string]int{read: 1})

	fifth := waits(b, 1)
	sixth := waits(b, 2)
	countB.want(t, "two joinings", map[string]int{txn: 2})
	unlock(heldB)
	heldB = <-fifth
	unlock(heldB)
	heldB = <-sixth
	countB.want(t, "two releases and two handoffs in one process", map[string]int{txn: 2})
	unlock(heldB)
	countB.want(t, "release", map[string]int{txn: 1})
}

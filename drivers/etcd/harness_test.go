package etcd

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap/zaptest"
	"google.golang.org/grpc"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/drivertest"
	"github.com/coordkit/coordkit/internal/testserver"
)

// What the tests of all drivers say often.
const patience = drivertest.Patience

var (
	within       = drivertest.Within
	must         = drivertest.Must
	wantIs       = drivertest.WantIs
	eventually   = drivertest.Eventually
	waiting      = drivertest.Waiting
	pendingStill = drivertest.PendingStill
)

func receive[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	return drivertest.Receive(t, what, c)
}

// The servers that all tests of the package share, each started when first
// asked for. Tests keep apart by their namespaces.
var (
	single = drivertest.Share(testserver.NewEtcd, testserver.EtcdOptions{})
	triple = drivertest.Share(testserver.NewEtcd, testserver.EtcdOptions{Members: 3})
)

func TestMain(m *testing.M) { drivertest.Main(m, single, triple) }

func namespace(t testing.TB) string {
	return "test/" + strings.ReplaceAll(t.Name(), "/", ".") + fmt.Sprintf(".%d", time.Now().UnixNano())
}

// newClient returns a client of the caller's own making, as programs have them.
func newClient(t testing.TB, config clientv3.Config, opts ...grpc.DialOption) *clientv3.Client {
	t.Helper()
	config.DialTimeout = patience
	config.DialOptions = append(config.DialOptions, reconnect(time.Second))
	config.DialOptions = append(config.DialOptions, opts...)
	client, err := clientv3.New(config)
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// fixture is a connection with all that a test looks at it with.
type fixture struct {
	*conn
	t     testing.TB
	tap   *tap
	admin *clientv3.Client // another client, that nothing interferes with
}

// start connects to the shared server.
func start(t testing.TB) *fixture {
	t.Helper()
	return startOn(t, single.Get(t).ClientConfig(), single.Get(t).ClientConfig(), defaultTiming)
}

// startOn connects with a client of config, and sees that nothing is left when
// the test is over.
func startOn(t testing.TB, config, admin clientv3.Config, timing timing) *fixture {
	t.Helper()
	f := &fixture{t: t, tap: newTap(), admin: newClient(t, admin)}
	client := newClient(t, config, f.tap.options()...)
	f.conn = newConn(client, namespace(t), zaptest.NewLogger(t), timing)
	f.conn.direct = true // the tap sends nothing twice
	if len(config.DialOptions) == 0 {
		f.overPool(config)
	}
	t.Cleanup(func() {
		if err := f.conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		f.wantEmpty()
	})
	return f
}

// overPool has the connection make its requests over a pool, as one of Open does, with a
// channel from the beginning, and the tap listening.
func (f *fixture) overPool(config clientv3.Config) {
	f.t.Helper()
	p := newTestPool(f.t, config)
	p.admit = f.tap.admit
	f.conn.over(p)
	f.conn.feeds.client = pb.NewWatchClient(tappedStreams{streams{f.conn.channel, p}, f.tap})
	if !f.conn.reach(within(f.t)) { // and gRPC has one as well
		f.t.Error("gRPC does not reach the server")
	}
}

func newTestPool(t testing.TB, config clientv3.Config) *pool {
	t.Helper()
	target := driver.Target{TLS: config.TLS, Username: config.Username, Password: driver.Secret(config.Password)}
	for _, e := range config.Endpoints {
		target.Hosts = append(target.Hosts, e[strings.LastIndex(e, "/")+1:])
	}
	target.Logger = zaptest.NewLogger(t)
	p := poolFor(target, settings{dialTimeout: 2 * time.Second})
	t.Cleanup(p.close)
	c, err := p.reach()
	must(t, err)
	p.free.Put(c)
	return p
}

// wantEmpty fails unless nothing of the namespace is left in the store.
func (f *fixture) wantEmpty() {
	f.t.Helper()
	var left []string
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		resp, err := f.admin.Get(ctx, string(f.keyspace)+"/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			f.t.Errorf("look for what is left: %v", err)
			return
		}
		if left = nil; resp.Count == 0 {
			return
		}
		for _, kv := range resp.Kvs {
			left = append(left, string(kv.Key))
		}
	}
	f.t.Errorf("left in the store: %v", left)
}

func (f *fixture) open(ttl time.Duration) *session {
	f.t.Helper()
	s, err := f.OpenSession(within(f.t), ttl)
	must(f.t, err)
	return s.(*session)
}

func (f *fixture) create(s driver.Session, dir, id string) driver.Node {
	f.t.Helper()
	n, err := s.Create(within(f.t), dir, id, []byte(id))
	must(f.t, err)
	return n
}

// keys returns the keys of a directory as they are in the store.
func (f *fixture) keys(dir string) []string {
	f.t.Helper()
	resp, err := f.admin.Get(within(f.t), f.dir(dir).from, clientv3.WithPrefix())
	must(f.t, err)
	var keys []string
	for _, kv := range resp.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys
}

func (f *fixture) wantKeys(dir string, want int) {
	f.t.Helper()
	if keys := f.keys(dir); len(keys) != want {
		f.t.Fatalf("keys %v in %s; want %d", keys, dir, want)
	}
}

func (f *fixture) hasLease(id int64) bool {
	f.t.Helper()
	resp, err := f.admin.TimeToLive(within(f.t), clientv3.LeaseID(id))
	must(f.t, err)
	return resp.TTL > 0
}

// eventuallyOpen waits until the feed of a directory is open and has no wait in
// doubt.
func (f *fixture) eventuallyOpen(dir string) {
	f.t.Helper()
	eventually(f.t, "the feed is open and certain", func() bool {
		f.feeds.mu.Lock()
		defer f.feeds.mu.Unlock()
		feed := f.feeds.all[f.dir(dir)]
		if feed == nil || !feed.open {
			return false
		}
		_, any, _ := feed.doubtful()
		return !any && !feed.reading
	})
}

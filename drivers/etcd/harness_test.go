package etcd

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"google.golang.org/grpc"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/dial"
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
	return startOn(t, single.Get(t), targetOf(t, single.Get(t)))
}

// startOn connects as a URL does, and sees that nothing is left when the test is over.
func startOn(t testing.TB, etcd *testserver.Etcd, target driver.Target, opts ...grpc.DialOption) *fixture {
	t.Helper()
	f := &fixture{t: t, tap: newTap(), admin: newClient(t, etcd.ClientConfig())}
	c, err := openWith(within(t), target, dial.TCP(), append(f.tap.options(), opts...)...)
	must(t, err)
	f.conn = c.(*conn)
	t.Cleanup(func() {
		must(t, f.conn.Close())
		f.wantEmpty()
	})
	return f
}

// hasty makes the driver notice within a fraction of a second that a watch is silent.
func (f *fixture) hasty() {
	f.wire.quiet, f.wire.answer = 200*time.Millisecond, 300*time.Millisecond
}

// wantEmpty fails unless nothing of the namespace is left in the store.
func (f *fixture) wantEmpty() {
	f.t.Helper()
	var left []string
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		resp, err := f.admin.Get(ctx, string(f.keys)+"/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
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

// stored returns the keys of a directory as they are in the store.
func (f *fixture) stored(dir string) []string {
	f.t.Helper()
	resp, err := f.admin.Get(within(f.t), f.conn.keys.prefix(dir), clientv3.WithPrefix())
	must(f.t, err)
	var keys []string
	for _, kv := range resp.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys
}

func (f *fixture) wantKeys(dir string, want int) {
	f.t.Helper()
	if keys := f.stored(dir); len(keys) != want {
		f.t.Fatalf("keys %v in %s; want %d", keys, dir, want)
	}
}

func (f *fixture) hasLease(id int64) bool {
	f.t.Helper()
	resp, err := f.admin.TimeToLive(within(f.t), clientv3.LeaseID(id))
	must(f.t, err)
	return resp.TTL > 0
}

// eventuallyOpen waits until the feed of a directory is open.
func (f *fixture) eventuallyOpen(dir string, waits int) {
	f.t.Helper()
	eventually(f.t, "the feed is open", func() bool {
		f.waits.mu.Lock()
		defer f.waits.mu.Unlock()
		feed := f.waits.feeds[dir]
		return feed != nil && feed.known.at != 0 && len(feed.users) >= waits
	})
}

// targetOf is a server as an Opener is given it.
func targetOf(t testing.TB, etcd *testserver.Etcd) driver.Target {
	t.Helper()
	var hosts []string
	for _, e := range etcd.Endpoints() {
		_, host, _ := strings.Cut(e, "://")
		hosts = append(hosts, host)
	}
	config := etcd.ClientConfig()
	return driver.Target{
		Scheme: "etcd", Hosts: hosts, Namespace: namespace(t), TLS: config.TLS,
		Username: config.Username, Password: driver.Secret(config.Password), Logger: zaptest.NewLogger(t),
	}
}

// users is how many waits the feed of a directory has; -1 if there is none.
func (f *fixture) users(dir string) int {
	f.waits.mu.Lock()
	defer f.waits.mu.Unlock()
	if feed := f.waits.feeds[dir]; feed != nil {
		return len(feed.users)
	}
	return -1
}

// eventuallyRenewed waits for some renewals, or the end of the session.
func (f *fixture) eventuallyRenewed(s *session, times int) {
	f.t.Helper()
	before := f.tap.sent("renewed")
	eventually(f.t, "a renewal", func() bool { return s.Err() != nil || f.tap.sent("renewed") >= before+times })
}

func targetLogger(t testing.TB) *zap.Logger { return zaptest.NewLogger(t) }

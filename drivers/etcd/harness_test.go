package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"
	"google.golang.org/grpc"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
)

// patience bounds what must happen. It is reached only by what is broken.
const patience = 30 * time.Second

// The servers that all tests of the package share, each started when first
// asked for. Tests keep apart by their namespaces.
var (
	single = shared{opts: testserver.EtcdOptions{}}
	triple = shared{opts: testserver.EtcdOptions{Members: 3}}
)

type shared struct {
	opts testserver.EtcdOptions
	once sync.Once
	etcd *testserver.Etcd
	err  error
}

func (s *shared) get(t testing.TB) *testserver.Etcd {
	t.Helper()
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		s.etcd, s.err = testserver.NewEtcd(ctx, s.opts)
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.etcd
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, s := range []*shared{&single, &triple} {
		if s.etcd == nil {
			continue
		}
		if err := s.etcd.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantIs(t testing.TB, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Fatalf("got the error %v; want one that is %q", err, w)
		}
	}
}

// eventually polls what sends no event.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

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
	return startOn(t, single.get(t).ClientConfig(), single.get(t).ClientConfig(), defaultTiming)
}

// startOn connects with a client of config, and sees that nothing is left when
// the test is over.
func startOn(t testing.TB, config, admin clientv3.Config, timing timing) *fixture {
	t.Helper()
	f := &fixture{t: t, tap: newTap(), admin: newClient(t, admin)}
	client := newClient(t, config, f.tap.options()...)
	f.conn = newConn(client, namespace(t), zaptest.NewLogger(t), timing)
	t.Cleanup(func() {
		if err := f.conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		f.wantEmpty()
	})
	return f
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

// waiting runs a wait and returns its outcome when it comes.
func waiting(ctx context.Context, s driver.Session, n driver.Node) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.WaitDelete(ctx, n) }()
	return done
}

func receive[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("not within %v: %s", patience, what)
		panic("unreachable")
	}
}

// pendingStill fails if a wait has ended.
func pendingStill(t testing.TB, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		t.Fatalf("the wait has ended, with %v", err)
	default:
	}
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

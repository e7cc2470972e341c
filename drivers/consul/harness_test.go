package consul

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
	"go.uber.org/zap/zaptest"

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

// shortTTL is the TTL of sessions that are to run out.
const shortTTL = 2 * time.Second

// The servers that all tests of the package share, each started when first
// asked for. Tests keep apart by their namespaces.
var (
	single = drivertest.Share(testserver.NewConsul, testserver.ConsulOptions{SessionTTLMin: time.Second})
	triple = drivertest.Share(testserver.NewConsul, testserver.ConsulOptions{Members: 3, SessionTTLMin: time.Second})
	// patient grants no TTL below Consul's default.
	patient = drivertest.Share(testserver.NewConsul, testserver.ConsulOptions{Dev: true})
	// standard is with the limits that Consul has by default.
	standard = drivertest.Share(testserver.NewConsul, testserver.ConsulOptions{})
)

func TestMain(m *testing.M) { drivertest.Main(m, single, triple, patient, standard) }

func namespace(t testing.TB) string {
	return "test/" + strings.ReplaceAll(t.Name(), "/", ".") + fmt.Sprintf(".%d", time.Now().UnixNano())
}

// newAdmin returns a client that nothing interferes with.
func newAdmin(t testing.TB, endpoint, token string) *api.Client {
	t.Helper()
	wire := new(http.Transport)
	client, err := api.NewClient(&api.Config{Address: endpoint, Token: token, HttpClient: &http.Client{Transport: wire}})
	must(t, err)
	t.Cleanup(wire.CloseIdleConnections)
	return client
}

// openOn connects to a target.
func openOn(ctx context.Context, t driver.Target) (*conn, error) {
	return open(ctx, t, dial.TCP())
}

// fixture is a connection through a tap, with all that a test looks at it with.
type fixture struct {
	*conn
	t     testing.TB
	tap   *tap
	admin *api.Client
}

// start connects to the shared server.
func start(t testing.TB) *fixture {
	t.Helper()
	return startOn(t, single.Get(t))
}

// startOn connects to the first server of a cluster, and sees that nothing is
// left when the test is over.
func startOn(t testing.TB, consul *testserver.Consul) *fixture {
	t.Helper()
	endpoint := consul.Member(0).Endpoint()
	f := &fixture{t: t, admin: newAdmin(t, endpoint, consul.Token), tap: newTap(t, endpoint)}
	t.Cleanup(f.tap.close)
	c, err := openOn(within(t), driver.Target{
		Hosts:     []string{f.tap.addr()},
		Namespace: namespace(t),
		Token:     driver.Secret(consul.Token),
		Logger:    zaptest.NewLogger(t),
	})
	must(t, err)
	f.conn = c
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
	eventually(f.t, "nothing is left in the store", func() bool {
		keys, _, err := f.admin.KV().Keys(f.all(), "", nil)
		return err == nil && len(keys) == 0 && len(f.sessionsIn()) == 0
	})
}

// sessionsIn returns the sessions of the namespace.
func (f *fixture) sessionsIn() (ids []string) {
	f.t.Helper()
	all, _, err := f.admin.Session().List(&api.QueryOptions{RequireConsistent: true})
	must(f.t, err)
	for _, s := range all {
		if s.Name == string(f.keyspace) {
			ids = append(ids, s.ID)
		}
	}
	return ids
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
	keys, _, err := f.admin.KV().Keys(f.dir(dir), "", &api.QueryOptions{RequireConsistent: true})
	must(f.t, err)
	return keys
}

func (f *fixture) wantKeys(dir string, want int) {
	f.t.Helper()
	if keys := f.keys(dir); len(keys) != want {
		f.t.Fatalf("keys %v in %s; want %d", keys, dir, want)
	}
}

// remove deletes a key as an operator does.
func (f *fixture) remove(key string) {
	f.t.Helper()
	_, err := f.admin.KV().Delete(key, nil)
	must(f.t, err)
}

// eventuallyWatched waits until so many queries wait at the agent.
func (f *fixture) eventuallyWatched(n int) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("%d queries wait", n), func() bool { return f.tap.state().watches == n })
}

// eventuallyWaiting waits until there are so many waits in a directory.
func (f *fixture) eventuallyWaiting(dir string, n int) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("%d waits", n), func() bool {
		f.scopes.mu.Lock()
		defer f.scopes.mu.Unlock()
		found := f.scopes.waits[f.dir(dir)]
		for scope, waits := range f.scopes.waits {
			if strings.HasPrefix(scope, f.dir(dir)) && scope != f.dir(dir) {
				found += waits
			}
		}
		return found == n
	})
}

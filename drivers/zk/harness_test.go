package zk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"
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

// unlimited is for servers that all the clients of a test's process share.
var unlimited = map[string]string{"maxClientCnxns": "0"}

// The servers that all tests of the package share, each started when first
// asked for. Tests keep apart by their namespaces.
var (
	single = drivertest.Share(testserver.NewZooKeeper, testserver.ZooKeeperOptions{ExtraConfig: unlimited})
	triple = drivertest.Share(testserver.NewZooKeeper, testserver.ZooKeeperOptions{Members: 3, ExtraConfig: unlimited})
)

func TestMain(m *testing.M) { drivertest.Main(m, single, triple) }

func namespaceOf(t testing.TB) string {
	return "test/" + strings.ReplaceAll(t.Name(), "/", ".") + fmt.Sprintf(".%d", time.Now().UnixNano())
}

func endpoints(z *testserver.ZooKeeper) (hosts []string) {
	for _, m := range z.Members {
		hosts = append(hosts, m.Endpoint())
	}
	return hosts
}

// fixture is a connection with all that a test looks at it with.
type fixture struct {
	*conn
	t     testing.TB
	zk    *testserver.ZooKeeper
	tap   *tap
	admin *gozk.Conn
}

// start connects to the shared server and sees that nothing is left when the
// test is over.
func start(t testing.TB) *fixture { return startOn(t, single.Get(t), nil) }

// startOn connects by way of hosts, or of the servers' own addresses.
func startOn(t testing.TB, z *testserver.ZooKeeper, hosts []string) *fixture {
	t.Helper()
	f := &fixture{t: t, zk: z, tap: newTap(), admin: newAdmin(t, endpoints(z))}
	if hosts == nil {
		hosts = endpoints(z)
	}
	f.conn = newConn(space("/"+namespaceOf(t)), peersOf(f.tap, hosts),
		gozk.WorldACL(gozk.PermAll), zaptest.NewLogger(t))
	f.relook = time.Hour // events have to do
	t.Cleanup(func() {
		f.close()
		f.wantEmpty()
	})
	return f
}

func peersOf(p *tap, hosts []string) peers {
	return peers{network: dial.Network{Dial: p.dial, Lookup: net.DefaultResolver.LookupHost}, hosts: hosts}
}

// close closes the connection, and the sessions before with more patience than
// that has: on a busy machine, servers may take longer.
func (f *fixture) close() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience/6)
	defer cancel()
	f.living.Lock()
	sessions := slices.Collect(maps.Keys(f.conn.open))
	f.living.Unlock()
	for _, s := range sessions {
		_ = s.Close(ctx) // what is left of it is missed later
	}
	if err := f.conn.Close(); err != nil {
		f.t.Errorf("close: %v", err)
	}
}

// peer is another program, in the namespace of f.
func (f *fixture) peer() *fixture { return f.peerOn(endpoints(f.zk)) }

// peerOn is a peer that knows only the hosts given.
func (f *fixture) peerOn(hosts []string) *fixture {
	f.t.Helper()
	other := &fixture{t: f.t, zk: f.zk, tap: newTap(), admin: f.admin}
	other.conn = newConn(f.space, peersOf(other.tap, hosts), f.acl, zaptest.NewLogger(f.t))
	other.relook = f.relook
	f.t.Cleanup(other.close)
	return other
}

// wantEmpty fails unless nothing but directories is left of the namespace.
func (f *fixture) wantEmpty() {
	f.t.Helper()
	var left []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var err error
		if left, err = leaves(f.admin, string(f.space)); err == nil && len(left) == 0 {
			return
		}
	}
	f.t.Errorf("left in the store: %v", left)
}

// leaves returns what is in the directories of a namespace.
func leaves(c *gozk.Conn, namespace string) (found []string, err error) {
	dirs, _, err := c.Children(namespace)
	if errors.Is(err, gozk.ErrNoNode) {
		return nil, nil
	}
	for _, d := range dirs {
		names, _, err := c.Children(namespace + "/" + d)
		if err != nil && !errors.Is(err, gozk.ErrNoNode) {
			return nil, err
		}
		for _, n := range names {
			found = append(found, d+"/"+n)
		}
	}
	return found, err
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

// names returns what is in a directory of the store.
func (f *fixture) names(dir string) (names []string) {
	f.t.Helper()
	eventually(f.t, "the operator's client has a server", func() bool {
		// What was acknowledged to others may be news to this client's server.
		_, err := f.admin.Sync(f.dir(dir))
		if err == nil {
			names, _, err = f.admin.Children(f.dir(dir))
		}
		return err == nil || errors.Is(err, gozk.ErrNoNode)
	})
	return names
}

func (f *fixture) wantNames(dir string, want int) {
	f.t.Helper()
	if names := f.names(dir); len(names) != want {
		f.t.Fatalf("%v in %s; want %d", names, dir, want)
	}
}

// isUp reports whether the session is open on a connection.
func isUp(l *link) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up
}

// numberOf is the session's number.
func numberOf(s *session) int64 {
	id, _ := strconv.ParseUint(s.ID(), 16, 64)
	return int64(id)
}

// eventuallyRenewed waits until the session was renewed some times, by whatever server
// it has now.
func (f *fixture) eventuallyRenewed(s *session) {
	f.t.Helper()
	before := f.tap.sent()["multi"]
	eventually(f.t, "renewals", func() bool { return f.tap.sent()["multi"] >= before+3 })
	must(f.t, s.Err())
}

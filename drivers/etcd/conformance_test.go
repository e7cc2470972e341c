package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/dial"
	"github.com/coordkit/coordkit/internal/drivertest"
	"github.com/coordkit/coordkit/internal/testserver"
)

// The driver keeps every rule, on a single server and on a cluster of three,
// and every rule is verified.

func TestConformance(t *testing.T) { conforms(t, newStand(t, "etcd", single.Get(t))) }

func TestConformanceThreeMembers(t *testing.T) {
	conforms(t, newStand(t, "etcd, 3 members", triple.Get(t)))
}

// The driver takes the client of the program as it is.
func TestConformanceProgramsClient(t *testing.T) {
	s := newStand(t, "etcd, the program's client", single.Get(t))
	s.programs = true
	conforms(t, s)
}

func conforms(t *testing.T, s *stand) {
	// The servers count watches for all their clients.
	drivertest.Conforms(t, s.harness(), drivertest.CountsApart()...)
}

// stand is a cluster with the means to put a driver to the test on it.
type stand struct {
	name     string
	etcd     *testserver.Etcd
	programs bool // links have a client of the program's own
	hosts    []string
	admin    *clientv3.Client

	mu      sync.Mutex
	proxies map[string]*netfault.Group // by namespace, for counting connections
}

func newStand(t *testing.T, name string, etcd *testserver.Etcd) *stand {
	s := &stand{name: name, etcd: etcd, admin: newClient(t, etcd.ClientConfig()), proxies: make(map[string]*netfault.Group)}
	s.hosts = targetOf(t, etcd).Hosts
	t.Cleanup(func() {
		for _, g := range s.proxies {
			_ = g.Close()
		}
	})
	return s
}

// suiteTTL is how long sessions of the suite live: short, so that it does not
// take long; but it runs two dozen cases at a time, and a renewal has to get
// through among them on a machine that is slow.
const suiteTTL = 4 * time.Second

func (s *stand) harness() conformance.Harness {
	return conformance.Harness{
		Name:         s.name,
		TTL:          suiteTTL,
		Open:         s.open,
		OpenLink:     s.openLink,
		Hold:         func(l conformance.Link) func() { return l.(*gatedLink).hold() },
		Expire:       s.expire,
		RemoveNode:   s.removeNode,
		RemoveDir:    s.removeDir,
		PlantForeign: s.plantForeign,
		NearWrap:     conformance.WideCounter,
		Compact:      s.compact,
		Residue:      s.residue,
		BadTTL:       []time.Duration{time.Millisecond, 1500 * time.Millisecond, 9_100_000_000 * time.Second},
	}
}

// counted is the way to the cluster on which the connections of a namespace are
// counted.
func (s *stand) counted(namespace string) (*netfault.Group, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.proxies[namespace]; g != nil {
		return g, nil
	}
	g, err := netfault.NewGroup(s.hosts...)
	if err == nil {
		s.proxies[namespace] = g
	}
	return g, err
}

func (s *stand) open(ctx context.Context, namespace string) (driver.Conn, error) {
	g, err := s.counted(namespace)
	if err != nil {
		return nil, err
	}
	return open(ctx, driver.Target{Scheme: "etcd", Hosts: g.Addrs(), Namespace: namespace, Logger: zap.NewNop()})
}

// openLink puts proxies of its own before every endpoint, and a gate for single
// requests into the client.
func (s *stand) openLink(ctx context.Context, namespace string) (driver.Conn, conformance.Link, error) {
	g, err := netfault.NewGroup(s.hosts...)
	if err != nil {
		return nil, nil, err
	}
	l := &gatedLink{Group: g, land: s.admin.ActiveConnection()}
	gate := grpc.WithChainUnaryInterceptor(l.intercept)
	target := driver.Target{Hosts: g.Addrs(), Namespace: namespace, Logger: zap.NewNop()}
	if !s.programs {
		c, err := openWith(ctx, target, dial.TCP(), gate)
		return c, l, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: g.Addrs(), Logger: zap.NewNop(),
		DialKeepAliveTime: defaultSettings.keepaliveTime, DialKeepAliveTimeout: defaultSettings.keepaliveTimeout,
		DialOptions: []grpc.DialOption{reconnect(defaultSettings.dialTimeout), gate},
	})
	if err != nil {
		return nil, nil, err
	}
	c, err := New(client, namespace, nil)
	return &closing{c.(*conn), client}, l, err
}

// closing closes a program's client with its connection.
type closing struct {
	*conn
	client *clientv3.Client
}

func (c *closing) Close() error {
	err := c.conn.Close()
	_ = c.client.Close()
	return err
}

// gatedLink is a link that can also keep a single request from landing.
type gatedLink struct {
	*netfault.Group
	land grpc.ClientConnInterface // the way of what was held

	mu   sync.Mutex
	next func(land func(context.Context) error) // takes the next change; nil: none is to be held
}

// hold keeps the next change. Its sender sees silence; release lets it
// land, whether anybody still waits for it or not, and returns when it has.
func (l *gatedLink) hold() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held, landed := make(chan struct{}), make(chan struct{})
	caught := false
	l.next = func(invoke func(context.Context) error) {
		caught = true
		go func() {
			defer close(landed)
			<-held
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_ = invoke(ctx)
		}()
	}
	return func() {
		l.mu.Lock()
		l.next = nil
		wait := caught
		l.mu.Unlock()
		close(held)
		if wait {
			<-landed
		}
	}
}

func (l *gatedLink) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	l.mu.Lock()
	next := l.next
	if next != nil && path.Base(method) == "Txn" && writes(req) {
		l.next = nil
		answer := reflect.New(reflect.TypeOf(reply).Elem()).Interface() // the sender's own is not to be touched any more
		req := proto.Clone(req.(proto.Message))                         // likewise: what is on its way has been encoded
		next(func(ctx context.Context) error { return l.land.Invoke(ctx, method, req, answer) })
		l.mu.Unlock()
		for _, o := range opts { // as of a request that gRPC has given to a connection
			if to, ok := o.(grpc.PeerCallOption); ok {
				to.PeerAddr.Addr = new(net.TCPAddr)
			}
		}
		<-ctx.Done()
		return ctx.Err()
	}
	l.mu.Unlock()
	return invoke(ctx, method, req, reply, cc, opts...)
}

func (s *stand) expire(ctx context.Context, _ string, session driver.Session) error {
	id, err := strconv.ParseInt(session.ID(), 16, 64)
	if err != nil {
		return err
	}
	_, err = s.admin.Revoke(ctx, clientv3.LeaseID(id))
	return err
}

func (s *stand) removeNode(ctx context.Context, _ string, n driver.Node) error {
	resp, err := s.admin.Delete(ctx, n.Key)
	if err == nil && resp.Deleted != 1 {
		err = fmt.Errorf("there is no key %s", n.Key)
	}
	return err
}

func (s *stand) removeDir(ctx context.Context, namespace, dir string) error {
	_, err := s.admin.Delete(ctx, namespace+"/"+dir+"/", clientv3.WithPrefix())
	return err
}

// compact makes the cluster forget all revisions but the current one.
func (s *stand) compact(ctx context.Context, namespace string) error {
	now, err := s.admin.Get(ctx, namespace)
	if err != nil {
		return err
	}
	_, err = s.admin.Compact(ctx, now.Header.Revision)
	if errors.Is(err, rpctypes.ErrCompacted) { // another case was faster
		err = nil
	}
	return err
}

func (s *stand) plantForeign(ctx context.Context, namespace, dir string) error {
	for _, key := range []string{"readme", "0", "a/b", "0123456789abcdef-0", "0123456789ABCDEF-0", "0123456789abcdef-", "-0"} {
		if _, err := s.admin.Put(ctx, namespace+"/"+dir+"/"+key, "foreign"); err != nil {
			return err
		}
	}
	return nil
}

var watcherTotal = regexp.MustCompile(`(?m)^etcd_debugging_mvcc_watcher_total (\d+)$`)

// residue counts the keys and connections of the namespace, and the leases and
// watches of the whole cluster.
func (s *stand) residue(ctx context.Context, namespace string) (r conformance.Residue, err error) {
	keys, err := s.admin.Get(ctx, namespace+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return r, err
	}
	leases, err := s.admin.Leases(ctx)
	if err != nil {
		return r, err
	}
	r.Keys, r.Sessions = int(keys.Count), len(leases.Leases)
	for _, e := range s.etcd.Endpoints() {
		n, err := watchersOf(ctx, e)
		if err != nil {
			return r, err
		}
		r.Watches += n
	}
	g, err := s.counted(namespace)
	if err != nil {
		return r, err
	}
	r.Conns = g.Stats().Open
	return r, nil
}

// watchersOf reads a member's own count of its watches.
func watchersOf(ctx context.Context, endpoint string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	found := watcherTotal.FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("%s does not count its watches", endpoint)
	}
	return strconv.Atoi(string(found[1]))
}

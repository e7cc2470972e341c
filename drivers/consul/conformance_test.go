package consul

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/sessions"
	"github.com/coordkit/coordkit/drivers/internal/dial"
	"github.com/coordkit/coordkit/internal/drivertest"
	"github.com/coordkit/coordkit/internal/testserver"
)

// world is a cluster as the suite sees it.
type world struct {
	t      *testing.T
	consul *testserver.Consul
	admin  *api.Client

	own bool // on clients of the program's own

	mu   sync.Mutex
	taps map[string][]*tap // by namespace
	open map[string][]*tap // likewise, those of connections without a link
}

func newWorld(t *testing.T, consul *testserver.Consul) *world {
	w := &world{
		t: t, consul: consul, admin: newAdmin(t, consul.Member(0).Endpoint(), ""),
		taps: make(map[string][]*tap), open: make(map[string][]*tap),
	}
	t.Cleanup(func() {
		for _, taps := range w.taps {
			for _, p := range taps {
				p.close()
			}
		}
	})
	return w
}

// tapsOf returns taps before all servers, which belong to the namespace.
func (w *world) tapsOf(namespace string, shared bool) []*tap {
	w.mu.Lock()
	defer w.mu.Unlock()
	if taps := w.open[namespace]; shared && taps != nil {
		return taps
	}
	var taps []*tap
	for _, m := range w.consul.Members {
		taps = append(taps, newTap(w.t, m.Endpoint()))
	}
	w.taps[namespace] = append(w.taps[namespace], taps...)
	if shared {
		w.open[namespace] = taps
	}
	return taps
}

func addrs(taps []*tap) (list []string) {
	for _, p := range taps {
		list = append(list, p.addr())
	}
	return list
}

func (w *world) connect(ctx context.Context, namespace string, hosts []string) (driver.Conn, error) {
	if w.own {
		return openOwn(hosts[0], namespace)
	}
	c, err := open(ctx, driver.Target{Hosts: hosts, Namespace: namespace, Logger: zap.NewNop()}, dial.TCP())
	if err != nil {
		return nil, err
	}
	return c, nil
}

// openOwn connects by a client as the package comment has it.
func openOwn(host, namespace string) (driver.Conn, error) {
	wire := &http.Transport{MaxIdleConnsPerHost: 64, MaxConnsPerHost: 64}
	client, err := api.NewClient(&api.Config{Address: host, HttpClient: &http.Client{Transport: wire}})
	if err != nil {
		return nil, err
	}
	// New would not have the namespaces of the suite. Idle connections are the program's
	// business, whose part the test plays.
	all := &agents{all: []agent{{client, client}}, close: wire.CloseIdleConnections}
	return newConn(all, namespace, tenant{}, nil, sessions.New(store)), nil
}

// suiteLink is a network whose every connection can be broken, and before it
// taps which can hold a single request.
type suiteLink struct {
	*netfault.Group
	taps []*tap
}

func (w *world) openLink(ctx context.Context, namespace string) (driver.Conn, conformance.Link, error) {
	taps := w.tapsOf(namespace, false)
	group, err := netfault.NewGroup(addrs(taps)...)
	if err != nil {
		return nil, nil, err
	}
	c, err := w.connect(ctx, namespace, group.Addrs())
	if err != nil {
		return nil, nil, err
	}
	return c, suiteLink{group, taps}, nil
}

func (w *world) residue(ctx context.Context, namespace string) (r conformance.Residue, err error) {
	q := (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx)
	keys, _, err := w.admin.KV().Keys(newKeyspace(namespace).all(), "", q)
	if err != nil {
		return r, err
	}
	sessions, _, err := w.admin.Session().List(q)
	if err != nil {
		return r, err
	}
	r.Keys = len(keys)
	for _, s := range sessions {
		if s.Name == string(newKeyspace(namespace)) {
			r.Sessions++
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.taps[namespace] {
		s := p.state()
		r.Watches += s.watches
		r.Conns += s.conns
	}
	return r, nil
}

// plantForeign puts keys of all kinds into a directory that no driver made.
func (w *world) plantForeign(ctx context.Context, namespace, dir string) error {
	q := new(api.WriteOptions).WithContext(ctx)
	operator, _, err := w.admin.Session().CreateNoChecks(&api.SessionEntry{Name: "operator", TTL: "60s", Behavior: "delete"}, q)
	if err != nil {
		return err
	}
	const nobody = "01234567-89ab-cdef-0123-456789abcdef"
	k := newKeyspace(namespace)
	for _, key := range []string{
		strings.TrimSuffix(k.dir(dir), "/"), k.dir(dir), k.dir(dir) + "readme", k.dir(dir) + "0",
		k.dir(dir) + "a/b", k.dir(dir) + nobody, k.dir(dir) + nobody + "-", k.dir(dir) + nobody + "-0",
		k.dir(dir) + nobody + "-0/1", k.dir(dir) + strings.ToUpper(nobody) + "-0", k.node(dir, operator, "0"),
	} {
		if _, err := w.admin.KV().Put(&api.KVPair{Key: key, Value: []byte("foreign")}, q); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	for _, key := range []string{k.dir(dir) + "locked", k.node(dir, nobody, "1"), k.node(dir, operator, "a.b")} {
		if _, _, err := w.admin.KV().Acquire(&api.KVPair{Key: key, Session: operator}, q); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func (w *world) harness(name string, ttl time.Duration, badTTL ...time.Duration) conformance.Harness {
	q := func(ctx context.Context) *api.WriteOptions { return new(api.WriteOptions).WithContext(ctx) }
	return conformance.Harness{
		Name:   name,
		TTL:    ttl,
		Expiry: 2*ttl + 5*time.Second, // Consul waits for twice the TTL
		Open: func(ctx context.Context, namespace string) (driver.Conn, error) {
			c, err := w.connect(ctx, namespace, addrs(w.tapsOf(namespace, true)))
			if err != nil {
				return nil, err
			}
			// Connections are made when they are needed. The suite counts the
			// goroutines that are started in a part of a case, and its own
			// client's are not to be among them.
			_, err = c.List(ctx, "warm")
			return c, err
		},
		OpenLink: w.openLink,
		Hold:     func(l conformance.Link) func() { return hold("write", l.(suiteLink).taps...).free },
		Expire: func(ctx context.Context, _ string, s driver.Session) error {
			_, err := w.admin.Session().Destroy(s.ID(), q(ctx))
			return err
		},
		RemoveNode: func(ctx context.Context, _ string, n driver.Node) error {
			_, err := w.admin.KV().Delete(n.Key, q(ctx))
			return err
		},
		RemoveDir: func(ctx context.Context, namespace, dir string) error {
			_, err := w.admin.KV().DeleteTree(newKeyspace(namespace).dir(dir), q(ctx))
			return err
		},
		PlantForeign: w.plantForeign,
		NearWrap:     conformance.WideCounter,
		Compact:      conformance.NoHistory, // tombstones are no more than a reason to answer
		Residue:      w.residue,
		BadTTL:       append(badTTL, time.Nanosecond, maxTTL+time.Second, 1000*time.Hour),
	}
}

// suiteTTL is not long, so that the suite does not take long; but it runs three
// dozen cases at a time, and on a machine that is slow a renewal has to get
// through among them, or three servers to elect a leader anew.
const suiteTTL = 5 * time.Second

func TestConformance(t *testing.T) {
	w := newWorld(t, single.Get(t))
	drivertest.Conforms(t, w.harness("consul", suiteTTL, 999*time.Millisecond))
}

func TestConformanceThreeServers(t *testing.T) {
	w := newWorld(t, triple.Get(t))
	drivertest.Conforms(t, w.harness("consul, three servers", suiteTTL, 999*time.Millisecond))
}

// rules returns the rules with the IDs given.
func rules(ids ...string) conformance.Options {
	return conformance.Options{Rules: slices.DeleteFunc(conformance.DriverRules(), func(r conformance.Rule) bool {
		return !slices.Contains(ids, r.ID)
	})}
}

// With the TTL that Consul grants by default. Only the rules that are about
// time are worth the time that this takes.
func TestConformanceDefaultTTL(t *testing.T) {
	w := newWorld(t, patient.Get(t))
	const ttl = 10 * time.Second
	drivertest.Conforms(t, w.harness("consul, default TTL", ttl, ttl-time.Millisecond),
		rules("B1", "S1", "S4", "S5", "S6", "S7", "C7", "W4", "E2"))
}

// By package api alone. Only what is said of keys is another way then.
func TestConformanceOwnClient(t *testing.T) {
	w := newWorld(t, single.Get(t))
	w.own = true
	drivertest.Conforms(t, w.harness("consul, a client of one's own", suiteTTL, 999*time.Millisecond),
		rules("B1", "C1", "C2", "C4", "C5", "C8", "L2", "L3", "L4", "O1", "W2", "W3", "W4", "W5", "U1", "U2", "U3", "U4", "E1", "E2", "E3", "F2"))
}

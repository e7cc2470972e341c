package zk

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/drivertest"
	"github.com/coordkit/coordkit/internal/testserver"
)

// The driver keeps every rule, on a single server and on an ensemble of three,
// and every rule is verified.

func TestConformance(t *testing.T) { conforms(t, "zk", single.Get(t)) }

func TestConformanceThreeMembers(t *testing.T) { conforms(t, "zk, 3 members", triple.Get(t)) }

func conforms(t *testing.T, name string, z *testserver.ZooKeeper) {
	s := newStand(t, name, z)
	// The servers count watches for all their clients.
	drivertest.Conforms(t, s.harness(), drivertest.CountsApart()...)
}

// stand is an ensemble with the means to put a driver to the test on it.
type stand struct {
	t     *testing.T
	name  string
	zk    *testserver.ZooKeeper
	admin *gozk.Conn

	mu   sync.Mutex
	taps map[string]*tap  // by namespace
	worn map[string]*worn // servers of their own, by namespace
}

func newStand(t *testing.T, name string, z *testserver.ZooKeeper) *stand {
	return &stand{t: t, name: name, zk: z, admin: newAdmin(t, endpoints(z)), taps: make(map[string]*tap), worn: make(map[string]*worn)}
}

func (s *stand) harness() conformance.Harness {
	return conformance.Harness{
		Name:         s.name,
		TTL:          4 * time.Second,
		Expiry:       8 * time.Second,
		Open:         s.open,
		OpenLink:     s.openLink,
		Hold:         func(l conformance.Link) func() { return l.(tappedLink).hold() },
		Expire:       s.expire,
		RemoveNode:   s.removeNode,
		RemoveDir:    s.removeDir,
		PlantForeign: s.plantForeign,
		NearWrap:     s.nearWrap,
		Compact:      conformance.NoHistory,
		Residue:      s.residue,
		BadTTL:       []time.Duration{time.Nanosecond, 399 * time.Millisecond, 41 * time.Second, 100 * 24 * time.Hour},
	}
}

func (s *stand) tap(namespace string) *tap {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taps[namespace] == nil {
		s.taps[namespace] = newTap()
	}
	return s.taps[namespace]
}

// store returns the servers of a namespace and an operator's client of them.
func (s *stand) store(namespace string) (*testserver.ZooKeeper, *gozk.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.worn[namespace]; w != nil {
		return w.zk, w.admin
	}
	return s.zk, s.admin
}

func (s *stand) open(ctx context.Context, namespace string) (driver.Conn, error) {
	z, _ := s.store(namespace)
	c := newConn(space("/"+namespace), peersOf(s.tap(namespace), endpoints(z)), gozk.WorldACL(gozk.PermAll), zap.NewNop())
	// The suite's third client counts among what was there before a part of a
	// check: have it connect now.
	if _, err := c.List(ctx, "nothing"); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// openLink puts two proxies before a single server, as before several there are
// several, so that a client can go round one that is frozen.
func (s *stand) openLink(_ context.Context, namespace string) (driver.Conn, conformance.Link, error) {
	z, _ := s.store(namespace)
	hosts := endpoints(z)
	if len(hosts) == 1 {
		hosts = append(hosts, hosts[0])
	}
	g, err := netfault.NewGroup(hosts...)
	if err != nil {
		return nil, nil, err
	}
	tap := newTap()
	tap.also = s.tap(namespace) // which expire asks
	c := newConn(space("/"+namespace), peersOf(tap, g.Addrs()), gozk.WorldACL(gozk.PermAll), zap.NewNop())
	return c, tappedLink{g, func() func() { return tap.hold("/" + namespace + "/") }}, nil
}

// tappedLink is a link that can also keep a single request from landing.
type tappedLink struct {
	*netfault.Group
	hold func() (release func())
}

func (s *stand) expire(ctx context.Context, namespace string, session driver.Session) error {
	id, err := strconv.ParseUint(session.ID(), 16, 64)
	if err != nil {
		return err
	}
	z, _ := s.store(namespace)
	return s.tap(namespace).expire(ctx, endpoints(z)[0], int64(id))
}

func (s *stand) removeNode(_ context.Context, namespace string, n driver.Node) error {
	_, admin := s.store(namespace)
	return admin.Delete(n.Key, -1)
}

func (s *stand) removeDir(_ context.Context, namespace, dir string) error {
	_, admin := s.store(namespace)
	return removeAll(admin, "/"+namespace+"/"+dir)
}

// removeAll removes a node with all that is below it in one step, in the order of
// creation, whatever comes in the meantime.
func removeAll(c *gozk.Conn, path string) error {
	for {
		ops, err := removals(c, path)
		if err != nil || len(ops) == 0 {
			return err
		}
		_, err = c.Multi(ops...)
		if !errors.Is(err, gozk.ErrNotEmpty) && !errors.Is(err, gozk.ErrNoNode) {
			return err
		}
	}
}

// removals are the deletions that remove a node with all that is below it.
func removals(c *gozk.Conn, path string) (ops []any, err error) {
	names, _, err := c.Children(path)
	if errors.Is(err, gozk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(b[strings.LastIndexByte(b, '-')+1:], a[strings.LastIndexByte(a, '-')+1:])
	})
	for _, n := range names {
		below, err := removals(c, path+"/"+n)
		if err != nil {
			return nil, err
		}
		ops = append(ops, below...)
	}
	return append(ops, &gozk.DeleteRequest{Path: path, Version: -1}), nil
}

// plantForeign also plants what looks like nodes, but belongs to no session.
func (s *stand) plantForeign(_ context.Context, namespace, dir string) error {
	_, admin := s.store(namespace)
	path := ""
	for _, part := range strings.Split(namespace+"/"+dir, "/") {
		path += "/" + part
		if _, err := admin.Create(path, nil, 0, gozk.WorldACL(gozk.PermAll)); err != nil && !errors.Is(err, gozk.ErrNodeExists) {
			return err
		}
	}
	for _, name := range []string{
		"readme", "0", "a", "a/b", "lock-0000000001", "0123456789abcdef-0", "0123456789abcdef-0-1-0000000001",
		"0123456789abcdef-0-1-", "0123456789abcdef-0-01-0000000001", "0123456789ABCDEF-0-1-0000000001", "-0-1-0000000001",
		"_c_x", "0123456789abcdef-0-2-2147483647", "0123456789abcdef-0-3--2147483648",
	} {
		if _, err := admin.Create(path+"/"+name, []byte("foreign"), 0, gozk.WorldACL(gozk.PermAll)); err != nil && !errors.Is(err, gozk.ErrNodeExists) {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

var watchesOfAll = regexp.MustCompile(`(?m)^zk_watch_count\t(\d+)$`)

// watchCount is how many watches the servers have. The commands that tell whose
// they are (wchs, wchc, wchp) leave out those of children.
func watchCount(ctx context.Context, z *testserver.ZooKeeper) (sum int, err error) {
	for _, m := range z.Members {
		text, err := m.FourLetter(ctx, "mntr")
		if err != nil {
			return 0, err
		}
		found := watchesOfAll.FindStringSubmatch(text)
		if found == nil {
			return 0, fmt.Errorf("no watches in %q", text)
		}
		n, err := strconv.Atoi(found[1])
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

var sessionNumber = regexp.MustCompile(`0x([0-9a-f]+)`)

// residue counts in the servers' own words.
func (s *stand) residue(ctx context.Context, namespace string) (r conformance.Residue, err error) {
	z, admin := s.store(namespace)
	keys, err := leaves(admin, "/"+namespace)
	if err != nil {
		return r, err
	}
	dirs, _, err := admin.Children("/" + namespace)
	if err != nil && !errors.Is(err, gozk.ErrNoNode) {
		return r, err
	}
	r.Keys, r.Dirs = len(keys), len(dirs)
	if r.Watches, err = watchCount(ctx, z); err != nil {
		return r, err
	}
	living := make(map[int64]bool)
	tap := s.tap(namespace)
	for _, m := range z.Members {
		sessions, err := m.FourLetter(ctx, "dump")
		if err != nil {
			return r, err
		}
		for _, found := range sessionNumber.FindAllStringSubmatch(sessions, -1) {
			id, err := strconv.ParseUint(found[1], 16, 64)
			if err != nil {
				return r, err
			}
			living[int64(id)] = true
		}
		conns, err := m.FourLetter(ctx, "cons")
		if err != nil {
			return r, err
		}
		tap.mu.Lock()
		for local := range tap.locals {
			r.Conns += strings.Count(conns, "/"+local+"[")
		}
		tap.mu.Unlock()
	}
	tap.mu.Lock()
	defer tap.mu.Unlock()
	for id := range tap.passwords {
		if living[id] {
			r.Sessions++
		}
	}
	return r, nil
}

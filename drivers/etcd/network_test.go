package etcd

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/dial"
	"github.com/coordkit/coordkit/internal/testserver"
)

// balancer passes connections on. Those that are there can be made mute: it takes the bytes
// and passes none on.
type balancer struct {
	listener net.Listener

	mu     sync.Mutex
	target string
	conns  map[net.Conn]bool // whether it is mute
	total  int
}

func newBalancer(t *testing.T, addr, target string) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	must(t, err)
	b := &balancer{listener: l, target: target, conns: make(map[net.Conn]bool)}
	go b.serve()
	t.Cleanup(func() { _ = l.Close(); b.drop() })
	return b
}

func (b *balancer) addr() string { return b.listener.Addr().String() }

func (b *balancer) serve() {
	for {
		from, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		b.total++
		to, err := net.Dial("tcp", b.target)
		if err != nil {
			_ = from.Close()
			b.mu.Unlock()
			continue
		}
		b.conns[from], b.conns[to] = false, false
		b.mu.Unlock()
		go b.pass(from, to)
		go b.pass(to, from)
	}
}

func (b *balancer) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		b.mu.Lock()
		mute := b.conns[from]
		b.mu.Unlock()
		if mute {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (b *balancer) mute() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.conns {
		b.conns[c] = true
	}
}

func (b *balancer) drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.conns {
		_ = c.Close()
	}
	clear(b.conns)
}

// moveTo sends new connections to another server, and ends those that are there.
func (b *balancer) moveTo(target string) {
	b.mu.Lock()
	b.target = target
	b.mu.Unlock()
	b.drop()
}

// S3, W5: connections take requests and answer none, while new ones work.
func TestMuteConnections(t *testing.T) {
	for _, hosts := range []int{1, 3} {
		for _, ttl := range []time.Duration{2 * time.Second, 15 * time.Second} {
			t.Run(fmt.Sprintf("%d hosts, %v", hosts, ttl), func(t *testing.T) {
				t.Parallel()
				target := targetOf(t, single.Get(t))
				var balancers []*balancer
				server := target.Hosts[0]
				target.Hosts = nil
				for range hosts {
					b := newBalancer(t, "127.0.0.1:0", server)
					balancers = append(balancers, b)
					target.Hosts = append(target.Hosts, b.addr())
				}
				f := startOn(t, single.Get(t), target)
				s := f.open(ttl)
				n := f.create(s, "d", "0")
				wait := waiting(within(t), s, n)
				f.eventuallyOpen("d", 1)
				for range 2 {
					for _, b := range balancers {
						b.mute()
					}
					f.eventuallyRenewed(s, 1)
					must(t, s.Err())
				}
				eventually(t, "the node is deleted", func() bool { return s.Delete(within(t), n) == nil })
				must(t, receive(t, "the wait", wait))
			})
		}
	}
}

// dropping is a listener that accepts nothing and has no room: packets to it are dropped.
func dropping(t *testing.T, addr string) {
	t.Helper()
	ap := netip.MustParseAddrPort(addr)
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	must(t, syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(ap.Port()), Addr: ap.Addr().As4()}))
	must(t, syscall.Listen(fd, 0))
	for {
		c, err := net.DialTimeout("tcp", addr, 200*time.Millisecond)
		if err != nil {
			return
		}
		t.Cleanup(func() { _ = c.Close() })
	}
}

// A name has several addresses, of which only one works.
func TestAddressesOfAName(t *testing.T) {
	target := targetOf(t, single.Get(t))
	for i, kind := range []string{"mute", "closing", "dropping"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			works := newBalancer(t, fmt.Sprintf("127.0.%d.3:0", i+1), target.Hosts[0])
			_, port, _ := net.SplitHostPort(works.addr())
			ill := fmt.Sprintf("127.0.%d.2", i+1)
			switch kind {
			case "dropping":
				dropping(t, net.JoinHostPort(ill, port))
			default:
				l, err := net.Listen("tcp", net.JoinHostPort(ill, port))
				must(t, err)
				t.Cleanup(func() { _ = l.Close() })
				if kind == "closing" {
					go func() {
						for {
							c, err := l.Accept()
							if err != nil {
								return
							}
							_ = c.Close()
						}
					}()
				}
			}
			var looks atomic.Int32
			network := dial.TCP()
			network.Lookup = func(context.Context, string) ([]string, error) {
				looks.Add(1)
				return []string{ill, fmt.Sprintf("127.0.%d.3", i+1)}, nil
			}
			headless := target
			headless.Hosts = []string{"etcd.test:" + port}
			for range 4 { // the first address is any
				c, err := openWith(within(t), headless, network)
				must(t, err)
				eventually(t, "a session", func() bool {
					_, err := c.OpenSession(within(t), 4*time.Second)
					return err == nil
				})
				must(t, c.Close())
			}
			if n := looks.Load(); n < 4 {
				t.Errorf("the name was looked up %d times", n)
			}
		})
	}
}

// The environment names a proxy, in a process of its own, as it is read once.
func TestProxyOfTheEnvironment(t *testing.T) {
	if host := os.Getenv("COORDKIT_TEST_HOST"); host != "" {
		network := dial.TCP()
		network.Lookup = func(context.Context, string) ([]string, error) { return []string{"127.0.0.1"}, nil }
		c, err := openWith(within(t), driver.Target{Hosts: []string{host}, Namespace: "test", Logger: targetLogger(t)}, network)
		must(t, err)
		_, err = c.List(within(t), "d")
		must(t, err)
		must(t, c.Close())
		return
	}
	server := targetOf(t, single.Get(t)).Hosts[0]
	_, port, _ := net.SplitHostPort(server)
	proxy := newBalancer(t, "127.0.0.1:0", server)
	cmd := exec.CommandContext(within(t), os.Args[0], "-test.run=^TestProxyOfTheEnvironment$")
	cmd.Env = append(os.Environ(), "COORDKIT_TEST_HOST=etcd.test:"+port, "HTTPS_PROXY=http://"+proxy.addr(), "HTTP_PROXY=http://"+proxy.addr())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if proxy.total > 0 {
		t.Errorf("%d connections to the proxy", proxy.total)
	}
}

// What another server than etcd answers is an error that does not pass.
func TestAnotherServer(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	other := grpc.NewServer()
	go func() { _ = other.Serve(l) }() // which Stop ends
	defer other.Stop()
	for _, host := range []string{strings.TrimPrefix(plain.URL, "http://"), l.Addr().String()} {
		c, err := open(within(t), driver.Target{Hosts: []string{host}, Namespace: "test", Logger: targetLogger(t)})
		must(t, err)
		_, err = c.OpenSession(within(t), time.Minute)
		wantIs(t, err, driver.ErrInvalid)
		_, err = c.List(within(t), "d")
		wantIs(t, err, driver.ErrInvalid)
		for _, err := range c.(driver.Watcher).Watch(within(t), "d") {
			wantIs(t, err, driver.ErrInvalid)
		}
		must(t, c.Close())
	}
}

// The quota is used up. A server says so also of a change that it has just made.
func TestQuotaUsedUp(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	kept := f.create(s, "d", "0")
	for _, made := range []bool{false, true} {
		f.tap.intercept(func(c call) error {
			if c.method != "Txn" || !writes(c.req) {
				return c.pass(c.ctx)
			}
			if made {
				_ = c.pass(c.ctx)
			}
			return rpctypes.ErrGRPCNoSpace
		})
		n, err := s.Create(within(t), "d", "1", nil)
		if made {
			must(t, err)
		} else {
			wantIs(t, err, driver.ErrDenied)
		}
		_, err = s.Update(within(t), kept, nil)
		wantIs(t, err, driver.ErrDenied, driver.ErrUncertain)
		if driver.Transient(err) {
			t.Errorf("%v asks for another try", err)
		}
		f.tap.intercept(nil)
		if made {
			must(t, s.Delete(within(t), n))
		}
	}
	must(t, s.Abandon(within(t), "d", "1"))
	must(t, s.Delete(within(t), kept))
}

// V3: the store comes back empty, as one whose volume does not last.
func TestStoreSetBackUnderAWatch(t *testing.T) {
	t.Parallel()
	target := targetOf(t, single.Get(t))
	b := newBalancer(t, "127.0.0.1:0", target.Hosts[0])
	target.Hosts = []string{b.addr()}
	f := startOn(t, single.Get(t), target)
	s := f.open(4 * time.Second)
	n := f.create(s, "d", "0")
	wait := waiting(within(t), s, n)
	f.eventuallyOpen("d", 1)
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	states := make(chan []driver.Node)
	done := make(chan error, 1)
	go func() {
		for nodes, err := range f.Watch(ctx, "d") {
			if err != nil {
				done <- err
				return
			}
			states <- nodes
		}
	}()
	show := func(want int) {
		t.Helper()
		for len(receive(t, "a state", states)) != want {
			continue
		}
	}
	show(1)
	fresh := testserver.StartEtcd(t, testserver.EtcdOptions{})
	b.moveTo(targetOf(t, fresh).Hosts[0])
	show(0)
	if err := receive(t, "the wait", wait); err != nil {
		wantIs(t, err, driver.ErrSessionLost)
	}
	receive(t, "the session's end", s.Done())
	wantIs(t, s.Err(), driver.ErrSessionLost)
	again := f.open(4 * time.Second)
	m := f.create(again, "d", "0")
	show(1)
	must(t, again.Delete(within(t), m))
	show(0)
	cancel()
	wantIs(t, receive(t, "the end", done), context.Canceled)
	_, err := f.admin.Revoke(within(t), s.lease)
	must(t, err)
}

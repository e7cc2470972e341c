package zk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
)

// muting is a network whose connections can go mute, as behind a balancer that takes the
// bytes and delivers none. New connections work.
type muting struct {
	mu    sync.Mutex
	conns []*muted
}

type muted struct {
	net.Conn
	mute atomic.Bool
}

func (c *muted) Write(b []byte) (int, error) {
	if c.mute.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *muted) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.mute.Load() {
			return n, err
		}
	}
}

func (m *muting) over(f *fixture) {
	dial := f.conn.peers.network.Dial
	f.conn.peers.network.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := dial(ctx, addr)
		if err != nil {
			return nil, err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.conns = append(m.conns, &muted{Conn: c})
		return m.conns[len(m.conns)-1], nil
	}
}

func (m *muting) mute() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.conns {
		c.mute.Store(true)
	}
}

// All connections to all hosts go mute at once, again and again: a session lives on, and so
// do its waits and the watches of the connection.
func TestMuteConnections(t *testing.T) {
	f := startOn(t, triple.Get(t), nil)
	owner := f.peer()
	o := owner.open(long)
	n := owner.create(o, "d", "0")
	var m muting
	m.over(f)
	w := f.watch(within(t), "d") // by the link for observers, as there is no session yet
	w.wantNext("0")
	s := f.open(4 * time.Second)
	wait := waiting(within(t), s, n)
	f.eventuallyArmed(s, n)
	for range 3 {
		before := s.link.current()
		m.mute()
		eventually(t, "another connection", func() bool { return s.link.current() != before && isUp(s.link) })
		f.eventuallyRenewed(s)
	}
	_, err := o.Update(within(t), n, []byte("1"))
	must(t, err)
	w.until("1")
	pendingStill(t, wait)
	must(t, o.Delete(within(t), n))
	must(t, receive(t, "the wait", wait))
	must(t, s.Err())
}

// A name has several addresses, of which three are dead, each in its way, and the living one
// is known to the resolver only after a while.
func TestNameWithSeveralAddresses(t *testing.T) {
	f := start(t)
	_, port, err := net.SplitHostPort(endpoints(f.zk)[0])
	must(t, err)
	for addr, serve := range map[string]func(net.Conn){"127.0.0.2": func(net.Conn) {}, "127.0.0.3": func(c net.Conn) { _ = c.Close() }} {
		l, err := net.Listen("tcp", net.JoinHostPort(addr, port))
		must(t, err)
		t.Cleanup(func() { must(t, l.Close()) })
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				serve(c)
			}
		}()
	}
	var lookups atomic.Int64
	dial := f.conn.peers.network.Dial
	f.conn.peers.hosts = []string{"store:" + port}
	f.conn.peers.network.Lookup = func(context.Context, string) ([]string, error) {
		if lookups.Add(1) == 1 {
			return []string{"127.0.0.2", "127.0.0.3"}, nil
		}
		return []string{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.1"}, nil
	}
	f.conn.peers.network.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		if strings.HasPrefix(addr, "127.0.0.4:") { // drops packets
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return dial(ctx, addr)
	}
	var s driver.Session
	must(t, again(func() (err error) { s, err = f.OpenSession(within(t), long); return err }))
	for i := range 5 {
		must(t, again(func() error { _, err := s.Create(within(t), "d", fmt.Sprint(i), nil); return err }))
		s.(*session).link.current().drop()
	}
	must(t, again(func() error { _, err := f.List(within(t), "d"); return err }))
	must(t, s.Err())
}

// What answers is something else than ZooKeeper: no call is tried for ever. Beside a
// ZooKeeper it does not count.
func TestWrongServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		}
	}()
	target := targetOf(t, single.Get(t))
	living := target.Hosts
	target.Hosts = []string{l.Addr().String()}
	c, err := opener(t).Open(within(t), target)
	must(t, err)
	_, opened := c.OpenSession(within(t), long)
	_, listed := c.List(within(t), "d")
	var watched error
	for _, watched = range c.(driver.Watcher).Watch(within(t), "d") {
	}
	for what, err := range map[string]error{"OpenSession": opened, "List": listed, "Watch": watched} {
		wantIs(t, err, driver.ErrInvalid)
		if !strings.Contains(err.Error(), l.Addr().String()) || !strings.Contains(err.Error(), "does not answer as ZooKeeper does") {
			t.Errorf("%s: %v", what, err)
		}
	}
	must(t, c.Close())
	target.Hosts = append(living, target.Hosts...)
	for range 3 { // the order is random
		use(t, target)
	}
}

// An exceeded quota is no reason to try again.
func TestQuota(t *testing.T) {
	z := testserver.StartZooKeeper(t, testserver.ZooKeeperOptions{ExtraConfig: map[string]string{"enforceQuota": "true"}})
	f := startOn(t, z, nil)
	s := f.open(long)
	n := f.create(s, "d", "0")
	path := ""
	for _, part := range strings.Split("zookeeper/quota"+string(f.space), "/") {
		path += "/" + part
		if _, err := f.admin.Create(path, nil, 0, f.acl); err != nil && !errors.Is(err, gozk.ErrNodeExists) {
			t.Fatal(err)
		}
	}
	for name, data := range map[string]string{"zookeeper_limits": "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=1", "zookeeper_stats": "count=9,bytes=9"} {
		_, err := f.admin.Create(path+"/"+name, []byte(data), 0, f.acl)
		must(t, err)
	}
	_, err := s.Create(within(t), "d", "1", nil)
	wantIs(t, err, driver.ErrDenied)
	if !strings.Contains(err.Error(), "quota") {
		t.Errorf("%v; want a word of the quota", err)
	}
	must(t, s.Delete(within(t), n))
	for _, name := range []string{"zookeeper_limits", "zookeeper_stats"} {
		must(t, f.admin.Delete(path+"/"+name, -1))
	}
}

// The store comes back from a backup, as another store: a watch and a list show what it has
// then, and nothing that is gone.
func TestStoreThatWasSetBack(t *testing.T) {
	for name, withSession := range map[string]bool{"by the link for observers": false, "by a session's link": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z := single.Get(t)
			backup := testserver.StartZooKeeper(t, testserver.ZooKeeperOptions{ExtraConfig: unlimited})
			g, err := netfault.NewGroup(endpoints(z)[0])
			must(t, err)
			t.Cleanup(func() { must(t, g.Close()) })
			f := startOn(t, z, g.Addrs())
			owner := f.peerOn(endpoints(z))
			o := owner.open(long)
			for i := range 20 { // so that the backup is behind
				owner.create(o, "d", fmt.Sprint(i))
			}
			then := startOn(t, backup, nil)
			then.conn.space = f.space
			then.create(then.open(long), "d", "restored")
			if withSession {
				f.open(4 * time.Second)
			}
			w := f.watch(within(t), "d")
			w.next()
			must(t, g.Proxy(0).SetTarget(endpoints(backup)[0]))
			g.Cut()
			must(t, g.Heal())
			w.until("restored")
			var nodes []driver.Node
			must(t, again(func() (err error) { nodes, err = f.List(within(t), "d"); return err }))
			if got := (show{nodes, nil}).text(); got != "[restored]" {
				t.Errorf("listed %s", got)
			}
		})
	}
}

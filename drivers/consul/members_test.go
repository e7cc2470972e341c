package consul

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
)

// overProxies connects to the first server of the shared one by several ways,
// each of which can be broken.
func overProxies(t *testing.T, ways int) (*fixture, *netfault.Group) {
	t.Helper()
	consul := single.Get(t)
	targets := make([]string, ways)
	for i := range targets {
		targets[i] = strings.TrimPrefix(consul.Member(0).Endpoint(), "http://")
	}
	group, err := netfault.NewGroup(targets...)
	must(t, err)
	t.Cleanup(func() { must(t, group.Close()) })
	f := &fixture{t: t, admin: newAdmin(t, consul.Member(0).Endpoint(), "")}
	f.conn, err = openOn(within(t), driver.Target{Hosts: group.Addrs(), Namespace: namespace(t), Logger: zaptest.NewLogger(t)})
	must(t, err)
	t.Cleanup(func() {
		must(t, f.conn.Close())
		f.wantEmpty()
	})
	return f, group
}

// An agent that is down is left at once.
func TestAgentThatIsDownIsLeft(t *testing.T) {
	t.Parallel()
	f, group := overProxies(t, 3)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	group.Proxy(0).Cut()
	group.Proxy(1).Cut()
	eventually(t, "the third is asked", func() bool {
		_, err := s.List(within(t), "d")
		if err != nil && !driver.Transient(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	f.wantListed(s, n)
}

// A server that cannot be reached is one that nothing was sent to.
func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	f, group := overProxies(t, 1)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	group.Cut()
	eventually(t, "the client knows", func() bool {
		_, err := s.List(within(t), "d")
		return err != nil && strings.Contains(err.Error(), "connection refused")
	})
	for name, do := range everyCall() {
		if name == "WaitDelete" || name == "Watch" {
			continue // heal themselves
		}
		err := do(within(t), f.conn, s, n)
		if !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "http://") {
			t.Errorf("%s: the error is %v; want ErrUnavailable with the reason", name, err)
		}
	}
	wait := waiting(within(t), s, n)
	f.remove(n.Key)
	must(t, group.Heal())
	must(t, receive(t, "the wait", wait))
}

// The leader of three servers is killed and comes back: sessions, nodes and
// waits live on, and tokens rise.
func TestLeaderIsKilled(t *testing.T) {
	t.Parallel()
	consul := testserver.StartConsul(t, testserver.ConsulOptions{Members: 3})
	leader, err := consul.Leader(within(t))
	must(t, err)
	target := targetOf(t, consul)
	target.Hosts[0], target.Hosts[leader] = target.Hosts[leader], target.Hosts[0] // the one that is asked
	target.Logger = zaptest.NewLogger(t)
	f := &fixture{t: t, admin: newAdmin(t, consul.Member((leader+1)%3).Endpoint(), "")}
	f.conn, err = openOn(within(t), target)
	must(t, err)
	s := f.open(10 * time.Second)
	n, m := f.create(s, "d", "0"), f.create(s, "d", "1")
	wait := waiting(within(t), s, n)
	must(t, consul.Member(leader).Kill())
	var later driver.Node
	eventually(t, "there is a new leader", func() bool {
		later, err = s.Create(within(t), "d", "2", nil)
		if err != nil && !driver.Transient(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	if later.Token <= m.Token {
		t.Errorf("token %d after %d", later.Token, m.Token)
	}
	must(t, s.Err())
	pendingStill(t, wait)
	must(t, consul.Member(leader).Restart())
	must(t, consul.WaitHealthy(within(t)))
	f.remove(n.Key)
	must(t, receive(t, "the wait", wait))
	outlives(t, s)
	nodes, err := f.List(within(t), "d")
	must(t, err)
	if len(nodes) != 2 || !nodes[0].Same(m) || !nodes[1].Same(later) {
		t.Errorf("listed %+v", nodes)
	}
	must(t, f.conn.Close())
	f.wantEmpty()
}

// outlives fails if a session ends within its TTL.
func outlives(t *testing.T, s driver.Session) {
	t.Helper()
	select {
	case <-s.Done():
		t.Fatalf("the session has ended: %v", s.Err())
	case <-time.After(s.TTL()): // which no renewal from before lasts for
	}
}

// An agent that falls silent is left for another one.
func TestSilentAgentIsLeft(t *testing.T) {
	t.Parallel()
	f, group := overProxies(t, 2)
	s := f.open(5 * time.Second)
	nodes := f.fill(s, "d", 10)
	for round := range 2 { // the second one turns back
		n := nodes[round]
		wait := waiting(within(t), s, n)
		group.Proxy(round).Freeze(netfault.Both)
		f.remove(n.Key)
		outlives(t, s)
		must(t, receive(t, "the wait", wait))
		eventually(t, "created", func() bool { _, err := s.Create(within(t), "e", fmt.Sprint(round), nil); return err == nil })
		must(t, group.Proxy(round).Heal())
	}
}

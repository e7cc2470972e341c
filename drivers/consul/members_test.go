package consul

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
)

// overProxies connects to the first server of the shared one by several ways,
// each of which can be broken.
func overProxies(t *testing.T, ways int, timing timing) (*fixture, *netfault.Group) {
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
	f.conn, err = openWith(within(t), driver.Target{Hosts: group.Addrs(), Namespace: namespace(t), Logger: zaptest.NewLogger(t)}, timing)
	must(t, err)
	t.Cleanup(func() {
		must(t, f.conn.Close())
		f.wantEmpty()
	})
	return f, group
}

// An agent that falls silent is left for another one, by calls, renewals and
// waits, well before any of them is given up.
func TestSilentAgentIsLeft(t *testing.T) {
	t.Parallel()
	timing := defaultTiming
	timing.watch.wait = time.Hour // so that queries are given up for no other reason
	f, group := overProxies(t, 2, timing)
	s := f.open(5 * time.Second)
	nodes := f.fill(s, "d", 10)
	for round := range 2 { // the second one turns back
		n := nodes[round]
		wait := waiting(within(t), s, n)
		eventually(t, "it is watched", func() bool {
			f.watches.mu.Lock()
			defer f.watches.mu.Unlock()
			return f.watches.eyes > 0
		})
		group.Proxy(round).Freeze(netfault.Both)
		before := s.lease.Deadline()
		f.remove(n.Key)
		must(t, receive(t, "the wait", wait))
		eventually(t, "renewals go on", func() bool { return s.lease.Deadline().Sub(before) > s.ttl })
		must(t, s.Err())
		nodes = append(nodes, f.create(s, "e", string(rune('a'+round))))
		must(t, group.Proxy(round).Heal())
	}
}

// An agent that is down is left at once.
func TestAgentThatIsDownIsLeft(t *testing.T) {
	t.Parallel()
	f, group := overProxies(t, 3, defaultTiming)
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

// An attempt that gets no answer is given up while its ctx still lives, and
// what was sent is never said to have had no effect.
func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	timing := defaultTiming
	timing.attempt = time.Second
	f, group := overProxies(t, 1, timing)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	kinds := map[string]error{
		"OpenSession": driver.ErrUncertain,
		"Conn.List":   driver.ErrUnavailable,
		"Create":      driver.ErrUncertain,
		"CreateList":  driver.ErrUncertain,
		"Abandon":     driver.ErrUncertain,
		"List":        driver.ErrUnavailable,
		"Update":      driver.ErrUncertain,
		"Delete":      driver.ErrUncertain,
	}
	// More connections than there are idle ones, so that none has to be dialed
	// while nothing is answered.
	var warm sync.WaitGroup
	for range 4 * len(kinds) {
		warm.Go(func() { _, _ = f.List(within(t), "d") })
	}
	warm.Wait()
	group.Freeze(netfault.Both)
	var wg sync.WaitGroup
	for name, kind := range kinds {
		wg.Go(func() {
			err := everyCall[name](within(t), f.conn, s, n)
			if !errors.Is(err, kind) || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "within 1s") {
				t.Errorf("%s: the error is %v; want one that is %q", name, err, kind)
			}
		})
	}
	wg.Wait()
	must(t, group.Heal())
	// All of it arrives now. What the caller does about it works.
	for _, id := range []string{"1", "2"} {
		eventually(t, "abandoned", func() bool { return s.Abandon(within(t), "d", id) == nil })
	}
	eventually(t, "deleted", func() bool { return s.Delete(within(t), n) == nil })
	f.wantKeys("d", 0)
}

// A server that cannot be reached is one that nothing was sent to.
func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	f, group := overProxies(t, 1, defaultTiming)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	group.Cut()
	eventually(t, "the client knows", func() bool {
		_, err := s.List(within(t), "d")
		return err != nil && strings.Contains(err.Error(), "connection refused")
	})
	for name, do := range everyCall {
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

// Everything waits for an agent that is frozen, and nothing for longer than its
// ctx lives.
func TestContextsBoundCalls(t *testing.T) {
	t.Parallel()
	f, group := overProxies(t, 1, defaultTiming)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	group.Freeze(netfault.Both)
	// The calls that nobody waits for any more leave room for others.
	for range 3 * maxCalls {
		ctx, cancel := context.WithTimeout(within(t), 5*time.Millisecond)
		_, err := s.List(ctx, "d")
		wantIs(t, err, context.DeadlineExceeded)
		cancel()
	}
	// And those that wait for room are bounded as well.
	var stuck sync.WaitGroup
	ctx, cancel := context.WithCancel(within(t))
	for range 2 * maxCalls {
		stuck.Go(func() {
			if _, err := s.List(ctx, "d"); !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	eventually(t, "there is no room", func() bool { return len(f.room) == maxCalls })
	short, end := context.WithTimeout(within(t), 20*time.Millisecond)
	defer end()
	_, err := s.Create(short, "d", "1", nil)
	wantIs(t, err, driver.ErrUnavailable, context.DeadlineExceeded)
	cancel()
	stuck.Wait()
	must(t, group.Heal())
	must(t, s.Delete(within(t), n))
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
	f.conn, err = openWith(within(t), target, defaultTiming)
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
	before := s.lease.Deadline()
	eventually(t, "renewals go on", func() bool { return s.lease.Deadline().Sub(before) > s.ttl/2 })
	nodes, err := f.List(within(t), "d")
	must(t, err)
	if len(nodes) != 2 || !nodes[0].Same(m) || !nodes[1].Same(later) {
		t.Errorf("listed %+v", nodes)
	}
	must(t, f.conn.Close())
	f.wantEmpty()
}

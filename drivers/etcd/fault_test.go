package etcd

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/drivertest"
)

// throughProxy connects to the shared server over a link that a test can break.
func throughProxy(t *testing.T) (*fixture, *netfault.Proxy) {
	t.Helper()
	etcd := single.Get(t)
	target := targetOf(t, etcd)
	proxy, err := netfault.New(target.Hosts[0])
	must(t, err)
	t.Cleanup(func() { must(t, proxy.Close()) })
	target.Hosts = []string{proxy.Addr()}
	return startOn(t, etcd, target), proxy
}

// B1, E1: the server is frozen and stays so until every call has returned.
func TestFrozenServer(t *testing.T) {
	member := single.Get(t).Member(0)
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	must(t, member.Freeze())
	defer func() { must(t, member.Thaw()) }()
	for name, do := range drivertest.Calls() {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(within(t), 50*time.Millisecond)
			defer cancel()
			wantIs(t, do(ctx, f.conn, s, n), context.DeadlineExceeded)

			ctx, cancel = context.WithCancel(within(t))
			done := make(chan error, 1)
			go func() { done <- do(ctx, f.conn, s, n) }()
			cancel()
			wantIs(t, receive(t, "the end of the call", done), context.Canceled)
		})
	}
	ctx, cancel := context.WithTimeout(within(t), 50*time.Millisecond)
	defer cancel()
	wantIs(t, s.Close(ctx), context.DeadlineExceeded)
	must(t, f.conn.Close())
	must(t, member.Thaw()) // what was on its way arrives now, and wantEmpty sees that it leaves nothing
	eventually(t, "the lease is gone", func() bool {
		_, err := f.admin.Revoke(within(t), s.lease) // or else in a minute
		return err != nil || !f.hasLease(int64(s.lease))
	})
}

// An attempt that gets no answer is given up while its ctx still lives, and
// what was sent is never said to have had no effect.
func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	f, proxy := throughProxy(t)
	s := f.open(15 * time.Second)
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
	proxy.Freeze(netfault.Both)
	var wg sync.WaitGroup
	for name, kind := range kinds {
		wg.Go(func() {
			err := drivertest.Calls()[name](within(t), f.conn, s, n)
			if !errors.Is(err, kind) || !strings.Contains(err.Error(), "no answer within") || strings.Contains(err.Error(), "rpc error") {
				t.Errorf("%s: the error is %v; want one that is %q", name, err, kind)
			}
		})
	}
	wg.Wait()
	must(t, proxy.Heal())
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
	f, proxy := throughProxy(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	proxy.Cut()
	eventually(t, "the client knows", func() bool {
		_, err := s.List(within(t), "d")
		return err != nil && strings.Contains(err.Error(), "connection refused")
	})
	var wg sync.WaitGroup
	for name, do := range drivertest.Calls() {
		if name == "WaitDelete" {
			continue // heals itself
		}
		wg.Go(func() {
			err := do(within(t), f.conn, s, n)
			if !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("%s: the error is %v; want ErrUnavailable with the reason", name, err)
			}
			ctx, cancel := context.WithTimeout(within(t), 20*time.Millisecond)
			defer cancel()
			err = do(ctx, f.conn, s, n)
			if !errors.Is(err, driver.ErrUnavailable) {
				t.Errorf("%s: the error is %v; want ErrUnavailable", name, err)
			}
		})
	}
	wg.Wait()
	must(t, proxy.Heal())
	f.wantKeys("d", 1)
	eventually(t, "the client is back", func() bool {
		_, err := s.List(within(t), "d")
		return err == nil
	})
	must(t, s.Err())
}

func TestEndedContextSendsNothing(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	for name, do := range drivertest.Calls() {
		wantSent(t, name, f.tap.during(func() {
			wantIs(t, do(ctx, f.conn, s, n), context.Canceled)
		}), sent{})
	}
}

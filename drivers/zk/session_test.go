package zk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// The bounds are 400 ms and 40 s.
func TestTTL(t *testing.T) {
	f := start(t)
	for _, ttl := range []time.Duration{400 * time.Millisecond, time.Second, 1234 * time.Millisecond, 40 * time.Second} {
		s := f.open(ttl)
		if got := s.TTL(); got != ttl {
			t.Errorf("%v were asked for and %v granted", ttl, got)
		}
		if err := s.Close(within(t)); ttl >= time.Second || !errors.Is(err, driver.ErrUncertain) {
			must(t, err) // in less time a server may not come to write it down
		}
	}
	for _, ttl := range []time.Duration{-1, 0, 1, 4000500 * time.Microsecond, 399 * time.Millisecond, 40001 * time.Millisecond, maxTTL, maxTTL + 1} {
		_, err := f.OpenSession(within(t), ttl)
		wantIs(t, err, driver.ErrInvalid)
		t.Log(err)
	}
}

func (f *fixture) expire(s *session) {
	f.t.Helper()
	must(f.t, f.tap.expire(within(f.t), f.zk.Member(0).Endpoint(), numberOf(s)))
}

// The library would open another session and send under that what waits to be
// sent.
func TestNoOtherSession(t *testing.T) {
	f := start(t)
	s := f.open(5 * time.Second)
	f.create(s, "d", "bystander")
	stop, all := make(chan struct{}), within(t)
	var creating sync.WaitGroup
	for i := range 8 {
		creating.Go(func() {
			for {
				if _, err := s.Create(all, "d", fmt.Sprint(i), nil); err != nil && s.Err() != nil {
					wantOver(t, err)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	f.expire(s)
	receive(t, "Done", s.Done())
	wantIs(t, s.Err(), driver.ErrSessionLost)
	eventually(t, "no node", func() bool { return len(f.names("d")) == 0 })
	close(stop)
	creating.Wait()
	f.tap.mu.Lock()
	sessions := len(f.tap.passwords)
	f.tap.mu.Unlock()
	if sessions != 1 {
		t.Errorf("%d sessions were opened", sessions)
	}
	f.wantNames("d", 0)
	must(t, s.Close(within(t))) // there is nothing to tell
}

func wantOver(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, driver.ErrSessionLost) && !errors.Is(err, driver.ErrClosed) {
		t.Errorf("got %v; want the session's end", err)
	}
}

// linked is a fixture behind a link that can be broken.
func linked(t *testing.T) (*fixture, *netfault.Group) {
	t.Helper()
	z := single.Get(t)
	g, err := netfault.NewGroup(endpoints(z)[0], endpoints(z)[0])
	must(t, err)
	t.Cleanup(func() { must(t, g.Close()) })
	return startOn(t, z, g.Addrs()), g
}

// One of two ways freezes: the session goes on by the other, and in time.
func TestSilentServerIsLeft(t *testing.T) {
	f, g := linked(t)
	s := f.open(10 * time.Second)
	n := f.create(s, "d", "0")
	wait := waiting(within(t), s, n)
	f.eventuallyArmed(s, n)
	first := s.link.current()
	for i := range g.Addrs() {
		if p := g.Proxy(i); p.Stats().Open > 0 {
			p.Freeze(netfault.Both)
		}
	}
	eventually(t, "another way", func() bool { return s.link.current() != first && isUp(s.link) })
	f.eventuallyRenewed(s)
	must(t, s.Err())
	pendingStill(t, wait)
	must(t, f.admin.Delete(n.Key, -1))
	must(t, receive(t, "the wait, whose watch is set again", wait))
	must(t, g.Heal())
}

// A session that was lost is not kept alive by pings, and can still be told.
func TestLostSessionIsLeftToExpire(t *testing.T) {
	for _, farewell := range []bool{true, false} {
		t.Run(fmt.Sprintf("farewell %v", farewell), func(t *testing.T) {
			f, g := linked(t)
			s := f.open(2 * time.Second)
			f.create(s, "d", "0")
			g.Freeze(netfault.Both)
			receive(t, "Done", s.Done())
			wantIs(t, s.Err(), driver.ErrSessionLost)
			must(t, g.Heal())
			if farewell {
				must(t, s.Close(within(t)))
				f.wantNames("d", 0)
			}
			eventually(t, "no node", func() bool { return len(f.names("d")) == 0 })
		})
	}
}

func TestCloseOverABrokenLink(t *testing.T) {
	for name, fault := range map[string]func(*netfault.Group){
		"frozen": func(g *netfault.Group) { g.Freeze(netfault.Both) },
		"cut":    func(g *netfault.Group) { g.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			f, g := linked(t)
			s := f.open(4 * time.Second)
			f.create(s, "d", "0")
			fault(g)
			ctx, cancel := context.WithTimeout(within(t), 100*time.Millisecond)
			defer cancel()
			err := s.Close(ctx)
			wantIs(t, err, driver.ErrUncertain, context.DeadlineExceeded)
			wantIs(t, s.Err(), driver.ErrClosed)
			must(t, g.Heal())
			must(t, s.Close(within(t))) // it goes on in the background
			f.wantNames("d", 0)
		})
	}
}

// The session is lost for its owner, and the store does not know of it. Close ends
// it there.
func TestCloseOfWhatTheStoreHasStill(t *testing.T) {
	for name, lose := range map[string]func(s *session){
		"taken back with another timeout": func(s *session) {
			s.link.mu.Lock()
			s.link.granted *= 2 // it was another when the session was opened
			s.link.mu.Unlock()
			s.link.current().drop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			s := f.open(20 * time.Second)
			f.create(s, "d", "0")
			lose(s)
			receive(t, "Done", s.Done())
			wantIs(t, s.Err(), driver.ErrSessionLost)
			must(t, s.Close(within(t)))
			f.wantNames("d", 0)
		})
	}
}

// Close of a connection ends what is being opened on it.
func TestCloseWhileOpening(t *testing.T) {
	f, g := linked(t)
	g.Freeze(netfault.Both)
	failed := make(chan error, 1)
	go func() {
		_, err := f.OpenSession(within(t), 10*time.Second)
		failed <- err
	}()
	must(t, g.WaitHeld(within(t), netfault.Up))
	must(t, f.Close())
	wantIs(t, receive(t, "the opening", failed), driver.ErrClosed)
	must(t, g.Heal())
}

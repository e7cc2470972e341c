package mem_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
	"github.com/coordkit/coordkit/drivers/mem"
)

// B2
func TestCtxOfOpenSessionDoesNotBoundTheSession(t *testing.T) {
	bubble(t, func(w world) {
		ctx, cancel := context.WithCancel(w.ctx)
		s, err := w.conn().OpenSession(ctx, ttl)
		w.ok(err)
		cancel()
		sleep(20 * ttl)
		w.ok(s.Err())
	})
}

// S1
func TestDoneClosesBeforeAnybodySeesTheNodesGone(t *testing.T) {
	for _, d := range []mem.Direction{mem.Up, mem.Down, mem.Both} {
		t.Run(fmt.Sprint("direction ", d), func(t *testing.T) {
			bubble(t, func(w world) {
				s, link := w.client()
				other, _ := w.client()
				n := w.create(s, "0")
				sleep(5 * ttl)
				link.Freeze(d)
				w.ok(other.WaitDelete(w.ctx, n))
				if !done(s) {
					t.Error("the node is gone and Done is open")
				}
				w.is(s.Err(), driver.ErrSessionLost)
			})
		})
	}
}

// S1: a reply that took long proves less.
func TestLeaseCountsFromTheSending(t *testing.T) {
	bubble(t, func(w world) {
		c := w.conn()
		c.Link().Delay(mem.Down, ttl/4)
		start := time.Now()
		s := w.session(c)
		c.Link().Cut()
		<-s.Done()
		if got, want := time.Since(start), ttl-lease.Margin(ttl); got != want {
			t.Errorf("lost after %v; want %v", got, want)
		}
	})
}

// S2
func TestLostSessionStaysLost(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		link.Freeze(mem.Down) // so the store goes on being told to renew, and does
		<-s.Done()
		w.ok(link.Heal())
		sleep(3 * ttl)
		_, err := s.Create(w.ctx, dir, "0", nil)
		w.is(err, driver.ErrSessionLost)
		w.is(s.Err(), driver.ErrSessionLost)
		w.sees()
	})
}

// S3
func TestSessionOutlivesShortFailures(t *testing.T) {
	faults := map[string]func(*mem.Link){
		"cut":       (*mem.Link).Cut,
		"frozen":    func(l *mem.Link) { l.Freeze(mem.Both) },
		"blackhole": func(l *mem.Link) { l.Blackhole(mem.Both) },
		"replies":   (*mem.Link).DropReplies,
		"reset":     (*mem.Link).DropConnections,
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w world) {
				s, link := w.client()
				n := w.create(s, "0")
				for range 50 {
					fault(link)
					sleep(ttl / 3)
					w.ok(link.Heal())
					sleep(ttl / 3)
				}
				w.ok(s.Err())
				w.sees(n)
			})
		})
	}
}

// S4
func TestSessionThatTheStoreEndedIsNoticed(t *testing.T) {
	bubble(t, func(w world) {
		s, _ := w.client()
		start := time.Now()
		if !w.store.Expire(s.ID()) || w.store.Expire(s.ID()) {
			t.Error("a session is expired once")
		}
		<-s.Done()
		if got := time.Since(start); got > ttl {
			t.Errorf("noticed after %v", got)
		}
		w.is(s.Err(), driver.ErrSessionLost)
	})
}

// S6
func TestNodesVanishATTLAfterTheLastRenewal(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		other, _ := w.client()
		n := w.create(s, "0")
		link.Cut() // before the first renewal
		start := time.Now()
		w.ok(other.WaitDelete(w.ctx, n))
		if got := time.Since(start); got != ttl {
			t.Errorf("gone after %v; want %v", got, ttl)
		}
	})
}

// S7
func TestTTLIsGrantedExactlyOrRefusedWithTheRange(t *testing.T) {
	bubble(t, func(w world) {
		c := w.conn()
		for _, d := range []time.Duration{mem.MinTTL, 1234567 * time.Microsecond, mem.MaxTTL} {
			s, err := c.OpenSession(w.ctx, d)
			w.ok(err)
			if s.TTL() != d {
				t.Errorf("TTL is %v; want %v", s.TTL(), d)
			}
			w.ok(s.Close(w.ctx))
		}
		for _, d := range []time.Duration{-1, 0, mem.MinTTL - 1, mem.MaxTTL + 1} {
			_, err := c.OpenSession(w.ctx, d)
			w.is(err, driver.ErrInvalid)
			const want = "mem: open session: invalid: TTL "
			if got := err.Error(); got != want+d.String()+"; the store grants 10ms to 24h0m0s" {
				t.Errorf("the message is %q", got)
			}
		}
	})
}

// S8
func TestSessionsOfOneConnectionAreIndependent(t *testing.T) {
	bubble(t, func(w world) {
		c := w.conn()
		a, b, survivor := w.session(c), w.session(c), w.session(c)
		w.create(a, "0")
		w.create(b, "0")
		n := w.create(survivor, "0")
		w.ok(a.Close(w.ctx))
		w.store.Expire(b.ID())
		sleep(3 * ttl)
		w.ok(survivor.Err())
		w.sees(n)
		if a.ID() == b.ID() || b.ID() == survivor.ID() {
			t.Error("sessions share an ID")
		}
	})
}

// A session whose opening was given up lives for its TTL at the longest.
func TestGivenUpSessionIsNotKeptAlive(t *testing.T) {
	bubble(t, func(w world) {
		c := w.conn()
		c.Link().Freeze(mem.Down)
		_, err := c.OpenSession(w.timeout(time.Second), ttl)
		w.is(err, context.DeadlineExceeded)
		if w.store.Stats().Sessions != 1 {
			t.Error("the request was not applied")
		}
		w.ok(c.Link().Heal())
		sleep(ttl)
		if w.store.Stats().Sessions != 0 {
			t.Error("the session lives on")
		}
	})
}

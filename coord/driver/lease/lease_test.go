package lease_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
)

const ttl = 9 * time.Second

func keep(t *testing.T, cfg lease.Config) *lease.Lease {
	cfg.TTL = ttl
	if cfg.Sent.IsZero() {
		cfg.Sent = time.Now()
	}
	l := lease.Keep(cfg)
	t.Cleanup(func() {
		l.End(driver.ErrClosed)
		l.Wait()
	})
	return l
}

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestLeaseIsRenewedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var renewals atomic.Int32
		l := keep(t, lease.Config{Renew: func(context.Context) error { renewals.Add(1); return nil }})
		time.Sleep(100 * ttl)
		if l.Err() != nil {
			t.Fatalf("the lease ended: %v", l.Err())
		}
		if n := renewals.Load(); n < 290 || n > 310 {
			t.Errorf("%d renewals in 100 TTL; want three each", n)
		}
	})
}

func TestIntervalIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var renewals atomic.Int32
		start := time.Now()
		l := keep(t, lease.Config{Interval: ttl / 4, Renew: func(context.Context) error {
			renewals.Add(1)
			if got, want := time.Since(start), time.Duration(renewals.Load())*ttl/4; got != want {
				t.Errorf("renewal %d after %v; want %v", renewals.Load(), got, want)
			}
			return nil
		}})
		time.Sleep(10 * ttl)
		if l.Err() != nil || renewals.Load() < 39 {
			t.Errorf("%d renewals in 10 TTL, and Err is %v", renewals.Load(), l.Err())
		}
	})
}

// The deadline counts from the sending, also when the reply takes long.
func TestDeadlineCountsFromTheSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var calls atomic.Int32
		l := keep(t, lease.Config{Renew: func(ctx context.Context) error {
			if calls.Add(1) > 1 {
				return hang(ctx)
			}
			time.Sleep(ttl / 10)
			return nil
		}})
		<-l.Done()
		if got, want := time.Since(start), ttl/3+ttl-lease.Margin(ttl); got != want {
			t.Errorf("ended %v after the start; want %v", got, want)
		}
		if !errors.Is(l.Err(), driver.ErrSessionLost) {
			t.Errorf("Err is %v; want ErrSessionLost", l.Err())
		}
	})
}

func TestDiscountedAcknowledgementDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var calls atomic.Int32
		l := keep(t, lease.Config{Discount: 1, Renew: func(ctx context.Context) error {
			if calls.Add(1) == 1 {
				return nil
			}
			return hang(ctx)
		}})
		<-l.Done()
		if got, want := time.Since(start), ttl-lease.Margin(ttl); got != want {
			t.Errorf("ended after %v; want %v, as if the last renewal had not been acknowledged", got, want)
		}
	})
}

// After the link stood still, two renewals are acknowledged at once. The store
// may have the news of neither.
func TestAcknowledgementsAtOnceAreDiscountedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		healed := make(chan struct{})
		time.AfterFunc(ttl/2, func() { close(healed) })
		l := keep(t, lease.Config{Discount: 1, Interval: ttl / 4, Renew: func(ctx context.Context) error {
			if time.Since(start) > ttl/2 {
				return hang(ctx)
			}
			<-healed
			return nil
		}})
		<-l.Done()
		if got, want := time.Since(start), ttl-lease.Margin(ttl); got != want {
			t.Errorf("ended after %v; want %v, as if nothing had been acknowledged", got, want)
		}
	})
}

// The next renewal is sent when it counts.
func TestRenewalsAfterALinkStoodStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		healed := start.Add(ttl / 2)
		l := keep(t, lease.Config{Discount: 1, Interval: ttl / 4, Renew: func(context.Context) error {
			time.Sleep(time.Until(healed))
			return nil
		}})
		time.Sleep(time.Until(healed.Add(ttl/8 + time.Millisecond)))
		synctest.Wait()
		if got, want := l.Deadline().Sub(start), ttl/4+ttl-lease.Margin(ttl); got < want {
			t.Errorf("the deadline is %v after the start; want %v, counted from the first renewal", got, want)
		}
		time.Sleep(10 * ttl)
		if l.Err() != nil {
			t.Errorf("the lease ended: %v", l.Err())
		}
	})
}

// A reply that arrives after the deadline does not bring the lease back.
func TestLateAcknowledgementDoesNotHeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := keep(t, lease.Config{Renew: func(context.Context) error {
			time.Sleep(2 * ttl) // deaf to its ctx
			return nil
		}})
		<-l.Done()
		l.Wait()
		if l.Err() == nil {
			t.Error("a lost lease came back")
		}
	})
}

func TestErrAsksTheClockBeforeTheTimerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := keep(t, lease.Config{Sent: time.Now().Add(-ttl), Renew: hang})
		if !errors.Is(l.Err(), driver.ErrSessionLost) {
			t.Errorf("Err is %v on a lease that was granted a TTL ago", l.Err())
		}
		select {
		case <-l.Done():
		default:
			t.Error("Err says that the lease is lost and Done is open")
		}
	})
}

func TestLeaseOutlivesAttemptsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		l := keep(t, lease.Config{Renew: func(ctx context.Context) error {
			if n.Add(1)%4 != 0 {
				return hang(ctx)
			}
			return nil
		}})
		time.Sleep(20 * ttl)
		if l.Err() != nil {
			t.Errorf("the lease ended although each fourth attempt succeeds: %v", l.Err())
		}
	})
}

// A server that takes a third of the TTL for each answer loses no lease.
func TestLeaseOutlivesSlowAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := keep(t, lease.Config{Renew: func(context.Context) error {
			time.Sleep(ttl / 3)
			return nil
		}})
		time.Sleep(20 * ttl)
		if l.Err() != nil {
			t.Errorf("the lease ended although every renewal is acknowledged: %v", l.Err())
		}
	})
}

func TestStoreEndsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		gone := fmt.Errorf("lease not found: %w", driver.ErrSessionLost)
		l := keep(t, lease.Config{Renew: func(context.Context) error { return gone }})
		<-l.Done()
		if !errors.Is(l.Err(), gone) || time.Since(start) != ttl/3 {
			t.Errorf("ended after %v with %v", time.Since(start), l.Err())
		}
	})
}

func TestOnlyTheFirstEndCounts(t *testing.T) {
	l := keep(t, lease.Config{Renew: hang})
	l.End(driver.ErrClosed)
	l.End(driver.ErrSessionLost)
	if l.Err() != driver.ErrClosed {
		t.Errorf("Err is %v; want the first reason", l.Err())
	}
}

func TestMarginStaysBelowTheTTL(t *testing.T) {
	for _, ttl := range []time.Duration{time.Millisecond, 30 * time.Millisecond, time.Second, time.Hour} {
		if m := lease.Margin(ttl); m <= 0 || m > ttl/2 {
			t.Errorf("Margin(%v) is %v", ttl, m)
		}
	}
}

func TestMargin(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		100 * time.Millisecond: 20 * time.Millisecond,
		2 * time.Second:        200 * time.Millisecond,
		15 * time.Second:       time.Second,
		50 * time.Second:       time.Second,
		time.Hour:              72 * time.Second,
	} {
		if got := lease.Margin(ttl); got != want {
			t.Errorf("Margin(%v) is %v; want %v", ttl, got, want)
		}
	}
}

func Example() {
	l := lease.Keep(lease.Config{
		Store:   "paper",
		Session: "1",
		TTL:     10 * time.Second,
		Sent:    time.Now(),
		Renew:   func(ctx context.Context) error { return nil }, // ask the store
	})
	fmt.Println(l.Err())
	l.End(driver.ErrClosed)
	l.Wait()
	fmt.Println(l.Err())
	// Output:
	// <nil>
	// closed
}

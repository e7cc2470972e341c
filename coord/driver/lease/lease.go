// Package lease keeps a session's lease alive and knows until when it can be
// proved: the part of rule S1 that is the same for every store whose sessions
// live on a time to live.
//
// A server counts the TTL from when it handles a renewal, which is never
// before the client sent it. So a client that counts from the sending, less a
// margin for clocks of different speed and for timers that run late, knows of
// the end before the server can act on it, whatever the network does in
// between. Counting from the receipt of the reply, as many clients do, is off
// by the whole round trip: over a link that stalls, by seconds.
package lease

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// Config describes a lease that the store has just granted.
type Config struct {
	// Store and Session are the scheme of the store and the ID of the session,
	// for the error that tells of the loss.
	Store, Session string

	// TTL is the time to live that the store granted.
	TTL time.Duration

	// Sent is when the request that the store granted the lease on was sent.
	Sent time.Time

	// Renew renews the lease once and returns nil when the store has
	// acknowledged it. An error that Is driver.ErrSessionLost ends the lease;
	// any other is tried again until the lease cannot be proved. ctx ends
	// after half the TTL. Renew is called while an earlier call is still
	// waiting, so that a server that does not answer leaves time to ask
	// another.
	Renew func(ctx context.Context) error

	// Discount is how many of the latest acknowledgements do not count. It is 0 where
	// an acknowledgement proves that the lease was extended, and 1 for stores that
	// acknowledge while the news of the renewal can still be lost between their own
	// servers. That news takes a while. So with a Discount, acknowledgements in quick
	// succession, as after a link has stood still, are taken for one. The next that
	// counts is of a renewal that was sent an eighth of the TTL, or more, after the
	// last had come in.
	Discount int

	// Interval is the time from the sending of a renewal to that of the next
	// one. Zero is a third of the TTL. What is discounted takes an interval
	// away from the time that a broken link has to heal, so a driver that
	// discounts may renew more often.
	Interval time.Duration
}

// Margin is the part of a TTL that a lease is given up early: a tenth, at least 20 ms
// (but no more than half the TTL), and at most a second or, of more than 50 s, a
// fiftieth. Clocks drift apart by parts in a thousand, and while they are set right by
// more; the rest is for a busy machine to run its timers and to act on them.
func Margin(ttl time.Duration) time.Duration {
	return min(max(ttl/10, 20*time.Millisecond), max(time.Second, ttl/50), ttl/2)
}

// Lease is a lease that is being renewed. All methods are safe for concurrent
// use.
type Lease struct {
	cfg  Config
	stop context.CancelFunc // ends the renewing
	done chan struct{}      // closed when the lease ends
	idle chan struct{}      // closed when the renewing goroutine has returned

	// proved is how long after cfg.Sent the lease can be proved, and less than
	// that once it has ended: Err is asked before and after whatever is done.
	proved atomic.Int64

	mu       sync.Mutex
	sent     []time.Time // when the acknowledged renewals were sent, the oldest first; the first counts
	heard    time.Time   // when the last of them came in
	deadline time.Time
	timer    *time.Timer // calls expire at the deadline
	err      error
}

// Keep starts renewing. The caller ends the lease with End and waits for the
// goroutine with Wait.
func Keep(cfg Config) *Lease {
	if cfg.Interval == 0 {
		cfg.Interval = cfg.TTL / 3
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &Lease{cfg: cfg, stop: stop, done: make(chan struct{}), idle: make(chan struct{})}
	l.mu.Lock()
	l.sent = []time.Time{cfg.Sent}
	l.proveLocked(cfg.Sent)
	l.timer = time.AfterFunc(time.Until(l.deadline), func() { _ = l.Err() })
	l.mu.Unlock()
	go l.renew(ctx)
	return l
}

// Done is closed when the lease ends.
func (l *Lease) Done() <-chan struct{} { return l.done }

// Err is nil while the lease can be proved, and then says why it ended. It
// asks the clock, so it is right also when the process was paused and its
// timers have not run yet.
func (l *Lease) Err() error {
	if time.Since(l.cfg.Sent) < time.Duration(l.proved.Load()) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && !time.Now().Before(l.deadline) {
		unproved := fmt.Errorf("no renewal acknowledged for %v", time.Since(l.sent[0]).Round(time.Millisecond))
		l.endLocked(&driver.Error{Op: "keepalive", Store: l.cfg.Store, Key: l.cfg.Session, Kind: driver.ErrSessionLost, Err: unproved})
	}
	return l.err
}

// proveLocked sets the deadline by the sending of the renewal that counts.
func (l *Lease) proveLocked(sent time.Time) {
	l.deadline = sent.Add(l.cfg.TTL - Margin(l.cfg.TTL))
	l.proved.Store(int64(l.deadline.Sub(l.cfg.Sent)))
}

// Deadline is the time until which the lease can be proved as of now. It moves
// with every renewal.
func (l *Lease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline
}

// End ends the lease for the reason given, which is not nil. Only the first reason
// counts.
func (l *Lease) End(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.endLocked(why)
	}
}

func (l *Lease) endLocked(why error) {
	l.err = why
	l.proved.Store(math.MinInt64)
	l.timer.Stop()
	l.stop()
	close(l.done)
}

// Wait returns when the lease has ended and nothing of it runs any more.
func (l *Lease) Wait() { <-l.idle }

// renew renews at each interval. While no answer comes it asks again
// at each eighth without giving up what is on its way: so the lease outlives
// both a server that does not answer, when the next attempt reaches another,
// and servers that answer slowly.
func (l *Lease) renew(ctx context.Context) {
	defer close(l.idle)
	var inFlight sync.WaitGroup
	defer inFlight.Wait() // each attempt ends with ctx
	type answer struct {
		sent time.Time
		err  error
	}
	answers := make(chan answer)
	ttl := l.cfg.TTL
	var last time.Time // the sending of the last attempt
	next := time.NewTimer(time.Until(l.cfg.Sent.Add(l.cfg.Interval)))
	defer next.Stop()
	for {
		select {
		case <-ctx.Done(): // the lease has ended: nothing to renew
			return
		case <-next.C:
			last = time.Now()
			sent := last
			inFlight.Go(func() {
				attempt, cancel := context.WithTimeout(ctx, ttl/2)
				defer cancel()
				err := l.cfg.Renew(attempt)
				select {
				case answers <- answer{sent, err}:
				case <-ctx.Done(): // nobody listens any more
				}
			})
			next.Reset(ttl / 8)
		case a := <-answers:
			switch {
			case a.err == nil:
				if !l.acknowledged(a.sent) {
					continue // the next one is due all the same
				}
				wait := time.Until(a.sent.Add(l.cfg.Interval))
				if l.cfg.Discount > 0 {
					wait = max(wait, ttl/8) // or it would not count
					if time.Until(l.Deadline()) < ttl/2 {
						wait = ttl / 8 // only the next one moves the deadline from where it was before the silence
					}
				}
				next.Reset(wait)
			case errors.Is(a.err, driver.ErrSessionLost):
				l.End(a.err)
			case a.sent.Equal(last): // refused, not silent: the server may be back soon
				next.Reset(min(ttl/30, 250*time.Millisecond))
			}
		}
	}
}

// acknowledged moves the deadline, unless the lease has run out while the
// reply was on its way: what was lost stays lost. It reports whether the
// acknowledgement counts.
func (l *Lease) acknowledged(sent time.Time) bool {
	if l.Err() != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || !sent.After(l.sent[len(l.sent)-1]) { // or overtaken by a later one
		return false
	}
	if l.cfg.Discount > 0 && sent.Before(l.heard.Add(l.cfg.TTL/8)) {
		return false
	}
	l.heard = time.Now()
	l.sent = append(l.sent, sent)
	if n := len(l.sent) - 1 - l.cfg.Discount; n > 0 {
		l.sent = append(l.sent[:0], l.sent[n:]...)
	}
	l.proveLocked(l.sent[0])
	l.timer.Reset(time.Until(l.deadline))
	return true
}

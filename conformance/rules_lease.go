package conformance

import (
	"errors"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// fraction is the name of the cases with a TTL that is no whole number of seconds.
const fraction = "TTL with a fraction of a second"

// fractionalTTL is such a TTL, and no whole number of tenths or hundredths of a second either.
func (t *Trial) fractionalTTL() time.Duration {
	ttl := t.h.TTL.Truncate(time.Second) + 987*time.Millisecond
	if ttl <= t.h.TTL {
		ttl += time.Second
	}
	return ttl
}

// fractional opens a session with such a TTL.
func (t *Trial) fractional(c driver.Conn) driver.Session { return t.sessionOf(c, t.fractionalTTL()) }

// sessionOf opens a session with a TTL that the store may refuse (S7).
func (t *Trial) sessionOf(c driver.Conn, ttl time.Duration) (s driver.Session) {
	t.insist(nil, fmt.Sprintf("OpenSession with a TTL of %v", ttl), func() (err error) {
		s, err = c.OpenSession(t.ctx, ttl)
		if errors.Is(err, driver.ErrInvalid) {
			t.NotOffered(fmt.Sprintf("a TTL of %v", ttl))
		}
		return err
	})
	return s
}

// long is the name of the cases with a TTL of 90 s.
const long = "TTL above one minute"

const longTTL = 90 * time.Second

// doneFirstOfLong breaks the link of a session with a long TTL when it has been renewed.
func doneFirstOfLong(t *Trial) {
	c, l := t.OpenLink()
	s := t.sessionOf(c, longTTL)
	n := t.Create(s, dir, "0")
	t.passQuietly(s)
	t.Sees(n)
	l.Freeze(netfault.Both)
	t.doneBeforeGone(s, n)
}

// survivesOfLong leaves such a session alone: for three TTL, or where waiting costs time for
// as long as other quiet cases last.
func survivesOfLong(t *Trial) {
	s := t.sessionOf(t.Open(), longTTL)
	n := t.Create(s, dir, "0")
	d := t.quietTime()
	if t.exact {
		d = 3 * longTTL
	}
	t.stays(s, d)
	t.alive(s, n)
}

// shortest is the name of the cases with the shortest TTL that the store grants. They run in
// virtual time only: on a busy machine a process may stand still for so long.
const shortest = "shortest TTL"

// ofShortest opens a session with half the harness's TTL. It halves the TTL up to three times
// more, while the store grants it.
func (t *Trial) ofShortest(c driver.Conn) driver.Session {
	ttl := t.h.TTL / 2
	s := t.sessionOf(c, ttl)
	for range 3 {
		ttl /= 2
		next, err := c.OpenSession(t.ctx, ttl)
		if errors.Is(err, driver.ErrInvalid) {
			break
		}
		if err != nil {
			t.Fatalf("OpenSession with a TTL of %v: %v", ttl, err)
		}
		_ = s.Close(t.ctx) // what it owes is for S5
		s = next
	}
	return s
}

// doneFirstOfShortest breaks the link of a session with the shortest TTL when it has been renewed.
func doneFirstOfShortest(t *Trial) {
	c, l := t.OpenLink()
	s := t.ofShortest(c)
	n := t.Create(s, dir, "0")
	if t.within(3*s.TTL(), s.Done()) {
		t.leaveTo("S3", "the session has ended")
	}
	t.Sees(n)
	l.Freeze(netfault.Both)
	t.doneBeforeGone(s, n)
}

// survivesOfShortest leaves such a session alone for three TTL.
func survivesOfShortest(t *Trial) {
	s := t.ofShortest(t.Open())
	n := t.Create(s, dir, "0")
	t.stays(s, 3*s.TTL())
	t.alive(s, n)
}

// expiryOf is the harness's Expiry for a session that may live longer than the
// harness's TTL.
func (t *Trial) expiryOf(s driver.Session) time.Duration {
	return time.Duration(float64(t.h.Expiry) * max(1, s.TTL().Seconds()/t.h.TTL.Seconds()))
}

// doneFirstOfFraction breaks the link of a session with such a TTL.
func doneFirstOfFraction(t *Trial) {
	c, l := t.OpenLink()
	s := t.fractional(c)
	n := t.Create(s, dir, "0")
	t.Sees(n)
	l.Freeze(netfault.Both)
	t.doneBeforeGone(s, n)
}

// doneFirstAfterCalls makes calls until just before the renewal that follows, and
// then breaks the link. The store counts from its last renewal, and not from the last
// call, unless calls are renewals.
func doneFirstAfterCalls(t *Trial) {
	s, l := t.SessionOverLink()
	n := t.Create(s, dir, "0")
	t.Sees(n)
	for start := time.Now(); time.Since(start) < t.h.TTL*13/10; t.sleep(t.h.TTL / 40) {
		t.Update(s, n, []byte("new")...)
		_, _ = s.List(t.ctx, dir) // L3
	}
	l.Freeze(netfault.Both)
	t.doneBeforeGone(s, n)
}

// leastMargin is the part of a TTL that a lease is given up early at the least: clocks
// drift apart, and timers run late.
func leastMargin(ttl time.Duration) time.Duration { return ttl / 50 }

// doneWithMargin measures how long before the node goes Done is closed. It is seen to
// be gone later than it is, so that the margin is shorter than what is measured.
func doneWithMargin(t *Trial) {
	s, l := t.SessionOverLink()
	n := t.Create(s, dir, "0")
	t.Sees(n)
	start := time.Now()
	var closed time.Time
	done := t.Go(func() {
		select { // the trial's end is of no interest
		case <-s.Done():
			closed = time.Now()
		case <-t.ctx.Done():
		}
	})
	l.Freeze(netfault.Both)
	if !t.comes(t.h.Expiry, t.absent(n)) || !t.within(0, done) {
		return // which the other cases are about
	}
	if margin := time.Since(closed) + t.pulse.lag(start); margin < leastMargin(s.TTL()) {
		t.Fatalf("Done was closed %v before a third client saw the node gone; want %v, a fiftieth of the TTL, at the least",
			margin.Round(time.Millisecond), leastMargin(s.TTL()))
	}
}

// survivesCalls makes calls all the time, which are no reason not to renew.
func survivesCalls(t *Trial) {
	s := t.Session()
	n := t.Create(s, dir, "0")
	for start := time.Now(); time.Since(start) < 3*t.h.TTL; t.sleep(t.h.TTL / 20) {
		t.isAlive(s)
		_, _ = s.Update(t.ctx, n, []byte("new")) // U1
		_, _ = s.List(t.ctx, dir)                // L3
	}
	t.alive(s, n)
}

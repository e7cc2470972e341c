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

// fractionalTTL is such a TTL.
func (t *Trial) fractionalTTL() time.Duration {
	ttl := t.h.TTL.Truncate(time.Second) + 900*time.Millisecond
	if ttl <= t.h.TTL {
		ttl += time.Second
	}
	return ttl
}

// fractional opens a session with such a TTL. A store may refuse it (S7).
func (t *Trial) fractional(c driver.Conn) (s driver.Session) {
	ttl := t.fractionalTTL()
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

// ofLong opens a session with such a TTL. A store may refuse it (S7).
func (t *Trial) ofLong(c driver.Conn) (s driver.Session) {
	t.insist(nil, fmt.Sprintf("OpenSession with a TTL of %v", longTTL), func() (err error) {
		s, err = c.OpenSession(t.ctx, longTTL)
		if errors.Is(err, driver.ErrInvalid) {
			t.NotOffered(fmt.Sprintf("a TTL of %v", longTTL))
		}
		return err
	})
	return s
}

// doneFirstOfLong breaks the link of a session with such a TTL when it has been renewed.
func doneFirstOfLong(t *Trial) {
	c, l := t.OpenLink()
	s := t.ofLong(c)
	n := t.Create(s, dir, "0")
	t.passQuietly(s)
	t.Sees(n)
	l.Freeze(netfault.Both)
	t.doneBeforeGone(s, n)
}

// survivesOfLong leaves such a session alone: for three TTL, or where waiting costs time for
// as long as other quiet cases last.
func survivesOfLong(t *Trial) {
	s := t.ofLong(t.Open())
	n := t.Create(s, dir, "0")
	d := t.quietTime()
	if t.exact {
		d = 3 * longTTL
	}
	t.stays(s, d)
	t.alive(s, n)
}

// shortest is the name of the cases with the shortest TTL that is granted. They are made in
// virtual time only: a machine that stands still for so long ends the session.
const shortest = "shortest TTL"

// ofShortest opens a session with a TTL of half the harness's, and opens it again with half as
// much, at most four times in all, while the store grants it.
func (t *Trial) ofShortest(c driver.Conn) (s driver.Session) {
	ttl := t.h.TTL
	for range 4 {
		ttl /= 2
		next, err := c.OpenSession(t.ctx, ttl)
		if errors.Is(err, driver.ErrInvalid) {
			break
		}
		if err != nil {
			t.Fatalf("OpenSession with a TTL of %v: %v", ttl, err)
		}
		if s != nil {
			_ = s.Close(t.ctx) // what it owes is for S5
		}
		s = next
	}
	if s == nil {
		t.NotOffered(fmt.Sprintf("a TTL of %v", ttl))
	}
	return s
}

// doneFirstOfShortest breaks the link of a session with such a TTL when it has been renewed.
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

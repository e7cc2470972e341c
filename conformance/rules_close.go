package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

func closeRules() []Rule {
	return []Rule{
		{
			ID:   "S5",
			Text: "Close is prompt, idempotent and bounded by its ctx, and removes the nodes at once.",
			Cases: append([]Case{
				{Name: "nodes", Check: closeRemoves},
				{Name: "again", Check: closeAgain},
				{Name: "many nodes", Check: closeRemovesMany},
				quiet("after a long quiet time", 0, closesLong),
				{Name: "frozen both", Needs: NeedLink, Check: closeBounded},
			}, closeAgainCases()...),
		},
		{
			ID:   "S6",
			Text: "When a session ends, every one of its nodes vanishes.",
			Cases: []Case{
				{Name: "closed", Check: func(t *Trial) {
					t.allVanish(t.Session(), t.closeSession)
				}},
				{Name: "ended by the store", Needs: NeedExpire, Check: func(t *Trial) {
					t.allVanish(t.Session(), t.expire)
				}},
				{Name: "link frozen", Needs: NeedLink, Check: func(t *Trial) {
					c, l := t.OpenLink()
					t.allVanish(t.SessionOn(c), func(driver.Session) { l.Freeze(netfault.Both) })
				}},
				quiet("link frozen after a long quiet time", NeedLink, expiresLong),
			},
		},
		{
			ID:   "S7",
			Text: "TTL says what was granted; what cannot be granted is ErrInvalid, naming the range.",
			Cases: []Case{
				{Name: "as asked for", Check: grantsWhatIsAsked},
				{Name: "nodes live that long", Needs: NeedLink, Check: func(t *Trial) { livesForTTL(t, t.SessionOn) }},
				{Name: fraction, Needs: NeedLink, Check: func(t *Trial) { livesForTTL(t, t.fractional) }},
				{Name: "zero and negative", Check: func(t *Trial) { t.refuses(0, -time.Second) }},
				{Name: "out of range", Needs: NeedBadTTL, Check: func(t *Trial) { t.refuses(t.h.BadTTL...) }},
			},
		},
		{
			ID:   "S8",
			Text: "Sessions are independent: the end of one does not touch another.",
			Cases: []Case{
				{Name: "closed", Check: func(t *Trial) { t.independent(t.closeSession) }},
				{Name: "ended by the store", Needs: NeedExpire, Check: func(t *Trial) { t.independent(t.expire) }},
				{Name: "opened at the same time", Check: opensManyAtATime},
				{Name: "opened one after the other", Check: opensAgain},
				{Name: "other connections closed", Check: independentOfClosed},
				{Name: "many of one connection", Check: func(t *Trial) { manyIndependent(t, t.closeSession) }},
			},
		},
	}
}

// closeSession closes a session and wants no error: the store is there.
func (t *Trial) closeSession(s driver.Session) {
	if err := s.Close(t.ctx); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

// promptly is the most that a call may take which waits for nothing but the
// store's answer. Of a server's own pauses the pulse does not know, so it is no
// moment; but a lease has longer left, renewed a third or so of its time ago.
func (t *Trial) promptly() time.Duration { return max(time.Second, t.h.TTL/2) }

func closeRemoves(t *Trial) {
	t.isPrompt("Close", func() time.Duration {
		s := t.Session()
		n, m := t.Create(s, dir, "0"), t.Create(s, other, "0")
		t.Sees(n)
		t.Sees(m)
		took := t.timed(func() { t.closeSession(s) })
		if err := s.Err(); !ended(s.Done()) || !errors.Is(err, driver.ErrClosed) {
			t.Fatalf("after Close Done is closed: %v, and Err returns %s; want ErrClosed", ended(s.Done()), errorOf(err))
		}
		// Had they waited for the lease to run out, they would stay longer: it was
		// renewed no more than a third or so of its time ago. What Close took counts,
		// but a list may lag behind (L5).
		left := max(t.h.TTL/2-took, t.lateness())
		t.Eventually(left, t.absent(n))
		t.Eventually(left, t.absent(m))
		return took
	})
}

func closeAgain(t *Trial) {
	s := t.Session()
	t.Create(s, dir, "0")
	var closing []<-chan struct{}
	for range 4 {
		closing = append(closing, t.Go(func() {
			if err := s.Close(t.ctx); err != nil {
				t.Fatalf("one of four calls of Close at a time: %v", err)
			}
		}))
	}
	t.join("one of four calls of Close at a time", closing...)
	if err := s.Close(t.ctx); err != nil {
		t.Fatalf("Close of a closed session: %v", err)
	}
}

func closeBounded(t *Trial) {
	s, l := t.SessionOverLink()
	t.Create(s, dir, "0")
	l.Freeze(netfault.Both)
	ctx, cancel := context.WithTimeout(t.ctx, t.h.TTL/8)
	defer cancel()
	var err error
	done := t.Go(func() { err = s.Close(ctx) })
	<-ctx.Done()
	if !t.within(100*time.Millisecond, done) {
		t.Fatalf("Close has not returned 100 ms after its ctx ended")
	}
	if err == nil {
		t.Fatalf("Close returned nil although the store could not be asked")
	}
	if lost := s.Err(); !ended(s.Done()) || !errors.Is(lost, driver.ErrClosed) {
		t.Fatalf("after Close Done is closed: %v, and Err returns %s; want ErrClosed", ended(s.Done()), errorOf(lost))
	}
}

// everyKind makes nodes in every way there is.
func (t *Trial) everyKind(s driver.Session) (nodes []driver.Node) {
	for i := range 6 {
		nodes = append(nodes, t.Create(s, dir, fmt.Sprint(i)))
	}
	nodes = append(nodes, t.Create(s, other, "0"))
	nodes[0] = t.Update(s, nodes[0], []byte("updated")...)
	t.Delete(s, nodes[1])
	nodes[1] = t.Create(s, dir, "1")
	if f, ok := driver.As[driver.CreateLister](s); ok {
		n, _, err := f.CreateList(t.ctx, other, "listed", nil)
		if err != nil {
			t.Fatalf("CreateList: %v", err)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// allVanish makes nodes, ends the session and waits.
func (t *Trial) allVanish(s driver.Session, end func(driver.Session)) {
	nodes := t.everyKind(s)
	for _, n := range nodes {
		t.Sees(n)
	}
	end(s)
	for _, n := range nodes {
		t.Eventually(t.h.Expiry, t.absent(n))
	}
}

func grantsWhatIsAsked(t *Trial) {
	if ttl := t.Session().TTL(); ttl != t.h.TTL {
		t.Fatalf("TTL is %v; %v was asked for, which the harness says is granted as it is", ttl, t.h.TTL)
	}
}

// livesForTTL freezes the link as soon as there is a node. The lease was granted
// on a request that was sent after the clock was read, so until TTL has passed
// from then on the node must be seen.
func livesForTTL(t *Trial, open func(driver.Conn) driver.Session) {
	c, l := t.OpenLink()
	start := time.Now()
	s := open(c)
	n := t.Create(s, dir, "0")
	t.Sees(n)
	l.Freeze(netfault.Both)
	if t.comes(t.expiryOf(s), t.absent(n)) {
		if lived := time.Since(start); lived < s.TTL() {
			t.Fatalf("TTL says %v, but the node of a session opened %v ago is gone", s.TTL(), lived)
		}
	}
}

// duration is what an error says that names a range of times to live.
var duration = regexp.MustCompile(`[0-9](ns|µs|us|ms|s|m|h)`)

func (t *Trial) refuses(ttls ...time.Duration) {
	c := t.Open()
	for _, ttl := range ttls {
		switch _, err := c.OpenSession(t.ctx, ttl); {
		case !errors.Is(err, driver.ErrInvalid):
			t.Fatalf("OpenSession with a TTL of %v returned %s; want ErrInvalid", ttl, errorOf(err))
		case !duration.MatchString(err.Error()):
			t.Fatalf("the error of OpenSession with a TTL of %v names no range: %v", ttl, err)
		}
	}
}

// independent ends one of three sessions of a connection and looks at the rest.
func (t *Trial) independent(end func(driver.Session)) {
	c := t.Open()
	a, b, d := t.SessionOn(c), t.SessionOn(c), t.SessionOn(c)
	if a.ID() == b.ID() || b.ID() == d.ID() || a.ID() == d.ID() {
		t.Fatalf("three sessions have the IDs %q, %q and %q", a.ID(), b.ID(), d.ID())
	}
	t.Create(a, dir, "a")
	n, m := t.Create(b, dir, "b"), t.Create(d, other, "d")
	end(a)
	t.stays(b, t.h.TTL*5/4)
	t.alive(b, n)
	t.alive(d, m)
	t.Create(b, dir, "later")
}

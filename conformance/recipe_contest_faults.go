package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

func contestLostReply(d duel) {
	c, l := d.ClientOverLink()
	d.release(d.take(d.one(c))) // so that there is a session
	l.DropReplies()
	b := d.bid(d.ctx, "after a lost reply", d.one(c))
	d.entries(1)
	d.heal(l)
	held := d.wins(b)
	d.settles(func() error { d.entries(1); return nil })
	d.release(held)
	d.empty()
}

func contestLostReplyWaiting(d duel) {
	c, l := d.ClientOverLink()
	held := d.take(d.one(c))
	d.release(held)
	held = d.take(d.one(d.Client()))
	l.DropReplies()
	b := d.bid(d.ctx, "the waiter whose reply was lost", d.other(c))
	d.entries(2)
	d.heal(l)
	d.settles(func() error { d.entries(2); return nil })
	d.waits(b)
	d.release(held)
	d.release(d.wins(b))
	d.empty()
}

// contestLostReplyAndSession: what was made for a session that is over belongs
// to nobody, also if whoever made it does not know that it is there.
func contestLostReplyAndSession(d duel) {
	c, l := d.ClientOverLink()
	held := d.take(d.one(c))
	session := held.Session()
	d.release(held)
	l.DropReplies()
	b := d.bid(d.ctx, "who lost a reply and then the session", d.one(c))
	old := d.entries(1)[0]
	d.expire(session.Driver())
	l.DropConnections() // or a reply that the store has not sent yet would come, and say that the entry was made
	d.heal(l)
	d.fails(b, coord.ErrSessionLost)
	d.Eventually(d.h.Expiry, d.absent(old))
	held = d.take(d.one(d.Client()))
	if held.Token() <= old.Token {
		d.Fatalf("token %d was given out after %d", held.Token(), old.Token)
	}
	again := d.join(d.ctx, "with another session", d.other(c), 2)
	d.waits(again)
	d.release(held)
	d.release(d.wins(again))
	d.empty()
}

// contestLostReplyAndStore loses the reply to a create, and then the store until after the
// acquire has given up. What it has made is removed when the store is back.
func contestLostReplyAndStore(d duel) {
	var away atomic.Bool
	c := d.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		if away.Load() {
			return &driver.Error{Op: c.op, Kind: driver.ErrUnavailable, Err: errOnPurpose}
		}
		err := next(ctx)
		if strings.HasPrefix(c.op, "Create") {
			away.Store(true)
			return &driver.Error{Op: c.op, Kind: driver.ErrUncertain, Err: errOnPurpose}
		}
		return err
	})
	if _, err := c.Session(d.ctx); err != nil {
		d.Fatalf("opening a session: %v", err)
	}
	b := d.bid(d.ctx, "who lost a reply and then the store", d.one(c))
	d.entries(1)
	d.fails(b, coord.ErrUncertain)
	d.sleep(d.h.TTL * 3 / 2)
	d.entries(1)
	away.Store(false)
	nothing := func() error {
		if left := d.contending(); len(left) > 0 {
			return fmt.Errorf("the store is back, and %d entries are left by an acquire that has failed", len(left))
		}
		return nil
	}
	d.Eventually(d.patience(), nothing)
	d.Throughout(d.h.TTL/2, nothing) // nor is there another attempt
	d.release(d.take(d.one(d.Client())))
}

// contestLateRequest lets a request time out over a frozen link that then
// delivers it.
func contestLateRequest(d duel) {
	c, l := d.ClientOverLink()
	d.release(d.take(d.one(c)))
	l.Freeze(netfault.Up)
	ctx, cancel := context.WithTimeout(d.ctx, d.h.TTL/8)
	defer cancel()
	b := d.bid(ctx, "given up over a frozen link", d.one(c))
	d.fails(b, context.DeadlineExceeded)
	d.heal(l)
	d.settles(func() error { d.empty(); return nil })
	d.release(d.take(d.other(d.Client())))
}

// contestBackAtOnce: what clears up after who has given up does not hit what the same
// client has next, perhaps in the same slot.
func contestBackAtOnce(d duel) {
	c, l := d.ClientOverLink()
	d.release(d.take(d.one(c)))
	for range 3 {
		l.Freeze(netfault.Up)
		ctx, cancel := context.WithTimeout(d.ctx, d.h.TTL/8)
		d.fails(d.bid(ctx, "given up over a frozen link", d.one(c)), context.DeadlineExceeded)
		cancel()
		l.DropConnections()
		d.heal(l)
		held := d.take(d.one(c))
		next := d.join(d.ctx, "the next in line", d.other(d.Client()), 2)
		d.stay([]subject.Hold{held}, next)
		d.entries(2)
		d.release(held)
		d.release(d.wins(next))
		d.empty()
	}
}

// contestClearsUpLater has the store refuse for a while to delete the entry of a waiter that has
// given up. Even a permission may come back.
func contestClearsUpLater(d duel) {
	c, allow, tried := d.refusing(func(c *request) bool { return c.op == "Delete" || c.op == "Abandon" })
	held := d.take(d.one(d.Client()))
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	waiter := d.join(ctx, "the waiter that gives up", d.other(c), 2)
	cancel()
	d.fails(waiter, context.Canceled)
	d.Eventually(d.patience(), func() error {
		if n := tried(); n < 2 {
			return fmt.Errorf("the store has refused %d times to delete the entry of a waiter that has given up, and its client does not try again", n)
		}
		return nil
	})
	allow()
	d.entries(1)
	d.release(held)
	d.empty()
}

func contestForeign(d duel) {
	d.plant(d.dir())
	h, err := d.one(d.Client()).Try(d.ctx)
	if err != nil {
		d.Fatalf("a try among foreign keys returned %q", err)
	}
	d.release(h)
	held := d.take(d.one(d.Client()))
	d.plant(d.dir())
	next := d.join(d.ctx, "among foreign keys", d.other(d.Client()), 2)
	d.waits(next)
	d.release(held)
	d.release(d.wins(next))
	d.empty()
}

// contestReconnect: nobody loses the place for a connection, when all of them
// come back at once.
func contestReconnect(d duel) {
	var all links
	open := d.linked(&all)
	held := d.take(d.one(open()))
	second := d.join(d.ctx, "the second in line", d.other(open()), 2)
	third := d.join(d.ctx, "the third in line", d.one(open()), 3)
	before := d.entries(3)
	for range 3 {
		for _, l := range all {
			l.DropConnections()
		}
		d.pause()
	}
	d.stay([]subject.Hold{held}, second, third)
	for i, n := range d.entries(3) {
		if !n.Same(before[i]) {
			d.Fatalf("at place %d there was %s and now is %s", i, show(before[i]), show(n))
		}
	}
	d.release(held)
	h := d.wins(second)
	if h.Token() != before[1].Token {
		d.Fatalf("the second in line got token %d; its entry has %d", h.Token(), before[1].Token)
	}
	d.waits(third)
	d.release(h)
	d.release(d.wins(third))
	d.empty()
}

// contestAwayTwice has the store out of reach until a client can join, and again as soon as it
// has: in all for longer than a client tries to join, and each time for less than its session
// lives. It keeps the place.
func contestAwayTwice(d duel) {
	held := d.take(d.one(d.Client()))
	away, joined := make(chan struct{}), false
	var mu sync.Mutex
	c := d.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		mu.Lock()
		now, first := away, !joined && strings.HasPrefix(c.op, "Create")
		mu.Unlock()
		if !ended(now) && (c.session != nil || c.op == "Conn.List") {
			return &driver.Error{Op: c.op, Kind: driver.ErrUnavailable, Err: errOnPurpose}
		}
		err := next(ctx)
		if first && err == nil {
			mu.Lock()
			again := make(chan struct{})
			away, joined = again, true
			mu.Unlock()
			time.AfterFunc(d.h.TTL*6/10, func() { close(again) })
		}
		return err
	})
	if _, err := c.Session(d.ctx); err != nil {
		d.Fatalf("opening a session: %v", err)
	}
	first := away
	time.AfterFunc(d.h.TTL*6/10, func() { close(first) })
	waiter := d.join(d.ctx, "who could not reach the store before and after it joined", d.other(c), 2)
	entry := d.entries(2)[1]
	d.sleep(d.h.TTL * 7 / 10)
	d.waits(waiter)
	d.release(held)
	h := d.wins(waiter)
	if h.Token() != entry.Token {
		d.Fatalf("%s, with token %d, got token %d", waiter.what, entry.Token, h.Token())
	}
	d.release(h)
	d.empty()
}

// contestWrap: the order survives the end of the store's counter.
func contestWrap(d duel) {
	if err := d.h.NearWrap(d.ctx, d.namespace, d.dir()); err != nil {
		d.NotVerified("bringing the counter near its wrap: %v", err)
	}
	a, b := d.Client(), d.Client()
	var nodes []driver.Node
	for range 4 {
		held := d.take(d.one(a))
		nodes = append(nodes, d.entries(1)...)
		next := d.join(d.ctx, "across the wrap", d.other(b), 2)
		nodes = append(nodes, d.entries(2)[1:]...)
		third := d.join(d.ctx, "behind that one", d.one(a), 3)
		d.stay([]subject.Hold{held}, next, third)
		d.release(held)
		h := d.wins(next)
		d.waits(third)
		d.release(h)
		d.release(d.wins(third))
	}
	for i := range nodes[1:] {
		if nodes[i].Token >= nodes[i+1].Token {
			d.Fatalf("token %d was given out after %d", nodes[i+1].Token, nodes[i].Token)
		}
	}
	d.empty()
}

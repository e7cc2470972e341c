package conformance

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// outage is a time in which a client's calls fail at once, and are counted. Its session
// is renewed all the same.
type outage struct {
	t     *Trial
	since time.Time
	calls atomic.Int64

	mu    sync.Mutex
	away  bool
	waits map[*request]context.CancelFunc // of the calls that are under way
}

// interrupted opens a client for outages.
func (t *Trial) interrupted() (*coord.Client, *outage) {
	o := &outage{t: t, waits: make(map[*request]context.CancelFunc)}
	return t.tapped(o.call), o
}

func (o *outage) call(ctx context.Context, c *request, next func(context.Context) error) error {
	if c.op == "Watch" { // which heals by itself
		return next(ctx)
	}
	live, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.enter(c, cancel) {
		err := next(live)
		if o.leave(c) {
			return err
		}
	}
	if o.calls.Add(1) > o.most() {
		o.t.decide(Failed, "a client makes call after call of a store that is out of reach, and does not pause")
		o.t.cancel()
		time.Sleep(time.Millisecond) // so that what goes on comes to an end
	}
	return &driver.Error{Op: c.op, Kind: driver.ErrUnavailable, Err: errOnPurpose}
}

// enter reports whether a call may be made.
func (o *outage) enter(c *request, cancel context.CancelFunc) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.away {
		o.waits[c] = cancel
	}
	return !o.away
}

// leave reports whether its answer counts.
func (o *outage) leave(c *request) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waits, c)
	return !o.away
}

// most is how many calls are enough for what a client has under way.
func (o *outage) most() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return 40 + int64(40*time.Since(o.since)/time.Second)
}

// begin begins an outage, which end ends.
func (o *outage) begin() {
	o.calls.Store(0)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.away, o.since = true, time.Now()
	for _, cancel := range o.waits {
		cancel()
	}
}

func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.away = false
}

// last lets an outage go on for a while.
func (o *outage) last(d time.Duration) {
	o.begin()
	o.t.sleep(d)
	o.end()
}

// contestPaceOfWaits has every wait fail at once for half a TTL, and nothing else.
func contestPaceOfWaits(d duel) {
	o := &outage{t: d.Trial, waits: make(map[*request]context.CancelFunc)}
	c := d.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		switch c.op {
		case "WaitDelete", "WaitAny":
			return o.call(ctx, c, next)
		}
		return next(ctx)
	})
	first := d.take(d.one(d.Client()))
	b := d.join(d.ctx, "a waiter whose waits fail", d.other(c), 2)
	o.last(d.h.TTL / 2)
	d.waits(b)
	d.holds(first)
	d.release(first)
	d.release(d.wins(b))
	d.empty()
}

// contestPace has the store out of reach while a client acquires, waits, releases and
// asks others to let go.
func contestPace(d duel) {
	contestPaceOfWaits(d)

	third := d.Client()
	c, o := d.interrupted()
	d.release(d.take(d.one(c)))
	var b *bid
	later := d.Go(func() { o.last(d.h.TTL / 2) })
	d.pause()
	b = d.bid(d.ctx, "an acquire when the store is back", d.one(c))
	d.Trial.join("an outage", later)
	d.release(d.wins(b))

	first := d.take(d.one(third))
	b = d.join(d.ctx, "a waiter when the store is back", d.other(c), 2)
	o.last(d.h.TTL / 2)
	d.waits(b)
	d.holds(first)
	d.release(first)
	held := d.wins(b)

	later = d.Go(func() { o.last(d.h.TTL / 2) })
	d.pause()
	d.release(held)
	d.Trial.join("an outage", later)
	d.empty()

	held = d.take(d.one(third))
	a := d.ask(d.ctx, d.one(c), held.Token(), "maintenance")
	d.hears(d.listen(d.ctx, held), "", "maintenance")
	o.last(d.h.TTL / 2)
	d.stay([]subject.Hold{held})
	d.release(held)
	d.letGo(a)
	d.empty()
}

// contestPaceAnew has the store out of reach for half a TTL and later for a moment: then the
// pauses of the client must be short. The case fails only if three acquires in a row are late,
// because a machine may stand still for a moment.
func contestPaceAnew(d duel) {
	c, o := d.interrupted()
	d.release(d.take(d.one(c)))
	var late time.Duration // from the end of the outage to the grant
	through := func(out time.Duration) {
		var back time.Time
		over := d.Go(func() { o.last(out); back = time.Now() })
		d.pause()
		b := d.bid(d.ctx, "an acquire when the store is back", d.one(c))
		d.Trial.join("an outage", over)
		h := d.wins(b)
		late = time.Since(back) - d.pulse.lag(back)
		d.release(h)
		d.empty()
	}
	for range 3 {
		through(d.h.TTL / 2)
		if through(d.h.TTL / 20); late < d.h.TTL/4 {
			return
		}
	}
	d.Fatalf("after an outage of %v an acquire takes %v, three times in a row: its pauses are those of an earlier outage",
		d.h.TTL/20, late.Round(time.Millisecond))
}

// contestPaceRemoved has an operator remove the line each time that an entry is made in
// it, before its maker hears of that.
func contestPaceRemoved(d duel) {
	var calls atomic.Int64
	c := d.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		switch c.op {
		case "Create", "CreateList":
		default:
			return next(ctx)
		}
		if calls.Add(1) > 100 {
			d.decide(Failed, "a client makes entry after entry where an operator removes them, and does not pause")
			d.cancel()
			return ctx.Err()
		}
		err := next(ctx)
		if err == nil {
			d.removeDir(d.dir())
			err = &driver.Error{Op: c.op, Kind: driver.ErrUncertain, Err: errOnPurpose}
		}
		return err
	})
	ctx, cancel := context.WithTimeout(d.ctx, d.h.TTL/2)
	defer cancel()
	d.fails(d.bid(ctx, "an acquire whose entry is removed again and again", d.one(c)), context.DeadlineExceeded)
	d.empty()
	d.release(d.take(d.other(d.Client())))
}

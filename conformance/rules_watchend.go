package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// watchEndCases are those of V4.
func watchEndCases() []Case {
	return append(perDirection(func(t *Trial, fault func(Link)) {
		c, l := t.OpenLink()
		endsWithCtx(t, c, func() { fault(l) })
	}),
		Case{Name: "connections refused", Needs: NeedLink, Check: func(t *Trial) {
			c, l := t.OpenLink()
			endsWithCtx(t, c, l.Cut)
		}},
		Case{Name: "link works", Check: func(t *Trial) { endsWithCtx(t, t.Open(), func() {}) }},
		Case{Name: "ctx ended before", Check: endedBeforeWatch},
		Case{Name: "consumer busy", Check: endsWhileBusy},
		Case{Name: "connection closed", Check: func(t *Trial) { watchClosed(t, t.Open(), func() {}) }},
		Case{Name: "connection closed over a frozen link", Needs: NeedLink, Check: func(t *Trial) {
			c, l := t.OpenLink()
			watchClosed(t, c, func() { l.Freeze(netfault.Both) })
		}},
		Case{Name: "connection closed before", Check: watchAfterClose},
	)
}

// ends wants a watch to end within a time from at on, with one error that says
// why and nothing after it.
func (t *Trial) ends(o *observing, at time.Time, within time.Duration, after string, want error) {
	if !t.within(time.Second+within, o.done) {
		t.Fatalf("a watch has not ended %v after %s", time.Second+within, after)
	}
	if late := o.over.Sub(at); late > within+t.pulse.lag(at) {
		t.Fatalf("a watch ended %v after %s", late.Round(time.Millisecond), after)
	}
	events, _ := o.all()
	if n := len(events); o.over.Before(at) && n > 0 && events[n-1].err != nil && !errors.Is(events[n-1].err, want) {
		t.NotVerified("a watch had ended before with %q, which V3 is about", events[n-1].err)
	}
	if n := len(events); n == 0 || events[n-1].err == nil {
		t.Fatalf("a watch ended without an error after %s; want one that Is %q", after, want)
	}
	for i, e := range events {
		switch last := i == len(events)-1; {
		case e.err == nil:
		case !last:
			t.Fatalf("after %s a watch went on after its error %q", after, e.err)
		case !errors.Is(e.err, want):
			t.Fatalf("a watch ended with the error %q after %s; want one that Is %q", e.err, after, want)
		case e.nodes != nil:
			t.Fatalf("a watch ended after %s with its error and %s; want no nodes with it", after, show(e.nodes...))
		}
	}
}

// promptly is how soon a watch ends after its ctx.
const promptly = 100 * time.Millisecond

// endsWithCtx ends a ctx in both ways: that of a watch under way, and that of one
// which begins when the link has broken. A watch of a directory that does not
// exist is none the less to end.
func endsWithCtx(t *Trial, c driver.Conn, fault func()) {
	t.Bystander(dir)
	under, absent := t.observe(t.ctx, c, dir), t.observe(t.ctx, c, other)
	t.begins(under)
	t.begins(absent)
	fault()
	late, cancel := context.WithTimeout(t.ctx, t.h.TTL/8)
	defer cancel()
	began := t.observe(late, c, dir)
	<-late.Done() // its own deadline, or the end of the trial
	deadline, _ := late.Deadline()
	t.ends(began, deadline, promptly, "its ctx was past its deadline", late.Err())
	for _, o := range []*observing{under, absent} {
		at := time.Now()
		o.cancel()
		t.ends(o, at, promptly, "its ctx was canceled", context.Canceled)
	}
}

func endedBeforeWatch(t *Trial) {
	c := t.Open()
	t.Bystander(dir)
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	at := time.Now()
	t.ends(t.observe(ctx, c, dir), at, promptly, "its ctx had been canceled before it began", context.Canceled)
}

// endsWhileBusy ends the ctx, or the connection, while the loop's body is under
// way: the watch must not begin to wait for something else then.
func endsWhileBusy(t *Trial) {
	t.Bystander(dir)
	for _, end := range []struct {
		name   string
		within time.Duration
		want   error
		make   func(c driver.Conn, cancel func())
	}{
		{"its ctx was canceled while its consumer was busy", promptly, context.Canceled, func(_ driver.Conn, cancel func()) { cancel() }},
		{"its connection was closed while its consumer was busy", time.Second, driver.ErrClosed, func(c driver.Conn, _ func()) { _ = c.Close() }},
	} {
		c := t.Open()
		ctx, cancel := context.WithCancel(t.ctx)
		defer cancel()
		busy := make(chan struct{})
		o := t.observeWith(ctx, c, dir, t.slow(busy))
		t.begins(o)
		end.make(c, cancel)
		t.pause()
		at := time.Now()
		close(busy)
		t.ends(o, at, end.within, end.name, end.want)
	}
}

func watchClosed(t *Trial, c driver.Conn, fault func()) {
	t.Bystander(dir)
	under, absent := t.observe(t.ctx, c, dir), t.observe(t.ctx, c, other)
	t.begins(under)
	t.begins(absent)
	fault()
	at := time.Now()
	_ = c.Close() // what it owes is for N1
	for _, o := range []*observing{under, absent} {
		t.ends(o, at, 2*time.Second, "its connection was closed", driver.ErrClosed)
	}
}

func watchAfterClose(t *Trial) {
	c := t.Open()
	t.Bystander(dir)
	_ = c.Close() // what it owes is for N1
	at := time.Now()
	t.ends(t.observe(t.ctx, c, dir), at, time.Second, "its connection had been closed before it began", driver.ErrClosed)
}

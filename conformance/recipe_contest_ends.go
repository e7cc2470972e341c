package conformance

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
)

// contestCtx lets calls run into the end of their ctx while nothing answers.
func contestCtx(d duel, fault func(Link)) {
	c, l := d.ClientOverLink()
	held := d.take(d.one(c))
	free := d.first(c, "other")
	fresh, m := d.ClientOverLink() // it has no session yet
	fault(l)
	fault(m)
	d.endWithCtx([]method{
		{"the acquire that has to wait", func(ctx context.Context) error { _, err := d.other(c).Acquire(ctx); return err }},
		{"the try", func(ctx context.Context) error { _, err := free.Try(ctx); return err }},
		{"the listing", func(ctx context.Context) error { _, err := free.Contenders(ctx); return err }},
		{"the acquire of a client that has no session", func(ctx context.Context) error { _, err := d.other(fresh).Acquire(ctx); return err }},
		{"the release", held.Release},
	})
}

// endWithCtx wants each call to return when its ctx ends.
func (a arena) endWithCtx(calls []method) {
	start := time.Now()
	for _, m := range calls {
		ctx, cancel := context.WithTimeout(a.ctx, a.h.TTL/10)
		var err error
		done := a.Go(func() { err = m.call(ctx) })
		<-ctx.Done()
		if !a.within(100*time.Millisecond, done) {
			a.Fatalf("%s did not return within 100 ms of its ctx's end", m.name)
		}
		cancel()
		// A call may get through in one direction, and the session may end
		// first on a machine that stood still.
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && time.Since(start) < a.h.TTL/2 {
			a.Fatalf("%s returned %q; want its ctx's error", m.name, err)
		}
	}
}

// contestChurn: the deadline is one, however often those ahead change.
func contestChurn(d duel) {
	a, b, c := d.Client(), d.Client(), d.Client()
	held := d.take(d.one(a))
	const crowd = 5
	var leave []context.CancelFunc
	for i := range crowd {
		ctx, cancel := context.WithCancel(d.ctx)
		defer cancel()
		d.join(ctx, "who stands ahead", d.other(b), i+2)
		leave = append(leave, cancel)
	}
	ctx, cancel := context.WithTimeout(d.ctx, d.h.TTL/2)
	defer cancel()
	waiter := d.join(ctx, "whose time is up", d.other(c), crowd+2)
	for i := range leave {
		leave[len(leave)-1-i]() // the nearest first
		d.sleep(d.h.TTL / 12)
	}
	<-ctx.Done()
	if !d.within(100*time.Millisecond, waiter.over) {
		d.Fatalf("the acquire did not return within 100 ms of its ctx's end")
	}
	d.fails(waiter, context.DeadlineExceeded)
	d.holds(held)
	d.release(held)
	d.empty()
}

func contestDo(d duel) {
	w := d.one(d.Client())
	oops := errors.New("oops")
	if err := w.Do(d.ctx, func(ctx context.Context, token uint64) error {
		if token == 0 || ctx.Err() != nil {
			d.Fatalf("Do calls its function with token %d; its ctx's Err is %s", token, errorOf(ctx.Err()))
		}
		d.entries(1)
		return oops
	}); !errors.Is(err, oops) || errors.Is(err, coord.ErrNotHeld) {
		d.Fatalf("Do returned %s; want its function's error", errorOf(err))
	}
	d.empty()
	var thrown any
	func() {
		defer func() { thrown = recover() }()
		_ = w.Do(d.ctx, func(context.Context, uint64) error { panic(oops) })
	}()
	if thrown != oops {
		d.Fatalf("Do turned a panic with %q into %v", oops, thrown)
	}
	d.empty()
	d.doGivenUp()
}

// doGivenUp ends Do's ctx while its function runs, and lets no deletion return before: Do
// returns all the same, and what it could not confirm is no error.
func (d duel) doGivenUp() {
	c, free := d.delaying(isDelete, false)
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	var err error
	done := d.Go(func() {
		err = d.one(c).Do(ctx, func(ctx context.Context, _ uint64) error {
			cancel()
			if !d.within(100*time.Millisecond, ctx.Done()) {
				d.Fatalf("the ctx of Do's function does not end with that of Do")
			}
			return nil
		})
	})
	<-ctx.Done()
	if !d.within(200*time.Millisecond, done) {
		d.Fatalf("Do does not return when its ctx has ended and the store does not confirm the release")
	}
	if err != nil {
		d.Fatalf("Do returned %q although its function has returned nil", err)
	}
	free()
	d.empty()
}

// contestDoGoexit ends the goroutine of Do's function, as FailNow of a test does.
func contestDoGoexit(d duel) {
	w := d.one(d.Client())
	ended := d.Go(func() {
		_ = w.Do(d.ctx, func(context.Context, uint64) error {
			runtime.Goexit()
			return nil
		})
	})
	d.Trial.join("Do whose function ends its goroutine", ended)
	d.empty()
}

func contestDoLost(d duel) {
	c := d.Client()
	session, err := c.Session(d.ctx)
	if err != nil {
		d.Fatalf("opening a session: %v", err)
	}
	err = d.one(c).Do(d.ctx, func(ctx context.Context, _ uint64) error {
		d.expire(session.Driver())
		if !d.within(d.h.Expiry, ctx.Done()) {
			d.Fatalf("the ctx of Do's function outlives the session")
		}
		return nil
	})
	if !errors.Is(err, coord.ErrNotHeld) {
		d.Fatalf("Do returned %s after a loss; want ErrNotHeld", errorOf(err))
	}
}

func contestSessionLost(d duel) {
	a, b := d.Client(), d.Client()
	held := d.take(d.one(a))
	s, err := b.Session(d.ctx)
	if err != nil {
		d.Fatalf("opening a session: %v", err)
	}
	waiter := d.join(d.ctx, "the waiter whose session the store ended", d.other(b), 2)
	d.expire(s.Driver())
	d.fails(waiter, coord.ErrSessionLost)
	d.release(held)
	d.release(d.take(d.other(b))) // with another session
	d.empty()
}

func contestSuspended(d duel) {
	b, l := d.ClientOverLink()
	held := d.take(d.one(d.Client()))
	waiter := d.join(d.ctx, "the waiter that was suspended", d.other(b), 2)
	l.Freeze(netfault.Both)
	d.release(held)
	d.sleep(d.h.TTL / 8) // for so long
	d.heal(l)
	d.release(d.wins(waiter))
	d.empty()
}

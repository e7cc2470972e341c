package consul

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// A session whose opening or closing is under way when the connection is closed
// is not left to its TTL.
func TestCloseWaitsForOpenings(t *testing.T) {
	f := start(t)
	late := f.tap.holdReply("session create")
	opened := make(chan error, 1)
	go func() {
		_, err := f.OpenSession(within(t), time.Hour)
		opened <- err
	}()
	receive(t, "the reply", late.caught)
	closed := make(chan error, 1)
	go func() { closed <- f.conn.Close() }()
	<-f.using.Done()
	late.free()
	wantIs(t, receive(t, "the opening", opened), driver.ErrClosed)
	must(t, receive(t, "Close", closed))
	if n := len(f.sessionsIn()); n > 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// Likewise if the reply is lost.
func TestCloseLooksForOpenings(t *testing.T) {
	f := start(t)
	late := f.tap.holdReply("session create")
	f.tap.loseReply("session create")
	opened := make(chan error, 1)
	go func() {
		_, err := f.OpenSession(within(t), time.Hour)
		opened <- err
	}()
	receive(t, "the reply", late.caught)
	closed := make(chan error, 1)
	go func() { closed <- f.conn.Close() }()
	<-f.using.Done()
	late.free()
	if err := receive(t, "the opening", opened); err == nil {
		t.Error("a session was opened without a reply")
	}
	must(t, receive(t, "Close", closed))
	if n := len(f.sessionsIn()); n > 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// A session that is being closed, without an answer yet, when the connection is.
func TestCloseWaitsForSessionsClosing(t *testing.T) {
	f := start(t)
	s := f.open(time.Hour)
	f.create(s, "d", "0")
	h := hold("session destroy", f.tap)
	f.tap.loseReply("session destroy") // of the second attempt
	ctx, cancel := context.WithCancel(within(t))
	first := make(chan error, 1)
	go func() { first <- s.Close(ctx) }()
	receive(t, "the request", h.caught)
	closed := make(chan error, 1)
	go func() { closed <- f.conn.Close() }()
	<-f.using.Done()
	cancel() // what Close of the session could not do is done in the background
	wantIs(t, receive(t, "the session's Close", first), context.Canceled)
	must(t, receive(t, "Close", closed))
	if n := len(f.sessionsIn()); n > 0 {
		t.Errorf("%d sessions are left", n)
	}
	h.free()
}

// Whatever is under way, Close leaves nothing, and everything ends.
func TestCloseAtAnyPoint(t *testing.T) {
	consul := single.Get(t)
	for round := range 10 {
		f := startOn(t, consul, defaultTiming)
		ctx := within(t)
		var busy sync.WaitGroup
		calls := make(chan struct{}, 1000)
		again := func(do func() error) {
			busy.Go(func() {
				for f.using.Err() == nil {
					if err := do(); err != nil && ctx.Err() != nil {
						t.Errorf("a call did not end: %v", err)
						return
					}
					select {
					case calls <- struct{}{}:
					default:
					}
				}
			})
		}
		for i := range 3 {
			dir := fmt.Sprint("d", i%2)
			s := f.open(time.Hour)
			again(func() error {
				n, _, err := s.CreateList(ctx, dir, "0", nil)
				if err != nil {
					return err
				}
				if n, err = s.Update(ctx, n, []byte("new")); err != nil {
					return err
				}
				return s.Delete(ctx, n)
			})
			again(func() error {
				if _, err := s.Create(ctx, dir, "1", nil); err != nil {
					return err
				}
				return s.Abandon(ctx, dir, "1")
			})
			again(func() error {
				nodes, err := f.List(ctx, dir)
				if err != nil || len(nodes) == 0 {
					return err
				}
				return s.WaitDelete(ctx, nodes[0])
			})
			again(func() error {
				s, err := f.OpenSession(ctx, time.Hour)
				if err != nil {
					return err
				}
				_, _ = s.Create(ctx, dir, "0", nil) // may be too late
				return s.Close(ctx)
			})
			again(func() error {
				for _, err := range f.Watch(ctx, dir) {
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		for range 10 * round { // a different moment each time
			receive(t, "a call", calls)
		}
		must(t, f.conn.Close())
		busy.Wait()
		must(t, ctx.Err())
		if n := len(f.sessionsIn()); n > 0 {
			t.Errorf("round %d: %d sessions are left", round, n)
		}
		f.wantKeys("d0", 0)
		f.wantKeys("d1", 0)
		f.wantKeys(".fence", 0)
	}
}

package sessions_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
	"github.com/coordkit/coordkit/coord/driver/sessions"
)

const ttl = 10 * time.Second

// silent is a request that gets no answer.
func silent(ctx context.Context) error {
	<-ctx.Done()
	return errors.New("silence")
}

func answer(err error) func(context.Context) error { return func(context.Context) error { return err } }

func open(t *testing.T, k *sessions.Keeper, renew, revoke func(context.Context) error) *sessions.Session {
	t.Helper()
	s := new(sessions.Session)
	err := k.Open(s, sessions.Config{Lease: lease.Config{Session: "s", TTL: ttl, Sent: time.Now(), Renew: renew}, Revoke: revoke})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wantIs(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v; want an error that Is %q", what, err, want)
	}
}

func TestSessionOutlivesItsTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := sessions.New("toy")
		defer k.Close(nil)
		s := open(t, k, answer(nil), answer(nil))
		time.Sleep(10 * ttl)
		if err := s.Err(); err != nil {
			t.Error(err)
		}
		if s.ID() != "s" || s.TTL() != ttl {
			t.Errorf("session %q with a TTL of %v", s.ID(), s.TTL())
		}
		if err := s.Do(t.Context(), s.Read("list", "a"), answer(nil)); err != nil {
			t.Error(err)
		}
	})
}

// A call under way ends with the session, and calls after it are not made.
func TestCallsEndWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := sessions.New("toy")
		defer k.Close(nil)
		s := open(t, k, silent, answer(nil))
		o := s.Read("wait", "a")
		o.Limit = time.Hour
		wantIs(t, "a wait", s.Do(t.Context(), o, silent), driver.ErrSessionLost)
		wantIs(t, "Life", context.Cause(s.Life()), driver.ErrSessionLost)
		called := false
		wantIs(t, "a later call", s.Do(t.Context(), o, func(context.Context) error { called = true; return nil }), driver.ErrSessionLost)
		if called {
			t.Error("a call was made for a lost session")
		}
	})
}

// What the store answers to a call or a renewal ends the session; and a success that comes
// after the end does not count.
func TestStoreEndsTheSession(t *testing.T) {
	lost := &driver.Error{Store: "toy", Kind: driver.ErrSessionLost}
	synctest.Test(t, func(t *testing.T) {
		k := sessions.New("toy")
		defer k.Close(nil)
		a := open(t, k, answer(nil), answer(nil))
		wantIs(t, "a call", a.Do(t.Context(), a.Write("create", "a"), answer(lost)), driver.ErrSessionLost)
		wantIs(t, "Err", a.Err(), driver.ErrSessionLost)

		b := open(t, k, answer(lost), answer(nil))
		time.Sleep(ttl / 2)
		wantIs(t, "Err after a renewal", b.Err(), driver.ErrSessionLost)

		c := open(t, k, answer(nil), answer(nil))
		late := func(context.Context) error { c.Lost(lost); return nil }
		wantIs(t, "a late success", c.Do(t.Context(), c.Write("create", "a"), late), driver.ErrSessionLost)
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := sessions.New("toy")
		defer k.Close(nil)
		answers := []error{errors.New("broken"), nil, &driver.Error{Kind: driver.ErrSessionLost}}
		asked := 0
		s := open(t, k, answer(nil), func(context.Context) error { asked++; return answers[asked-1] })
		wantIs(t, "Close without an answer", s.Close(t.Context()), driver.ErrUncertain)
		wantIs(t, "Err", s.Err(), driver.ErrClosed)
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("Close again: %v", err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("Close of what is gone: %v", err)
		}
		if asked != 3 {
			t.Errorf("the store was asked %d times; want 3", asked)
		}
	})
}

// What a session's Close could not tell the store the keeper's Close does, while the store may
// have the session.
func TestKeeperClosesWhatFailedToClose(t *testing.T) {
	for age, want := range map[time.Duration]int{0: 2, 3 * ttl: 1} {
		synctest.Test(t, func(t *testing.T) {
			k := sessions.New("toy")
			asked := 0
			s := open(t, k, answer(nil), func(context.Context) error { asked++; return errors.New("broken") })
			wantIs(t, "Close without an answer", s.Close(t.Context()), driver.ErrUncertain)
			time.Sleep(age) // virtual
			k.Close(nil)
			if asked != want {
				t.Errorf("the store was asked %d times when the keeper was closed %v later; want %d", asked, age, want)
			}
		})
	}
}

// The keeper's Close ends all sessions before it tells the store of any, takes no longer
// than it may, and calls release once, with nothing running any more. Concurrent calls
// return when the first is done.
func TestKeeperClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := sessions.New("toy")
		var all []*sessions.Session
		revoke := func(ctx context.Context) error {
			for _, s := range all {
				wantIs(t, "a session while another is revoked", s.Err(), driver.ErrClosed)
			}
			return silent(ctx)
		}
		for range 3 {
			all = append(all, open(t, k, silent, revoke))
		}
		running, released := true, 0
		k.Go(func() { <-k.Life().Done(); running = false })
		start := time.Now()
		for range 2 {
			go k.Close(nil)
		}
		synctest.Wait()
		k.Close(func() { released++ })
		if took := time.Since(start); took != 500*time.Millisecond || running || released != 0 {
			t.Errorf("Close took %v; a goroutine runs: %v; release of a later call: %d", took, running, released)
		}
		wantIs(t, "Life", context.Cause(k.Life()), driver.ErrClosed)
		if k.Go(func() {}) {
			t.Error("a goroutine was started after Close")
		}
		wantIs(t, "Open", k.Open(new(sessions.Session), sessions.Config{Lease: lease.Config{TTL: ttl, Sent: time.Now()}}), driver.ErrClosed)
		wantIs(t, "Close of a session", all[0].Close(t.Context()), driver.ErrClosed)
	})
	synctest.Test(t, func(t *testing.T) {
		k, released := sessions.New("toy"), 0
		k.Close(func() { released++ })
		k.Close(func() { released++ })
		if released != 1 {
			t.Errorf("released %d times", released)
		}
	})
}

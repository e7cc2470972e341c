package coord_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

const ttl = 9 * time.Second

// bubble gives test a client in virtual time, on a store of its own.
func bubble(t *testing.T, test func(t *testing.T, c *coord.Client, conn *mem.Conn, logs *observer.ObservedLogs)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := mem.NewStore()
		conn := store.Open("test")
		core, logs := observer.New(zapcore.DebugLevel)
		c, err := coord.New(conn, coord.Config{SessionTTL: coord.Duration(ttl), Logger: zap.New(core)})
		if err != nil {
			t.Fatal(err)
		}
		test(t, c, conn, logs)
		for range 2 { // closing is idempotent
			if err := c.Close(context.Background()); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
		synctest.Wait()
		if s := store.Stats(); s != (mem.Stats{}) {
			t.Errorf("left in the store: %+v", s)
		}
	})
}

func TestSharedSessionIsOne(t *testing.T) {
	bubble(t, func(t *testing.T, c *coord.Client, conn *mem.Conn, _ *observer.ObservedLogs) {
		var mu sync.Mutex
		ids := map[string]bool{}
		conn.Link().Delay(mem.Both, time.Millisecond) // so that all have found none before there is one
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				s, err := c.Session(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				ids[s.ID()] = true
			})
		}
		wg.Wait()
		if n := conn.Store().Stats().Sessions; len(ids) != 1 || n != 1 {
			t.Errorf("%d sessions handed out, %d in the store; want one", len(ids), n)
		}
	})
}

func TestLostSessionIsReplacedForTheNextAcquire(t *testing.T) {
	bubble(t, func(t *testing.T, c *coord.Client, conn *mem.Conn, logs *observer.ObservedLogs) {
		first, err := c.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conn.Store().Expire(first.ID())
		<-first.Done()
		<-first.Context().Done()
		for _, err := range []error{first.Err(), context.Cause(first.Context())} {
			if !errors.Is(err, coord.ErrSessionLost) {
				t.Errorf("the lost session says %v", err)
			}
		}
		second, err := c.Session(t.Context())
		if err != nil || second.ID() == first.ID() || second.Err() != nil || first.Err() == nil {
			t.Errorf("after a loss: %v, %v", second, err)
		}
		synctest.Wait()
		if logs.FilterMessage("session opened").Len() != 2 || logs.FilterMessage("session lost").Len() != 1 {
			t.Errorf("logged: %v", logs.All())
		}
	})
}

// Whoever waits for another's opening of the session waits no longer than its
// own ctx, and the other's ctx is not its own.
func TestOpeningIsBoundedByEachCallersContext(t *testing.T) {
	bubble(t, func(t *testing.T, c *coord.Client, conn *mem.Conn, _ *observer.ObservedLogs) {
		conn.Link().Freeze(mem.Both)
		open := func(d time.Duration) (time.Duration, error) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			start := time.Now()
			_, err := c.Session(ctx)
			return time.Since(start), err
		}
		var wg sync.WaitGroup
		for _, d := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second} {
			wg.Go(func() {
				if took, err := open(d); !errors.Is(err, context.DeadlineExceeded) || took != d {
					t.Errorf("under %v: %v after %v", d, err, took)
				}
			})
		}
		wg.Go(func() {
			if _, err := open(time.Minute); err != nil { // gets through when the store is back
				t.Error(err)
			}
		})
		time.Sleep(4 * time.Second)
		if err := conn.Link().Heal(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		time.Sleep(ttl) // what the first attempts may have opened has expired
	})
}

// Without a deadline, opening a session on a store that is out of reach fails
// in useful time instead of waiting for ever.
func TestOpeningGivesUpAfterTheTTL(t *testing.T) {
	bubble(t, func(t *testing.T, c *coord.Client, conn *mem.Conn, _ *observer.ObservedLogs) {
		conn.Link().Cut()
		start := time.Now()
		_, err := c.Session(context.Background())
		if took := time.Since(start); !errors.Is(err, coord.ErrUnavailable) || took < ttl || took > 2*ttl {
			t.Errorf("%v after %v", err, took)
		}
		if _, err := c.List(context.Background(), "mutex:m"); !errors.Is(err, coord.ErrUnavailable) {
			t.Errorf("List: %v", err)
		}
	})
}

// Nor do many wait for each other's openings, one after the other.
func TestManyGiveUpAfterTheTTL(t *testing.T) {
	bubble(t, func(t *testing.T, c *coord.Client, conn *mem.Conn, _ *observer.ObservedLogs) {
		conn.Link().Cut()
		start := time.Now()
		var calls sync.WaitGroup
		for range 10 {
			calls.Go(func() {
				if _, err := c.Session(context.Background()); !errors.Is(err, coord.ErrUnavailable) {
					t.Errorf("Session: %v", err)
				}
			})
		}
		calls.Wait()
		if took := time.Since(start); took > 2*ttl {
			t.Errorf("the last heard of it after %v; the TTL is %v", took, ttl)
		}
	})
}

// What one caller has tried in vain, the next, who has waited for it, need not try for as
// long again.
func TestOpeningTakesNobodyMoreThanTheTTL(t *testing.T) {
	bubble(t, func(t *testing.T, c *coord.Client, conn *mem.Conn, _ *observer.ObservedLogs) {
		conn.Link().Cut()
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * ttl / 10)
				began := time.Now()
				_, err := c.Session(t.Context())
				if took := time.Since(began); !errors.Is(err, coord.ErrUnavailable) || took > ttl+time.Second {
					t.Errorf("caller %d has waited for %v and was told %v; want ErrUnavailable after the TTL, %v", i, took, err, ttl)
				}
			})
		}
		wg.Wait()
		if err := conn.Link().Heal(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestClosedClient(t *testing.T) {
	bubble(t, func(t *testing.T, c *coord.Client, _ *mem.Conn, _ *observer.ObservedLogs) {
		shared, err := c.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		own, err := c.NewSession(t.Context(), 0)
		if err != nil || own.TTL() != ttl || own.ID() == shared.ID() {
			t.Fatalf("a dedicated session: %v", err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Session(t.Context()); !errors.Is(err, coord.ErrClosed) {
			t.Errorf("Session: %v", err)
		}
		if _, err := c.NewSession(t.Context(), 0); !errors.Is(err, coord.ErrClosed) {
			t.Errorf("NewSession: %v", err)
		}
		if _, err := c.List(t.Context(), "mutex:m"); !errors.Is(err, coord.ErrClosed) {
			t.Errorf("List: %v", err)
		}
		for _, s := range []*coord.Session{shared, own} {
			if !errors.Is(s.Err(), coord.ErrClosed) || s.Context().Err() == nil {
				t.Errorf("a session of the closed client: %v", s.Err())
			}
			if err := s.Close(t.Context()); err != nil {
				t.Errorf("closing it again: %v", err)
			}
		}
	})
}

// Close while a session is being opened leaves no session.
func TestCloseRacesOpening(t *testing.T) {
	bubble(t, func(t *testing.T, c *coord.Client, conn *mem.Conn, _ *observer.ObservedLogs) {
		held := conn.Link().Hold(mem.OpOpen)
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, err = c.Session(t.Context())
		}()
		<-held.Caught()
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		held.Release()
		<-done
		if !errors.Is(err, coord.ErrClosed) {
			t.Errorf("Session: %v", err)
		}
		time.Sleep(ttl) // what landed late has expired
	})
}

func TestSessionOwnsWhatGoStarted(t *testing.T) {
	bubble(t, func(t *testing.T, c *coord.Client, _ *mem.Conn, _ *observer.ObservedLogs) {
		s, err := c.NewSession(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		ended := false
		if !s.Go(func(ctx context.Context) { <-ctx.Done(); time.Sleep(time.Millisecond); ended = true }) {
			t.Error("Go refuses on a live session")
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if !ended {
			t.Error("Close returned before what Go had started")
		}
		if s.Go(func(context.Context) { t.Error("started") }) {
			t.Error("Go accepts on a closed session")
		}
	})
}

func TestLocalIsMadeOnce(t *testing.T) {
	bubble(t, func(t *testing.T, c *coord.Client, _ *mem.Conn, _ *observer.ObservedLogs) {
		s, err := c.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		type key struct{}
		made := 0
		for range 2 {
			if v := s.Local(key{}, func() any { made++; return "v" }); v != "v" || made != 1 {
				t.Errorf("%v, made %d times", v, made)
			}
		}
	})
}

func TestImpossibleTTLAndOwner(t *testing.T) {
	bubble(t, func(t *testing.T, c *coord.Client, conn *mem.Conn, _ *observer.ObservedLogs) {
		if _, err := c.NewSession(t.Context(), time.Millisecond); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "10ms") {
			t.Errorf("a TTL of a millisecond: %v", err)
		}
		if _, err := coord.New(conn, coord.Config{SessionTTL: -1}); !errors.Is(err, coord.ErrInvalid) {
			t.Errorf("a negative TTL: %v", err)
		}
		if _, err := coord.New(conn, coord.Config{Require: coord.CapShared}); !errors.Is(err, coord.ErrUnsupported) || !strings.Contains(err.Error(), "shared") {
			t.Errorf("a capability that mem has not: %v", err)
		}
		huge := coord.Owner{Labels: map[string]string{"x": strings.Repeat("y", coord.MaxOwner)}}
		if _, err := coord.New(conn, coord.Config{Owner: huge}); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "owner") {
			t.Errorf("owner metadata beyond the limit: %v", err)
		}
	})
}

// What a program does to the owner that it was told is its own affair.
func TestOwnerIsACopy(t *testing.T) {
	c, err := coord.New(mem.NewStore().Open("n"), coord.Config{Owner: coord.Owner{Labels: map[string]string{"zone": "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	c.Owner().Labels["zone"] = "b"
	if zone := c.Owner().Labels["zone"]; zone != "a" {
		t.Errorf("the client says that it is in zone %q; it was told %q", zone, "a")
	}
}

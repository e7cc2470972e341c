package coord_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap/zaptest/observer"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

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

// A call that pauses before it tries again ends with the client.
func TestCloseEndsRetries(t *testing.T) {
	bubble(t, func(t *testing.T, c *coord.Client, _ *mem.Conn, _ *observer.ObservedLogs) {
		var closed time.Time
		time.AfterFunc(ttl/3, func() {
			closed = time.Now()
			_ = c.Close(context.Background())
		})
		calls := 0
		err := c.Retry(t.Context(), func(context.Context) error {
			calls++
			return coord.ErrUnavailable
		})
		if late := time.Since(closed); !errors.Is(err, coord.ErrClosed) || errors.Is(err, coord.ErrUnavailable) || late != 0 {
			t.Errorf("%v, %v after the client was closed; want ErrClosed at once", err, late)
		}
		if calls < 3 {
			t.Errorf("%d attempts in a third of the TTL", calls)
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

// overdue is a context whose deadline was set by a clock that has jumped since.
type overdue struct {
	context.Context
	due time.Time
}

func (o overdue) Deadline() (time.Time, bool) { return o.due, true }

func (o overdue) Err() error {
	if o.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

func TestWithinEndsThoughItsDeadlineIsLater(t *testing.T) {
	bubble(t, func(t *testing.T, c *coord.Client, _ *mem.Conn, _ *observer.ObservedLogs) {
		s, err := c.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h := coord.NewHold(t.Context(), "thing", s, 1, nil, nil)
		parent, end := context.WithCancel(t.Context())
		work, cancel := h.Within(overdue{parent, time.Now().Add(time.Hour)})
		defer cancel()
		end()
		ended := time.Now()
		<-work.Done()
		if late := time.Since(ended); late > 100*time.Millisecond {
			t.Errorf("the work ended %v after the context that bounds it", late)
		}
	})
}

package coord_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap/zaptest/observer"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

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

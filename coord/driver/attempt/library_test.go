package attempt_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// A request that does not heed its ctx is left behind, and waited for at the end.
func TestLibrary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l attempt.Library
		answer := errors.New("an answer")
		if err := l.Do(t.Context(), func() error { return answer }); err != answer {
			t.Errorf("got %v; want %v", err, answer)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := l.Do(ctx, func() error { time.Sleep(time.Minute); return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v; want %v", err, context.DeadlineExceeded)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("returned after %v; want a second", took)
		}
		l.Wait()
		if took := time.Since(start); took != time.Minute {
			t.Errorf("waited for %v; want a minute", took)
		}
		if err := l.Do(t.Context(), func() error { return nil }); err == nil {
			t.Error("a request after the end")
		}
	})
}

// A request that meets another one is made again within the attempt. In the end it surely
// had no effect.
func TestConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := attempt.Op{Store: "toy", Name: "create", Write: true, Limit: time.Second}
		locked := attempt.Conflict(errors.New("locked"))
		calls := 0
		err := o.Do(t.Context(), context.Background(), func(context.Context) error {
			if calls++; calls < 10 {
				return locked
			}
			return nil
		})
		if err != nil || calls != 10 {
			t.Errorf("%v after %d calls; want nil after 10", err, calls)
		}
		start := time.Now()
		err = o.Do(t.Context(), context.Background(), func(context.Context) error { return locked })
		if !errors.Is(err, driver.ErrUnavailable) || errors.Is(err, driver.ErrUncertain) || time.Since(start) != time.Second {
			t.Errorf("%v after %v; want %v after a second", err, time.Since(start), driver.ErrUnavailable)
		}
	})
}

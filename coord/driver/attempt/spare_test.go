package attempt_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// made is a connection that knows whether it is closed.
type made struct{ closed bool }

func (m *made) Close() error {
	m.closed = true
	return nil
}

// A connection that takes longer than requests do is there for a later one.
func TestSpareOverASlowLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int64
		s := attempt.NewSpare(4, time.Minute, func(context.Context) (*made, error) {
			begun.Add(1)
			time.Sleep(3 * time.Second)
			return new(made), nil
		})
		start := time.Now()
		for {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			c, err := s.Get(ctx)
			cancel()
			if err == nil && c != nil {
				break
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took > 3*time.Second || begun.Load() > 4 {
			t.Errorf("there is a connection after %v and %d attempts", took, begun.Load())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if c, err := s.Get(t.Context()); err == nil {
			t.Errorf("a connection after the end: %v", c)
		}
	})
}

// No more than four connections are made at a time, however many requests give up.
func TestSpareIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int64
		s := attempt.NewSpare(4, time.Minute, func(ctx context.Context) (*made, error) {
			begun.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, _ = s.Get(ctx) // gives up
			cancel()
		}
		if n := begun.Load(); n != 4 {
			t.Errorf("%d attempts; want 4", n)
		}
		start := time.Now()
		_ = s.Close() // ends them
		if took := time.Since(start); took > 0 {
			t.Errorf("closing took %v", took)
		}
	})
}

// A connection that nobody has wanted for long may have broken.
func TestSpareThatIsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []*made
		s := attempt.NewSpare(4, time.Minute, func(context.Context) (*made, error) {
			time.Sleep(2 * time.Second)
			all = append(all, new(made))
			return all[len(all)-1], nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = s.Get(ctx) // gives up
		time.Sleep(time.Minute)
		c, err := s.Get(t.Context())
		if err != nil || len(all) != 2 || c != all[1] || !all[0].closed || all[1].closed {
			t.Errorf("got %v, %v of %+v; want a new one, and the old one closed", c, err, all)
		}
		_ = s.Close()
	})
}

func TestSpareFails(t *testing.T) {
	refused := errors.New("refused")
	s := attempt.NewSpare(4, time.Minute, func(context.Context) (*made, error) { return nil, refused })
	if _, err := s.Get(t.Context()); !errors.Is(err, refused) {
		t.Errorf("got %v; want %v", err, refused)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

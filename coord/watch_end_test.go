package coord_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// What ends the driver's watch reaches everybody, and whoever comes later
// begins anew.
func TestErrorOfTheDriversWatchReachesEverybody(t *testing.T) {
	why := errors.New("why")
	denied := &driver.Error{Op: "watch", Kind: driver.ErrDenied, Err: why}
	for name, tt := range map[string]struct{ last, want error }{
		"denied":           {denied, coord.ErrDenied},
		"with its cause":   {denied, why},
		"without an error": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end := make(chan struct{})
				conn := &tampered{change: func(ctx context.Context, s states) states {
					return func(yield func([]driver.Node, error) bool) {
						if !yield(nil, nil) {
							return
						}
						select {
						case <-end:
							if tt.last != nil {
								yield(nil, tt.last)
							}
						case <-ctx.Done():
							yield(nil, ctx.Err())
						}
					}
				}}
				w := newWatchWorld(t, func(c driver.Conn) driver.Conn { conn.Conn = c; return conn })
				var all []*watched
				for range 10 {
					all = append(all, w.observe(t.Context()))
				}
				close(end)
				synctest.Wait()
				for _, o := range all {
					<-o.done
					if o.err == nil || tt.want != nil && !errors.Is(o.err, tt.want) {
						t.Errorf("ended with %v", o.err)
					}
				}
				before := conn.total.Load()
				later := w.observe(t.Context())
				<-later.done
				if later.err == nil || conn.total.Load() != before+1 {
					t.Errorf("later: %v, %d watches more", later.err, conn.total.Load()-before)
				}
			})
		})
	}
}

// Close ends the driver's watch itself: it does not leave that to the
// connection, or to observers, which may be busy.
func TestCloseEndsTheDriversWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &tampered{change: func(ctx context.Context, _ states) states {
			return func(yield func([]driver.Node, error) bool) {
				if yield(nil, nil) {
					<-ctx.Done()
					yield(nil, ctx.Err())
				}
			}
		}}
		w := newWatchWorld(t, func(c driver.Conn) driver.Conn { conn.Conn = c; return conn })
		var errs []error
		for _, err := range w.c.Watch(t.Context(), dir) {
			if errs = append(errs, err); len(errs) == 1 {
				if err := w.c.Close(t.Context()); err != nil || conn.now.Load() != 0 {
					t.Errorf("Close: %v, %d watches are left", err, conn.now.Load())
				}
			}
		}
		if len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], coord.ErrClosed) {
			t.Errorf("yielded %v", errs)
		}
	})
}

// The ctx bounds Close also if a driver breaks its promise to end in time.
func TestCloseWithAWatchThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		conn := &tampered{change: func(context.Context, states) states {
			return func(yield func([]driver.Node, error) bool) {
				<-stuck
				yield(nil, driver.ErrClosed)
			}
		}}
		w := newWatchWorld(t, func(c driver.Conn) driver.Conn { conn.Conn = c; return conn })
		o := w.observe(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		o.ended(coord.ErrClosed)
		close(stuck)
	})
}

package coord_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// listed is a connection without a watch that counts lists, and fails them.
type listed struct {
	listOnly
	count atomic.Int32
	err   atomic.Pointer[error]
}

// manyLists are more than a test should make. The next one does not return before its ctx
// ends: without pauses between lists virtual time would stand still.
const manyLists = 10_000

func (l *listed) List(ctx context.Context, dir string) ([]driver.Node, error) {
	if l.count.Add(1) > manyLists {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := l.err.Load(); err != nil {
		return nil, *err
	}
	return l.listOnly.List(ctx, dir)
}

func (l *listed) fail(err error) { l.err.Store(&err) }

// polling gives test a client that has to list.
func polling(t *testing.T, test func(t *testing.T, w *watchWorld, conn *listed)) {
	synctest.Test(t, func(t *testing.T) {
		conn := &listed{}
		w := newWatchWorld(t, func(c driver.Conn) driver.Conn { conn.Conn = c; return conn })
		w.late = 1250 * time.Millisecond
		test(t, w, conn)
	})
}

// The store is asked about once a second, whatever the number of observers, and
// not at all without one.
func TestDirectoryIsListedOnceASecond(t *testing.T) {
	polling(t, func(t *testing.T, w *watchWorld, conn *listed) {
		ctx, cancel := context.WithCancel(t.Context())
		var all []*watched
		for range 100 {
			all = append(all, w.observe(ctx))
		}
		before := conn.count.Load()
		time.Sleep(time.Minute)
		if n := conn.count.Load() - before; n < 48 || n > 80 {
			t.Errorf("%d lists in a minute", n)
		}
		cancel()
		for _, o := range all {
			o.ended(context.Canceled)
		}
		before = conn.count.Load()
		time.Sleep(time.Minute)
		if n := conn.count.Load() - before; n != 0 {
			t.Errorf("%d lists for nobody", n)
		}
	})
}

func TestListingBacksOffAndGoesOn(t *testing.T) {
	for name, err := range map[string]error{
		"unavailable": &driver.Error{Op: "list", Kind: driver.ErrUnavailable},
		"uncertain":   &driver.Error{Op: "list", Kind: driver.ErrUncertain},
		"something":   errors.New("something"),
	} {
		t.Run(name, func(t *testing.T) {
			polling(t, func(t *testing.T, w *watchWorld, conn *listed) {
				o := w.observe(t.Context())
				o.saw("")
				w.create("0")
				conn.fail(err)
				before := conn.count.Load()
				time.Sleep(time.Hour)
				if n := conn.count.Load() - before; n < 3600/7 || n > 3600/3 {
					t.Errorf("%d lists in an hour without the store", n)
				}
				o.saw()
				conn.err.Store(nil)
				time.Sleep(6250 * time.Millisecond)
				o.saw("0=0")
				w.create("1")
				w.settle()
				o.saw("0=0 1=1")
			})
		})
	}
}

// After an outage the directory is listed once a second again, and the next outage begins
// with short pauses: of 1 s, 2 s, 4 s, and then 5 s, each longer or shorter by up to a quarter.
func TestPausesAreShortAgainAfterAnOutage(t *testing.T) {
	polling(t, func(t *testing.T, w *watchWorld, conn *listed) {
		w.observe(t.Context()).saw("")
		lists := func(d time.Duration) int {
			before := conn.count.Load()
			time.Sleep(d)
			return int(conn.count.Load() - before)
		}
		for outage := range 3 {
			conn.fail(&driver.Error{Op: "list", Kind: driver.ErrUnavailable})
			if n := lists(5 * time.Second); n != 3 {
				t.Errorf("outage %d: %d lists in its first 5 s; want 3", outage+1, n)
			}
			if n := lists(time.Minute); n < 9 || n > 17 {
				t.Errorf("outage %d: %d lists in a minute later", outage+1, n)
			}
			conn.err.Store(nil)
			time.Sleep(6250 * time.Millisecond) // the longest pause, which is under way
			if n := lists(time.Minute); n < 47 || n > 81 {
				t.Errorf("after outage %d: %d lists in a minute", outage+1, n)
			}
		}
	})
}

func TestListingEndsForWhatIsFinal(t *testing.T) {
	for _, kind := range []error{coord.ErrDenied, coord.ErrInvalid, coord.ErrClosed} {
		t.Run(kind.Error(), func(t *testing.T) {
			polling(t, func(t *testing.T, w *watchWorld, conn *listed) {
				o := w.observe(t.Context())
				o.saw("")
				conn.fail(&driver.Error{Op: "list", Kind: kind})
				w.settle()
				o.ended(kind)
				conn.err.Store(nil)
				w.observe(t.Context()).saw("")
			})
		})
	}
}

// A list that hangs does not keep a watch from ending.
func TestListThatHangs(t *testing.T) {
	polling(t, func(t *testing.T, w *watchWorld, _ *listed) {
		ctx, cancel := context.WithCancel(t.Context())
		held := w.link.Hold(mem.OpList)
		o := w.observe(ctx)
		<-held.Caught()
		cancel()
		o.ended(context.Canceled)
		held.Release()
		w.observe(t.Context()).saw("")
	})
}

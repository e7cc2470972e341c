package consul

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// V4: the end of ctx, and of the connection; also before the
// sequence has begun and while the consumer is busy.
func TestWatchEnds(t *testing.T) {
	f := start(t)
	ctx, cancel := context.WithCancelCause(within(t))
	v, open := viewing(ctx, t, f.conn, "d"), viewing(within(t), t, f.conn, "d")
	v.shows("an empty directory")
	open.shows("an empty directory")
	cancel(errors.New("enough"))
	v.ends(context.Canceled)
	if !strings.Contains(v.err.Error(), "enough") {
		t.Errorf("the end is %q, and does not say why", v.err)
	}
	viewing(ctx, t, f.conn, "d").ends(context.Canceled)

	s := f.open(time.Minute)
	short, end := context.WithCancel(within(t))
	defer end()
	states := 0
	for nodes, err := range f.Watch(short, "d") {
		if states++; states == 1 {
			n := f.create(s, "d", "0")
			open.shows("it is there", n)
			end()
			continue
		}
		if nodes != nil || states > 2 {
			t.Errorf("shows %+v after ctx's end", nodes)
		}
		wantIs(t, err, context.Canceled)
	}
	must(t, f.conn.Close())
	open.ends(driver.ErrClosed)
	viewing(within(t), t, f.conn, "d").ends(driver.ErrClosed)
}

// Close has not done yet with a session that it cannot end.
func TestWatchEndsWhenCloseBegins(t *testing.T) {
	f := start(t)
	f.open(time.Minute)
	v := viewing(within(t), t, f.conn, "d")
	v.shows("an empty directory")
	h := hold("session destroy", f.tap)
	closed := make(chan struct{})
	go func() { _ = f.conn.Close(); close(closed) }()
	receive(t, "the request", h.caught)
	v.ends(driver.ErrClosed)
	viewing(within(t), t, f.conn, "d").ends(driver.ErrClosed)
	select {
	case <-closed:
		t.Error("Close has returned before the store answered") // or the test shows nothing
	default:
	}
	h.free()
	receive(t, "Close", closed)
}

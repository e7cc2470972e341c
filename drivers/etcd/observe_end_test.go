package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/coord/driver"
)

// V4
func TestWatchEndsWithItsContext(t *testing.T) {
	f := start(t)
	o := observing(t, f.conn, "d")
	o.next("")
	o.stop()
	o.ends(context.Canceled)

	ctx, cancel := context.WithCancel(within(t))
	cancel()
	wantSent(t, "watch under an ended ctx", f.tap.during(func() {
		for nodes, err := range f.conn.Watch(ctx, "d") {
			if nodes != nil {
				t.Errorf("shown: %v", nodes)
			}
			wantIs(t, err, context.Canceled)
		}
	}), sent{})
}

// V4: and the error is not ErrUnavailable, which would be tried again.
func TestWatchEndsWithTheConnection(t *testing.T) {
	f := start(t)
	o := observing(t, f.conn, "d")
	o.next("")
	must(t, f.conn.Close())
	o.ends(driver.ErrClosed)
	after := observing(t, f.conn, "d")
	after.ends(driver.ErrClosed)
}

// V4: the sessions of the connection cannot be ended in the store, which takes
// Close a while. The watches do not wait for that.
func TestWatchEndsWhenCloseBegins(t *testing.T) {
	member := single.Get(t).Member(0)
	timing := defaultTiming
	timing.parting = patience
	f := startOn(t, single.Get(t).ClientConfig(), single.Get(t).ClientConfig(), timing)
	f.open(time.Minute)
	o := observing(t, f.conn, "d")
	o.next("")
	must(t, member.Freeze())
	defer func() { must(t, member.Thaw()) }()
	closed := make(chan error, 1)
	go func() { closed <- f.conn.Close() }()
	o.ends(driver.ErrClosed)
	select {
	case <-closed:
		t.Error("Close has not waited for the store, so this proves nothing")
	default:
	}
	must(t, member.Thaw())
	must(t, receive(t, "Close", closed))
}

// V5: each watch is one on the server, all are on one stream, and each goes at
// once with its loop.
func TestWatchLeavesNothing(t *testing.T) {
	timing := defaultTiming
	timing.feeds.tick = 2 * patience // nothing is left to the clock
	f := startOn(t, single.Get(t).ClientConfig(), single.Get(t).ClientConfig(), timing)
	member := single.Get(t).Member(0)
	eventually(t, "no watches of earlier tests", func() bool { return openWatches(t, member) == 0 })
	const many = 20
	var all []*observation
	got := f.tap.during(func() {
		for i := range many {
			o := observing(t, f.conn, fmt.Sprint("d", i%3))
			o.next("")
			all = append(all, o)
		}
	})
	if got["Watch"] != 1 {
		t.Errorf("%d streams", got["Watch"])
	}
	if n := openWatches(t, member); n != many {
		t.Errorf("%d watches on the server; want %d", n, many)
	}
	for _, o := range all[1:] {
		o.stop()
		o.ends(context.Canceled)
	}
	eventually(t, "one watch", func() bool { return openWatches(t, member) == 1 })
	s := f.open(time.Minute)
	f.create(s, "d0", "0")
	all[0].next("0=0")
	all[0].stop()
	all[0].ends(context.Canceled)
	eventually(t, "no watch", func() bool { return openWatches(t, member) == 0 })
	eventually(t, "no stream", func() bool {
		f.feeds.mu.Lock()
		defer f.feeds.mu.Unlock()
		return f.feeds.empty() && !f.feeds.serving
	})
}

// Watches that end before they have begun.
func TestWatchesThatEndEarly(t *testing.T) {
	f := start(t)
	member := single.Get(t).Member(0)
	eventually(t, "no watches of earlier tests", func() bool { return openWatches(t, member) == 0 })
	for i := range 50 {
		ctx, cancel := context.WithTimeout(within(t), time.Duration(i)*100*time.Microsecond)
		for _, err := range f.conn.Watch(ctx, "d") {
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		cancel()
	}
	eventually(t, "no watch", func() bool { return openWatches(t, member) == 0 })
}

// V2, V3: a counter that only rises is never shown to fall, whatever breaks.
func TestWatchNeverGoesBack(t *testing.T) {
	t.Parallel()
	f, proxy := throughProxy(t, swift())
	direct := startOn(t, single.Get(t).ClientConfig(), single.Get(t).ClientConfig(), defaultTiming)
	direct.keyspace = f.keyspace
	s := direct.open(time.Minute)
	n := direct.create(s, "d", "0")
	o := observing(t, f.conn, "d")
	o.next("0=0")
	const last = 300
	for i := range last {
		if i%30 == 0 {
			proxy.DropConnections()
		}
		if i%50 == 0 {
			resp, err := f.admin.Put(within(t), string(f.keyspace)+"/noise", "")
			must(t, err)
			_, err = f.admin.Compact(within(t), resp.Header.Revision, clientv3.WithCompactPhysical())
			must(t, err)
		}
		_, err := s.Update(within(t), n, []byte(fmt.Sprint(1+i)))
		must(t, err)
	}
	_, err := f.admin.Delete(within(t), string(f.keyspace)+"/noise")
	must(t, err)
	for before := 0; before < last; {
		nodes := receive(t, "the next state", o.states)
		if len(nodes) != 1 {
			t.Fatalf("shown: %q", shown(nodes))
		}
		now, err := strconv.Atoi(string(nodes[0].Data))
		must(t, err)
		if now < before {
			t.Fatalf("%d was shown after %d", now, before)
		}
		before = now
	}
}

package etcd

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		begin := func(limit time.Duration) (context.Context, *timed) {
			ctx, cancel := context.WithCancel(context.Background())
			return ctx, l.begin(limit, cancel)
		}
		long, _ := begin(5 * time.Second)
		short, _ := begin(time.Second) // is due before the one that began before
		done, a := begin(time.Second)
		l.end(a)
		time.Sleep(time.Second - time.Nanosecond)
		if short.Err() != nil {
			t.Error("ended too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if short.Err() == nil || long.Err() != nil || done.Err() != nil {
			t.Errorf("after a second: %v, %v, %v", short.Err(), long.Err(), done.Err())
		}
		later, _ := begin(10 * time.Second)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if long.Err() == nil || later.Err() != nil {
			t.Errorf("after five seconds: %v, %v", long.Err(), later.Err())
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if later.Err() == nil || len(l.running) > 0 || !l.due.IsZero() {
			t.Errorf("in the end: %v, %d running, due %v", later.Err(), len(l.running), l.due)
		}
		last, _ := begin(time.Second) // the timer had run out
		l.close()
		time.Sleep(time.Minute)
		if last.Err() != nil {
			t.Error("closed, and still running")
		}
	})
}

package limit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group
		begin := func(limit time.Duration) (context.Context, *Limit) {
			ctx, cancel := context.WithCancel(context.Background())
			return ctx, g.Begin(limit, cancel)
		}
		long, _ := begin(5 * time.Second)
		short, _ := begin(time.Second) // is due before the one that began before
		done, a := begin(time.Second)
		a.End()
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
		if later.Err() == nil || len(g.running) > 0 || !g.due.IsZero() {
			t.Errorf("in the end: %v, %d running, due %v", later.Err(), len(g.running), g.due)
		}
		last, _ := begin(time.Second) // the timer had run out
		g.Close()
		after, _ := begin(time.Second)
		time.Sleep(time.Minute)
		if last.Err() != nil || after.Err() != nil {
			t.Error("closed, and still running")
		}
	})
}

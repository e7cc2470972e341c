package trial

import (
	"context"
	"sync"
	"time"
)

// clock knows how late the timers of this process ran. Where milliseconds are
// promised, a process whose own timers are late is given that much more.
type clock struct {
	mu    sync.Mutex
	due   time.Time // of the next beat
	late  []beat
	worst time.Duration
}

// beat is a timer that ran late.
type beat struct {
	at time.Time
	by time.Duration
}

const (
	beatEvery  = 10 * time.Millisecond
	beatIgnore = 2 * time.Millisecond // what timers are off by always
)

// run beats until stop is closed.
func (c *clock) run(stop <-chan struct{}) {
	timer := time.NewTimer(beatEvery)
	defer timer.Stop()
	for {
		c.mu.Lock()
		c.due = time.Now().Add(beatEvery)
		c.mu.Unlock()
		select { // a last beat more or less changes nothing
		case <-stop:
			return
		case <-timer.C:
		}
		c.mu.Lock()
		now := time.Now()
		if by := now.Sub(c.due); by > beatIgnore {
			c.late = append(c.late, beat{now, by})
			c.worst = max(c.worst, by)
		}
		c.mu.Unlock()
		timer.Reset(beatEvery)
	}
}

// since is how late timers were since a time, all together.
func (c *clock) since(t time.Time) (sum time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.late) - 1; i >= 0 && c.late[i].at.After(t); i-- {
		sum += c.late[i].by
	}
	return sum + max(0, time.Since(c.due))
}

// overdue is how long ago a time was, less what timers were late since.
func (c *clock) overdue(end time.Time) time.Duration {
	return max(0, time.Since(end)-c.since(end))
}

// overdueOf is overdue of ctx's deadline, if that has passed.
func (c *clock) overdueOf(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok && ctx.Err() != nil {
		return c.overdue(deadline)
	}
	return 0
}

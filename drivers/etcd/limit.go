package etcd

import (
	"context"
	"sync"
	"time"
)

// limits ends attempts that take too long. They are made by the millisecond, and
// few take a hundredth of their limit. So one timer serves them all, and is not
// stopped when the last has ended: starting one for each wakes a thread of the
// runtime more often than not. Nor is a limit the deadline of a ctx, which the
// server would be told with every request, to no use (a caller's is).
type limits struct {
	mu      sync.Mutex
	running map[*timed]struct{}
	due     time.Time // when the timer runs; zero: it does not
	timer   *time.Timer
}

// timed is an attempt under its limit.
type timed struct {
	due    time.Time
	cancel context.CancelFunc
}

func newLimits() *limits { return &limits{running: make(map[*timed]struct{})} }

// begin has cancel called after so long, unless end is called before.
func (l *limits) begin(limit time.Duration, cancel context.CancelFunc) *timed {
	a := &timed{time.Now().Add(limit), cancel}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[a] = struct{}{}
	l.runLocked(a.due)
	return a
}

func (l *limits) end(a *timed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, a)
}

// runLocked has the timer run at a time, if not before.
func (l *limits) runLocked(due time.Time) {
	switch {
	case !l.due.IsZero() && !due.Before(l.due):
		return
	case l.timer == nil:
		l.timer = time.AfterFunc(time.Until(due), l.expire)
	default:
		l.timer.Reset(time.Until(due))
	}
	l.due = due
}

// expire ends the attempts that are due.
func (l *limits) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due = time.Time{}
	now := time.Now()
	for a := range l.running {
		if a.due.After(now) {
			l.runLocked(a.due)
			continue
		}
		a.cancel()
		delete(l.running, a)
	}
}

// close is called when nothing begins any more.
func (l *limits) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
}

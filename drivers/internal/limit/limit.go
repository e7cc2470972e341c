// Package limit ends what takes too long, for drivers.
//
// Requests are made by the millisecond, and few take a hundredth of their limit. So
// one timer serves all of a connection, and is not stopped when the last has ended:
// starting one for each wakes a thread of the runtime more often than not.
package limit

import (
	"sync"
	"time"
)

// Group is the limits of a connection. The zero value is ready for use. It is safe
// for concurrent use.
type Group struct {
	mu      sync.Mutex
	running map[*Limit]struct{}
	due     time.Time // when the timer runs; zero: it does not
	timer   *time.Timer
	closed  bool
}

// Limit is one that was begun.
type Limit struct {
	group    *Group
	due      time.Time
	exceeded func()
}

// Begin has exceeded called after d, once, unless End is called before. exceeded must
// not block, nor use the group.
func (g *Group) Begin(d time.Duration, exceeded func()) *Limit {
	l := &Limit{g, time.Now().Add(d), exceeded}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running == nil {
		g.running = make(map[*Limit]struct{})
	}
	g.running[l] = struct{}{}
	g.runLocked(l.due)
	return l
}

// End ends the limit. When it returns exceeded has been called or never will be. It
// is idempotent.
func (l *Limit) End() {
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	delete(l.group.running, l)
}

// runLocked has the timer run at a time, if not before.
func (g *Group) runLocked(due time.Time) {
	switch {
	case g.closed, !g.due.IsZero() && !due.Before(g.due):
		return
	case g.timer == nil:
		g.timer = time.AfterFunc(time.Until(due), g.expire)
	default:
		g.timer.Reset(time.Until(due))
	}
	g.due = due
}

// expire ends what is due.
func (g *Group) expire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.due = time.Time{}
	now := time.Now()
	for l := range g.running {
		if l.due.After(now) {
			g.runLocked(l.due)
			continue
		}
		l.exceeded()
		delete(g.running, l)
	}
}

// Close stops the timer: nothing is ended any more, neither what is running nor what
// begins later, which something else is to end.
func (g *Group) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.timer != nil {
		g.timer.Stop()
	}
}

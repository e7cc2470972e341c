package queue

import (
	"context"
	"sync"
	"time"
)

// guardDelay is how long an entry holds before it is watched for being deleted by
// somebody else: an operator who evicts a holder can wait that long. Most locks are
// held for less, and never pay for the watch. The same goes for who waits and will
// be granted without another look at the store. Others who wait find out when the
// turn comes, and are watched only when that takes longer than the session's TTL.
const guardDelay = 100 * time.Millisecond

// guards are the entries of a session that have not stood for long yet, of one
// kind. They come and go by the microsecond, so there is one timer for all, which
// is not stopped when the last has left.
type guards struct {
	delay       time.Duration
	patrols     bool // crowds are patrolled
	mu          sync.Mutex
	first, last *Entry // in the order in which they are due; who is patrolled is not in it
	timer       *time.Timer
	set         bool // the timer is to run
}

// guarding is an entry's place among guards, whose lock guards it.
type guarding struct {
	listed, patrolled bool
	due               time.Time
	prev, next        *Entry
}

// join has e watched when it is due, unless it leaves before.
func (g *guards) join(e *Entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list(e)
}

func (g *guards) list(e *Entry) {
	e.guarding = guarding{listed: true, due: time.Now().Add(g.delay), prev: g.last}
	if g.last == nil {
		g.first = e
	} else {
		g.last.guarding.next = e
	}
	g.last = e
	switch {
	case g.set:
	case g.timer == nil:
		g.timer = time.AfterFunc(g.delay, g.mount)
	default:
		g.timer.Reset(g.delay)
	}
	g.set = true
}

// leave is the reverse of join. It reports false if e was not there any more.
func (g *guards) leave(e *Entry) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.guarding.patrolled {
		e.guarding = guarding{}
		return true
	}
	return g.unlist(e)
}

func (g *guards) unlist(e *Entry) bool {
	at := e.guarding
	if !at.listed {
		return false
	}
	if at.prev == nil {
		g.first = at.next
	} else {
		at.prev.guarding.next = at.next
	}
	if at.next == nil {
		g.last = at.prev
	} else {
		at.next.guarding.prev = at.prev
	}
	e.guarding = guarding{}
	return true
}

// mount starts to watch those that are due.
func (g *guards) mount() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, wait := time.Now(), time.Duration(0)
	crowds := make(map[string][]*Entry) // by directory
	for g.first != nil && !g.first.guarding.due.After(now) {
		e := g.first
		g.unlist(e)
		if g.patrols && e.patrollable() {
			e.guarding.patrolled = true
			crowds[e.dir] = append(crowds[e.dir], e)
		} else {
			e.session.Go(e.watchOwn)
		}
	}
	for _, crowd := range crowds {
		crowd[0].session.Go(func(ctx context.Context) { g.patrol(ctx, crowd) })
		wait = g.delay / 10 // so that others are due together
	}
	if g.set = g.first != nil; g.set {
		g.timer.Reset(max(wait, g.first.guarding.due.Sub(now)))
	}
}

// guardAmong has the entry watched when that is due among some, if that is not
// done and if it has not been among those who are watched sooner.
func (e *Entry) guardAmong(g *guards) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.leaving:
		return
	case e.guards == nil:
	case e.guards.again(e): // for the patrol may take long, and it may be granted now
		return
	case e.guards.delay <= g.delay || !e.guards.leave(e):
		return
	}
	e.guards = g
	g.join(e)
}

// guardNow has the entry watched from now on.
func (e *Entry) guardNow() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.leaving || e.guards != nil && !e.guards.leave(e) {
		return
	}
	e.guards = &e.roster.holding
	e.session.Go(e.watchOwn)
}

// watchOwn waits for the entry's own deletion until the entry leaves.
func (e *Entry) watchOwn(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.mu.Lock()
	if e.leaving {
		e.mu.Unlock()
		return
	}
	e.interrupt = cancel
	e.mu.Unlock()
	if persist(ctx, e.queue.client, func(ctx context.Context) error {
		return e.session.Driver().WaitDelete(ctx, e.node)
	}) {
		e.vanishUnasked()
	}
}

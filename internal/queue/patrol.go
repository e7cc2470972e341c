package queue

import (
	"context"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// leastPatrolled is among how many guards those who wait are looked after together
// where the store allows it, instead of by a watch each: that takes a goroutine of
// every waiter's, and for one who waits not much longer than until it is watched costs
// as much as the rest of its turn.
const leastPatrolled = 64

// patrollable reports whether a look at the line now and then does for a watch. It
// tells of a removal by the delay of the guards later; so it is for those who wait,
// of whom the longer a turn is, the fewer are granted in that time.
func (e *Entry) patrollable() bool {
	return e.queue.client.Caps().Has(driver.CapCheapList) && !e.granted.Load()
}

// patrol looks whether entries that were due are still in their lines, and has them
// due again. What the store does not answer is asked again then.
func (g *guards) patrol(ctx context.Context, due []*Entry) {
	type look struct {
		line []driver.Node
		next int // what is likely to be the index of the next entry: they are due in the order of joining
		ok   bool
	}
	lines := make(map[string]*look)
	for _, e := range due {
		l := lines[e.dir]
		if l == nil {
			line, err := e.session.Driver().List(ctx, e.dir)
			l = &look{line: line, ok: err == nil}
			lines[e.dir] = l
		}
		switch {
		case !l.ok:
		case l.next < len(l.line) && l.line[l.next].Same(e.node):
			l.next++
		default:
			own, there := e.find(l.line)
			if !there {
				e.session.Go(func(context.Context) { e.vanishUnasked() })
				continue
			}
			l.next = own + 1
		}
	}
	now := time.Now()
	for _, e := range due {
		e.guardAgain(g, now)
	}
}

// guardAgain has an entry due again that was patrolled, unless it has left or is
// looked after in another way by now.
func (e *Entry) guardAgain(g *guards, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.guards != g { // whose lock it is that guards e.guarding
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.guarding.patrolled {
		g.list(e, now)
	}
}

package queue

import (
	"context"

	"github.com/coordkit/coordkit/coord/driver"
)

// leastPatrolled is how many entries of one session make a crowd of a line. Those of
// them who wait are looked for together where the store allows it, and not watched: a
// watch takes a goroutine, and for one who waits not much longer than until it is
// watched it costs as much as the rest of its turn.
const leastPatrolled = 64

// patrollable reports whether a look at the line now and then, by the delay of guards,
// does for a watch. Who was removed since the last look may be granted, as may who has
// not waited for so long that it is watched, and hears of it as a holder, who is.
func (e *Entry) patrollable() bool {
	return !e.granted.Load() && e.queue.client.Caps().Has(driver.CapCheapList) && e.roster.crowds(e.dir)
}

// crowds reports whether there is a crowd of the session's in a directory.
func (r *roster) crowds(dir string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.slots[dir].used >= leastPatrolled
}

// patrol looks whether entries of a line that were due are still in it, and has them
// due again. What the store does not answer is asked again then.
func (g *guards) patrol(ctx context.Context, crowd []*Entry) {
	line, err := crowd[0].session.Driver().List(ctx, crowd[0].dir)
	next := 0 // what is likely to be the index of the next entry: they are due in the order of joining
	for _, e := range crowd {
		switch {
		case err != nil:
		case next < len(line) && line[next].Same(e.node):
			next++
		default:
			own, there := e.find(line)
			if !there {
				e.session.Go(func(context.Context) { e.vanishUnasked() })
				continue
			}
			next = own + 1
		}
		g.again(e)
	}
}

// again has an entry due again that is patrolled, and takes it from the patrol. It
// reports false if it is not patrolled: it has left, or is due in another way by now.
func (g *guards) again(e *Entry) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !e.guarding.patrolled {
		return false
	}
	g.list(e)
	return true
}

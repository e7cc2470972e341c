package queue

import (
	"context"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// Whoever is told that the one ahead has gone looks at the line, as that one may
// have given up its place with others still ahead. Where such a look takes long
// (see driver.CapWaitAhead), whoever is told that the one before that has gone can
// look meanwhile, and then needs no more than to be told once. It takes a watch of
// three entries instead of one, and tells two of each release; so it is done where
// it counts, which is where who has let go comes back at once, and in long lines.

// hurry is how soon after a release by its session an entry joins that is in a
// hurry. It is far longer than a program takes for its next request that does nothing
// else, and shorter than what is noticed as a pause.
const hurry = 100 * time.Millisecond

// crowd is how many are ahead in a line that is long: the look at it takes long, and
// there are that many who wait for each.
const crowd = 16

// aheadPays reports whether it ever pays to look ahead in this line.
func (q *Queue) aheadPays() bool {
	return q.firstHolds && q.client.Caps().Has(driver.CapWaitAhead)
}

// looksAhead reports whether the entry is to wait for its blocker and for the one
// before that, of which there is one. own is its place in the line.
func (e *Entry) looksAhead(v Verdict, line []driver.Node, own int) bool {
	pays := e.hurried || own >= crowd && e.queue.aheadPays()
	if !pays || own < 2 || !v.Blocker.Same(line[own-1]) {
		return false
	}
	_, any := driver.As[driver.AnyWaiter](e.session.Driver())
	return any && e.roster.find(v.Blocker.Key, v.Blocker.Token) == nil
}

// outliveEither waits until the blocker or the one before it is gone. It reports
// whether it is the latter: the line has moved, and the blocker is still there.
// Otherwise it returns what outlive does.
func (e *Entry) outliveEither(ctx context.Context, v Verdict, before driver.Node) (moved, granted bool, _ error) {
	fast, _ := driver.As[driver.AnyWaiter](e.session.Driver())
	i, err := fast.WaitAny(ctx, []driver.Node{e.node, before, v.Blocker})
	switch {
	case err != nil && e.over() == nil && ctx.Err() == nil:
		// Whatever is the matter, it may be with the one before, which need not be
		// waited for.
		granted, err = e.outlive(ctx, v)
		return false, granted, err
	case err != nil:
		_, err = e.outlived(ctx, v, err)
		return false, false, err
	case i == 0:
		return false, false, e.whyGone(ctx)
	}
	return i == 1, false, nil
}

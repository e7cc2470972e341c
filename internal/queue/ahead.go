package queue

import (
	"context"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// Whoever is told that the one ahead has gone looks at the line, as that one may
// have given up its place with others still ahead. Where such a look takes long
// (see driver.CapWaitAhead), whoever is told that the one before that has gone can
// look meanwhile, and then needs no more than to be told once. It costs a second
// watch and a second message for each that waits; so it is done where it counts,
// which is where who has let go comes back at once.

// hurry is how soon after a release of this process an entry joins that is in a
// hurry. It is far longer than a release takes to be followed by the next request of
// a program that does nothing else, and shorter than what is noticed as a pause.
const hurry = 100 * time.Millisecond

// looksAhead reports whether the entry, which is not next but may be the one after
// that, is to wait for its blocker and the one ahead of that.
func (e *Entry) looksAhead(v Verdict) bool {
	return e.hurried && e.queue.firstHolds && e.queue.client.Caps().Has(driver.CapWaitAhead) &&
		e.roster.find(v.Blocker.Key, v.Blocker.Token) == nil
}

// outliveEither waits until the blocker or the one before it is gone, and reports
// whether that is all: the line has moved, and the blocker is still there.
func (e *Entry) outliveEither(ctx context.Context, before, blocker driver.Node) (moved bool, _ error) {
	fast, _ := driver.As[driver.AnyWaiter](e.session.Driver())
	i, err := fast.WaitAny(ctx, []driver.Node{e.node, before, blocker})
	switch {
	case err != nil:
		_, err = e.outlived(ctx, Verdict{}, err)
		return false, err
	case i == 0:
		return false, e.whyGone(ctx)
	}
	return i == 1, nil
}

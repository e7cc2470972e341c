package watch

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// List is what a directory holds at one moment.
type List struct {
	// Nodes are in the order of Seq. They are not changed any more.
	Nodes []driver.Node

	// At is the point in the store's history at which the list is true, on the scale of
	// Node.Version: every node whose Version is at most At is in Nodes, or gone.
	At uint64
}

// Follow shows a directory by calling show, at once and again soon after every change,
// until ctx ends or an error comes, which it returns. Changes in quick succession may be
// shown as one. It may show a state again, and may show an older one after a newer one.
//
// An error that is driver.Transient makes the hub call it again, at once at first and then
// more and more rarely, up to once a second. Any other error ends the waits and watches.
type Follow func(ctx context.Context, dir string, show func(List)) error

// The pauses between attempts to follow.
const (
	shortest = 10 * time.Millisecond
	longest  = time.Second
)

// Heal follows until ctx ends or an error comes that is not transient, which it returns. It
// is for drivers that follow something by themselves. Each call of show makes the pauses
// short again.
func (f Follow) Heal(ctx context.Context, dir string, show func(List)) error {
	for pause := shortest; ; pause = min(2*pause, longest) {
		err := f(ctx, dir, func(l List) {
			pause = shortest
			show(l)
		})
		if ctx.Err() != nil || !driver.Transient(err) {
			return err
		}
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

package conformance

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// wakes counts what the store tells clients.
type wakes struct {
	watches   atomic.Int64 // watches of the line that were begun
	following atomic.Int64 // watches that are under way
	states    atomic.Int64 // that they were shown

	mu    sync.Mutex
	woken map[wake]bool
}

// wake is the deletion of a node that a session has waited for. To be told twice,
// because the list that was looked at next was behind, is to be woken once. A holder
// that watches its own node may be told of its own release: that wakes nobody.
type wake struct{ session, key string }

func (n *wakes) add(s driver.Session, gone driver.Node) {
	if gone.Session == s.ID() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.woken == nil {
		n.woken = make(map[wake]bool)
	}
	n.woken[wake{s.ID(), fmt.Sprintf("%s %d", gone.Key, gone.Token)}] = true
}

// next returns how many were woken since it was last called, how many watches were begun,
// and how many states they were shown.
func (n *wakes) next() (woken, watches, states int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	woken, n.woken = len(n.woken), nil
	return woken, int(n.watches.Swap(0)), int(n.states.Swap(0))
}

// counted is a client whose wakes are counted.
func (t *Trial) counted(n *wakes) *coord.Client {
	return t.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		if c.op == "Watch" {
			n.watches.Add(1)
			c.shows = func() { n.states.Add(1) }
			n.following.Add(1)
			defer n.following.Add(-1)
		}
		err := next(ctx)
		if err == nil && (c.op == "WaitDelete" || c.op == "WaitAny") {
			n.add(c.session, c.nodes[c.gone])
		}
		return err
	})
}

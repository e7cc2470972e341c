package sabotage

import (
	"context"
	"errors"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
)

// signal tells all who wait for it.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// next is closed when the signal fires next.
func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// over reports whether a channel is closed.
func over(done <-chan struct{}) bool {
	select { // a look, not a wait
	case <-done:
		return true
	default:
		return false
	}
}

// ctxEnded reports whether err is that of a ctx.
func ctxEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// same reports whether the list holds that very node.
func same(nodes []driver.Node, n driver.Node) bool {
	for _, m := range nodes {
		if m.Same(n) {
			return true
		}
	}
	return false
}

// unchanged reports whether a node is the same and was not updated.
func unchanged(a, b driver.Node) bool { return a.Same(b) && a.Version == b.Version }

// named returns the node of a list that has the key.
func named(nodes []driver.Node, key string) (driver.Node, bool) {
	for _, m := range nodes {
		if m.Key == key {
			return m, true
		}
	}
	return driver.Node{}, false
}

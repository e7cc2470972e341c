package sabotage

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// until waits for nothing until ctx or the session ends.
func (s *session) until(ctx context.Context) error {
	select { // if both have ended either is true
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Session.Done():
		return s.Session.Err()
	}
}

// waitOr waits as the sound session does, and also ends, without an error, when event fires.
func (s *session) waitOr(ctx context.Context, n driver.Node, event <-chan struct{}) (fired bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.Session.WaitDelete(ctx, n) }() // ends with ctx
	select {                                             // if both are ready the sabotage does its worst half of the time
	case <-event:
		return true, nil
	case err := <-done:
		return false, err
	}
}

// afterWait makes the Apply of a sabotage that replaces what a wait returns.
func afterWait(replace func(ctx context.Context, s *session, n driver.Node, err error) error) func(conformance.Harness) conformance.Harness {
	return eachSession(func(s *session) {
		s.wait = func(ctx context.Context, n driver.Node) error {
			return replace(ctx, s, n, s.Session.WaitDelete(ctx, n))
		}
	})
}

// deafAfter makes the waits under way hang when the link breaks.
func deafAfter(breaks func(*conn) <-chan struct{}) func(conformance.Harness) conformance.Harness {
	return eachSession(func(s *session) {
		s.wait = func(ctx context.Context, n driver.Node) error {
			broken, err := s.waitOr(ctx, n, breaks(s.conn))
			if broken {
				return s.until(ctx)
			}
			return err
		}
	})
}

// onlyDeletes hides from waits what was not deleted by a driver.
func onlyDeletes(h conformance.Harness) conformance.Harness {
	var deleted sync.Map // by key and token
	name := func(n driver.Node) string { return fmt.Sprint(n.Key, " ", n.Token) }
	return onSession(h, func(s *session) {
		s.remove = func(ctx context.Context, n driver.Node) error {
			deleted.Store(name(n), true)
			return s.Session.Delete(ctx, n)
		}
		s.wait = func(ctx context.Context, n driver.Node) error {
			err := s.Session.WaitDelete(ctx, n)
			if _, ok := deleted.Load(name(n)); err == nil && !ok {
				return s.until(ctx)
			}
			return err
		}
	})
}

// wakeOnUpdate ends waits when their node is updated.
func wakeOnUpdate(h conformance.Harness) conformance.Harness {
	var mu sync.Mutex
	updates := make(map[string]*signal) // by key, which holds the namespace
	of := func(n driver.Node) *signal {
		mu.Lock()
		defer mu.Unlock()
		if updates[n.Key] == nil {
			updates[n.Key] = new(signal)
		}
		return updates[n.Key]
	}
	return onSession(h, func(s *session) {
		s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
			m, err := s.Session.Update(ctx, n, data)
			if err == nil {
				of(n).fire()
			}
			return m, err
		}
		s.wait = func(ctx context.Context, n driver.Node) error {
			_, err := s.waitOr(ctx, n, of(n).next())
			return err
		}
	})
}

// notKnownIsGone keeps a picture of each directory that somebody waits in, and renews it
// now and then.
func notKnownIsGone(h conformance.Harness) conformance.Harness {
	return onSession(h, func(s *session) {
		var mu sync.Mutex
		waits := make(map[string]int) // by directory
		known := newStale()
		s.wait = func(ctx context.Context, n driver.Node) error {
			mu.Lock()
			if waits[n.Dir]++; waits[n.Dir] == 1 {
				known.forget(n.Dir)
			}
			mu.Unlock()
			defer func() {
				mu.Lock()
				waits[n.Dir]--
				mu.Unlock()
			}()
			nodes, err := known.list(ctx, n.Dir, s.Session.List)
			if _, ok := named(nodes, n.Key); err == nil && !ok {
				return nil
			}
			return s.Session.WaitDelete(ctx, n)
		}
	})
}

// withoutVersions has lists show nodes without their Version, and breaks sessions.
func withoutVersions(sabotage func(*session)) func(conformance.Harness) conformance.Harness {
	return func(h conformance.Harness) conformance.Harness {
		return onSession(relist(func(_ string, nodes []driver.Node) []driver.Node {
			nodes = slices.Clone(nodes)
			for i := range nodes {
				nodes[i].Version = 0
			}
			return nodes
		})(h), sabotage)
	}
}

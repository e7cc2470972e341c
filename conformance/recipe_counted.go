package conformance

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// wakes counts what the store tells clients.
type wakes struct {
	watches atomic.Int64 // watches of the line that were begun

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

// next returns how many were woken since it was last called, and how many watches
// were begun.
func (n *wakes) next() (woken, watches int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	woken, n.woken = len(n.woken), nil
	return woken, int(n.watches.Swap(0))
}

// counted is a client whose wakes are counted.
func (t *Trial) counted(n *wakes) *coord.Client {
	conn := t.Open()
	c := countedConn{conn, n}
	if _, ok := driver.As[driver.Watcher](conn); ok {
		return t.clientOn(countedWatcher{c})
	}
	return t.clientOn(c)
}

type countedConn struct {
	driver.Conn
	n *wakes
}

// Unwrap makes the connection's other abilities reachable.
func (c countedConn) Unwrap() any { return c.Conn }

func (c countedConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	if fast, ok := driver.As[driver.AnyWaiter](s); ok {
		return countedAnyWaiter{countedSession{s, c.n}, fast}, nil
	}
	return countedSession{s, c.n}, nil
}

type countedWatcher struct{ countedConn }

func (c countedWatcher) Watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	f, _ := driver.As[driver.Watcher](c.Conn) // it is there, or there were no countedWatcher
	c.n.watches.Add(1)
	return f.Watch(ctx, dir)
}

type countedSession struct {
	driver.Session
	n *wakes
}

// Unwrap makes the session's other abilities reachable.
func (s countedSession) Unwrap() any { return s.Session }

func (s countedSession) WaitDelete(ctx context.Context, n driver.Node) error {
	err := s.Session.WaitDelete(ctx, n)
	if err == nil {
		s.n.add(s.Session, n)
	}
	return err
}

type countedAnyWaiter struct {
	countedSession
	fast driver.AnyWaiter
}

func (s countedAnyWaiter) WaitAny(ctx context.Context, nodes []driver.Node) (int, error) {
	i, err := s.fast.WaitAny(ctx, nodes)
	if err == nil {
		s.n.add(s.Session, nodes[i])
	}
	return i, err
}

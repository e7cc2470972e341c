package conformance_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/internal/sabotage"
	"github.com/coordkit/coordkit/coord/driver"
)

// variants are the reference driver in the forms in which the recipes use a driver
// in different ways. All of them keep the contract.
func variants() map[string]conformance.Harness {
	return map[string]conformance.Harness{
		"fast paths":    memHarness(time.Second),
		"no fast paths": plain(memHarness(time.Second)),
		"names":         sabotage.Names(memHarness(time.Second)),
		"weak":          wrapped(memHarness(time.Second), func(c driver.Conn) driver.Conn { return weakConn{c} }),
	}
}

// weakConn is one that does what the contract allows and the reference driver does not:
// a session's list may be behind what others did, and a wait may break.
type weakConn struct{ driver.Conn }

// Unwrap makes the connection's watch reachable.
func (c weakConn) Unwrap() any { return c.Conn }

func (c weakConn) Caps() driver.Caps {
	return c.Conn.Caps() &^ (driver.CapCreateList | driver.CapWaitAny)
}

func (c weakConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return &weakSession{Session: s, seen: make(map[string]sight)}, nil
}

type weakSession struct {
	driver.Session
	mu   sync.Mutex
	seen map[string]sight // by directory; none since the session's last write
}

// sight is a list and when it was made.
type sight struct {
	nodes []driver.Node
	at    time.Time
}

// behind is how far a list may be behind.
const behind = 30 * time.Millisecond

func (s *weakSession) List(ctx context.Context, dir string) ([]driver.Node, error) {
	s.mu.Lock()
	before, any := s.seen[dir]
	s.mu.Unlock()
	if any && time.Since(before.at) < behind && s.Err() == nil && ctx.Err() == nil {
		return slices.Clone(before.nodes), nil
	}
	now := time.Now()
	nodes, err := s.Session.List(ctx, dir)
	if err == nil {
		s.mu.Lock()
		s.seen[dir] = sight{nodes, now}
		s.mu.Unlock()
	}
	return nodes, err
}

// wrote has the next lists be of now: a session sees what it has written, and what came
// before. A list under way is not of now.
func (s *weakSession) wrote() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = make(map[string]sight)
}

func (s *weakSession) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	defer s.wrote()
	return s.Session.Create(ctx, dir, id, data)
}

func (s *weakSession) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	defer s.wrote()
	return s.Session.Update(ctx, n, data)
}

func (s *weakSession) Delete(ctx context.Context, n driver.Node) error {
	defer s.wrote()
	return s.Session.Delete(ctx, n)
}

func (s *weakSession) Abandon(ctx context.Context, dir, id string) error {
	defer s.wrote()
	return s.Session.Abandon(ctx, dir, id)
}

// WaitDelete breaks after a while, now and then.
func (s *weakSession) WaitDelete(ctx context.Context, n driver.Node) error {
	if rand.IntN(3) > 0 {
		return s.Session.WaitDelete(ctx, n)
	}
	brief, cancel := context.WithTimeout(ctx, rand.N(100*time.Millisecond))
	defer cancel()
	err := s.Session.WaitDelete(brief, n)
	if brief.Err() != nil && ctx.Err() == nil && s.Err() == nil && err != nil {
		return &driver.Error{Op: "wait", Store: "weak", Kind: driver.ErrUnavailable, Err: fmt.Errorf("the wait for %s has broken", n.Key)}
	}
	return err
}

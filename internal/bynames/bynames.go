// Package bynames makes a store whose lists carry data one whose lists are names,
// as ZooKeeper's are, for tests of what decides by names.
package bynames

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// Lists counts the lists that were asked for by the sessions of any number of
// connections. The zero Lists is ready, and safe for concurrent use once it is used.
type Lists struct {
	named, full atomic.Int64

	// Phantom, if it has a Key, is listed by name ahead of all others and is none:
	// a key that only looks like a node.
	Phantom driver.Node
}

// Next returns how many lists there were of names, and with data, and starts again.
func (l *Lists) Next() (named, full int64) { return l.named.Swap(0), l.full.Swap(0) }

// Over gives the sessions of conn the optional interface driver.NameLister, whose
// lists have no data at all. What else they offer stays.
func (l *Lists) Over(conn driver.Conn) driver.Conn { return namesConn{conn, l} }

type namesConn struct {
	driver.Conn
	lists *Lists
}

// Unwrap makes the optional interfaces of the connection reachable.
func (c namesConn) Unwrap() any { return c.Conn }

// Caps adds what the sessions have in addition.
func (c namesConn) Caps() driver.Caps { return c.Conn.Caps() | driver.CapListNames }

// OpenSession opens a session that lists by name.
func (c namesConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return namesSession{s, c.lists}, nil
}

type namesSession struct {
	driver.Session
	lists *Lists
}

// Unwrap makes the optional interfaces of the session reachable.
func (s namesSession) Unwrap() any { return s.Session }

// ListNames implements driver.NameLister.
func (s namesSession) ListNames(ctx context.Context, dir string, last uint64) ([]driver.Node, error) {
	s.lists.named.Add(1)
	line, err := s.Session.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	line = slices.DeleteFunc(slices.Clone(line), func(n driver.Node) bool { return n.Seq > last })
	for i := range line {
		line[i].Data = nil
	}
	if p := s.lists.Phantom; p.Key != "" {
		line = slices.Insert(line, 0, p)
	}
	return line, nil
}

// CreateList implements driver.CreateLister, by name.
func (s namesSession) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	n, err := s.Session.Create(ctx, dir, id, data)
	if err != nil {
		return n, nil, err
	}
	line, err := s.ListNames(ctx, dir, math.MaxUint64)
	return n, line, err
}

// List counts.
func (s namesSession) List(ctx context.Context, dir string) ([]driver.Node, error) {
	s.lists.full.Add(1)
	return s.Session.List(ctx, dir)
}

// Package idle keeps connections that nobody uses at present, for drivers whose
// callers write and read themselves.
//
// Nobody reads while such a connection is idle, so nobody hears of it if the other
// side closes it. So it is looked at before it is used again, by a read that does not
// wait, as drivers of databases do; and it is not kept for long.
package idle

import (
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// ErrSpoken is what Look returns of a connection on which there is something to read.
var ErrSpoken = errors.New("the other side has spoken without being asked")

// Conn is a connection that can be kept.
type Conn interface {
	// Socket is what the system reads and writes.
	Socket() net.Conn

	// Close closes it. It may be closed already.
	Close() error
}

// Set is connections that are idle. It is safe for concurrent use.
type Set[C Conn] struct {
	most int
	age  time.Duration

	mu     sync.Mutex
	free   []kept[C] // the last was used last
	reaper *time.Timer
	reaps  bool // the reaper is to run
	closed bool
}

type kept[C Conn] struct {
	conn  C
	since time.Time
}

// New returns a set that keeps so many connections, each for so long.
func New[C Conn](most int, age time.Duration) *Set[C] { return &Set[C]{most: most, age: age} }

// Take takes the connection out that was used last, of those that can be used. It
// closes the others that it comes across.
func (s *Set[C]) Take() (conn C, ok bool) {
	for {
		if conn, ok = s.last(); !ok || Look(conn.Socket()) == nil {
			return conn, ok
		}
		_ = conn.Close() // may be closed already
	}
}

func (s *Set[C]) last() (conn C, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return conn, false
	}
	conn = s.free[len(s.free)-1].conn
	s.free[len(s.free)-1], s.free = kept[C]{}, s.free[:len(s.free)-1]
	return conn, true
}

// Put keeps a connection, or closes it if there are enough.
func (s *Set[C]) Put(conn C) {
	if !s.keep(conn) {
		_ = conn.Close() // may be closed already
	}
}

func (s *Set[C]) keep(conn C) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.free) >= s.most {
		return false
	}
	s.free = append(s.free, kept[C]{conn, time.Now()})
	if !s.reaps { // else it looks again when it has run
		s.reapLocked(s.age)
	}
	return true
}

func (s *Set[C]) reapLocked(after time.Duration) {
	s.reaps = true
	if s.reaper == nil {
		s.reaper = time.AfterFunc(after, s.reap)
	} else {
		s.reaper.Reset(after)
	}
}

// reap closes the connections that were idle for long. Close is called without the
// lock: what a connection belongs to has one of its own.
func (s *Set[C]) reap() {
	s.mu.Lock()
	n := 0
	for n < len(s.free) && time.Since(s.free[n].since) >= s.age {
		n++
	}
	old := slices.Clone(s.free[:n])
	s.free = slices.Delete(s.free, 0, n)
	if s.reaps = len(s.free) > 0; s.reaps {
		s.reapLocked(s.age - time.Since(s.free[0].since))
	}
	s.mu.Unlock()
	closeAll(old)
}

// Empty closes the connections that are idle.
func (s *Set[C]) Empty() { closeAll(s.empty(false)) }

// Close is Empty for good.
func (s *Set[C]) Close() { closeAll(s.empty(true)) }

func (s *Set[C]) empty(forGood bool) []kept[C] {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := s.free
	s.free, s.closed = nil, s.closed || forGood
	if s.reaps {
		s.reaps = false
		s.reaper.Stop()
	}
	return free
}

func closeAll[C Conn](free []kept[C]) {
	for _, k := range free {
		_ = k.conn.Close() // may be closed already
	}
}

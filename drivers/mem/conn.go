package mem

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// The range of times to live that the store grants. Below MinTTL a scheduler's
// hiccup would end sessions.
const (
	MinTTL = 10 * time.Millisecond
	MaxTTL = 24 * time.Hour
)

// attempt is how long a session of the given TTL waits for one reply.
func attempt(ttl time.Duration) time.Duration { return min(ttl/3, longestAttempt) }

const longestAttempt = 5 * time.Second

// Conn is a connection to one namespace of a store. It implements driver.Conn
// and driver.Watcher.
type Conn struct {
	store     *Store
	namespace string
	link      *Link
	closing   sync.Once
	closed    chan struct{}

	mu       sync.Mutex
	sessions map[*session]struct{} // that are not closed; nil after Close
}

// Open connects to a namespace, for which any name will do. Each connection is
// a client of its own, with its own Link. The caller closes it.
func (st *Store) Open(namespace string) *Conn {
	st.mu.Lock()
	st.stats.Conns++
	st.mu.Unlock()
	return &Conn{
		store:     st,
		namespace: namespace,
		link:      newLink(st),
		closed:    make(chan struct{}),
		sessions:  make(map[*session]struct{}),
	}
}

// Link is the connection's way to its store, for tests to break.
func (c *Conn) Link() *Link { return c.link }

// Store is what the connection is to, for tests to look into and tamper with.
func (c *Conn) Store() *Store { return c.store }

// Caps returns what a store within the process can do: all but CapListNames,
// as its lists hold the data, CapShared and CapDurable.
func (c *Conn) Caps() driver.Caps {
	return driver.CapCreateList | driver.CapWaitAny | driver.CapWatch
}

// OpenSession opens a session, as driver.Conn says. The ttl is granted exactly.
func (c *Conn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	if err := c.ready(ctx, OpOpen, ""); err != nil {
		return nil, err
	}
	if ttl < MinTTL || ttl > MaxTTL {
		return nil, &driver.Error{Op: string(OpOpen), Store: scheme, Kind: driver.ErrInvalid,
			Err: fmt.Errorf("TTL %v; the store grants %v to %v", ttl, MinTTL, MaxTTL)}
	}
	sent := time.Now()
	l, err := ask(ctx, c.link, call{OpOpen, "", attempt(ttl), c.closed}, ttl, (*Store).open)
	if err != nil {
		return nil, c.answer(OpOpen, "", err)
	}
	s := newSession(c, l, sent)
	if !c.keep(s) { // Close came in between, and did not see it
		_ = s.Close(ctx)
		return nil, closedError(OpOpen, "")
	}
	return s, nil
}

// List lists a directory for observers, as driver.Conn says.
func (c *Conn) List(ctx context.Context, dir string) ([]driver.Node, error) {
	if err := c.ready(ctx, OpList, dir); err != nil {
		return nil, err
	}
	line, err := ask(ctx, c.link, call{OpList, dir, longestAttempt, c.closed},
		listing{at: place{c.namespace, dir}}, (*Store).list)
	return line, c.answer(OpList, dir, err)
}

// Close closes the connection with its sessions, as driver.Conn says. It always
// returns nil.
func (c *Conn) Close() error {
	c.closing.Do(func() {
		c.mu.Lock()
		sessions := c.sessions
		c.sessions = nil
		close(c.closed)
		c.mu.Unlock()
		c.store.forsake(c)
		for s := range sessions {
			s.lease.End(closedError("session", s.lessee.id))
		}
		for s := range sessions { // when none of them can be told that a node of another is gone
			s.part()
		}
		for s := range sessions {
			s.lease.Wait()
		}
		c.store.left()
	})
	return nil
}

// left is told of the closing of a connection.
func (st *Store) left() {
	st.mu.Lock()
	st.stats.Conns--
	st.mu.Unlock()
	if st.onLeft != nil {
		st.onLeft()
	}
}

// keep makes Close close s. It reports false if Close has begun.
func (c *Conn) keep(s *session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions == nil {
		return false
	}
	c.sessions[s] = struct{}{}
	return true
}

func (c *Conn) forget(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, s)
}

// ready says why a call cannot be made at all.
func (c *Conn) ready(ctx context.Context, op Op, key string) error {
	select {
	case <-c.closed:
		return closedError(op, key)
	default:
		return unsent(ctx, op, key)
	}
}

// answer makes the caller's error of what came back.
func (c *Conn) answer(op Op, key string, err error) error {
	if err == errQuit {
		return closedError(op, key)
	}
	return err
}

// unsent is the error of a call whose ctx has ended before it was made, or nil.
// Its kind tells those who would clean up that there is nothing to clean up.
func unsent(ctx context.Context, op Op, key string) error {
	if err := ctx.Err(); err != nil {
		return &driver.Error{Op: string(op), Store: scheme, Key: key, Kind: driver.ErrUnavailable, Err: err}
	}
	return nil
}

func closedError(op Op, key string) error {
	return &driver.Error{Op: string(op), Store: scheme, Key: key, Kind: driver.ErrClosed}
}

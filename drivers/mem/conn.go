package mem

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// The range of TTLs that the store grants. Below MinTTL a scheduler's hiccup
// would end sessions.
const (
	MinTTL = 10 * time.Millisecond
	MaxTTL = 24 * time.Hour
)

// Conn is a connection to one namespace of a store. It implements driver.Conn
// and driver.Watcher.
type Conn struct {
	store     *Store
	namespace string
	link      *Link
	closing   sync.Once
	closed    chan struct{}

	mu       sync.Mutex
	sessions map[*session]bool // that are not closed, and those whose Close failed
}

// Open connects to a namespace, for which any name will do. Each connection is
// a client of its own, with its own Link. The caller closes it.
func (st *Store) Open(namespace string) *Conn {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.conns++
	return &Conn{store: st, namespace: namespace, link: newLink(st), closed: make(chan struct{}), sessions: make(map[*session]bool)}
}

// Link is the connection's network to its store.
func (c *Conn) Link() *Link { return c.link }

// Store is the store that the connection is to.
func (c *Conn) Store() *Store { return c.store }

// Caps returns what the store can do. It has neither CapShared nor CapDurable.
func (c *Conn) Caps() driver.Caps {
	return driver.CapCreateList | driver.CapWaitAny | driver.CapWatch
}

// over is the error of calls after Close, or nil.
func (c *Conn) over() error {
	select {
	case <-c.closed:
		return call{op: "connection"}.failed(driver.ErrClosed, nil)
	default:
		return nil
	}
}

// OpenSession opens a session, as driver.Conn says. The ttl is granted exactly.
func (c *Conn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	open := call{OpOpen, "", attempt(ttl), c.closed, c.over}
	if ttl < MinTTL || ttl > MaxTTL {
		return nil, open.failed(driver.ErrInvalid, fmt.Errorf("TTL %v; the store grants %v to %v", ttl, MinTTL, MaxTTL))
	}
	sent := time.Now()
	granted, err := ask(ctx, c.link, open, func(uint64) (*storeLease, error) { return c.store.grant(ttl), nil })
	if err != nil {
		return nil, err
	}
	s := newSession(c.link, c.namespace, granted, sent)
	s.onClose = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.sessions, s)
	}
	c.mu.Lock()
	err = c.over() // Close may have begun meanwhile
	if err == nil {
		c.sessions[s] = true
	}
	c.mu.Unlock()
	if err != nil {
		_ = s.Close(ctx)
		return nil, err
	}
	return s, nil
}

// List lists a directory for observers, as driver.Conn says.
func (c *Conn) List(ctx context.Context, dir string) ([]driver.Node, error) {
	return ask(ctx, c.link, call{OpList, dir, longestAttempt, c.closed, c.over}, func(uint64) ([]driver.Node, error) {
		return c.store.dirs[place{c.namespace, dir}].list(), nil
	})
}

// Watch shows a directory as it changes, as driver.Watcher says. After a break of
// the link it may show the same state again.
func (c *Conn) Watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	return func(yield func([]driver.Node, error) bool) {
		at := place{c.namespace, dir}
		err := follow(ctx, c.link, call{OpWatch, dir, noLimit, c.closed, c.over}, []topic{{at: at}},
			func() ([]driver.Node, error) { return c.store.dirs[at].list(), nil },
			func(line []driver.Node) (enough bool) { return !yield(line, nil) })
		if err != nil {
			yield(nil, err)
		}
	}
}

// Close closes the connection with its sessions, as driver.Conn says. It always
// returns nil.
func (c *Conn) Close() error { c.closing.Do(c.close); return nil }

func (c *Conn) close() {
	c.mu.Lock()
	sessions := maps.Clone(c.sessions) // Close of a session changes the other
	close(c.closed)
	c.mu.Unlock()
	// All sessions end before the store removes the nodes of the first one.
	// Otherwise a wait of one session would report a node of another as gone.
	for s := range sessions {
		s.end()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // so that the session's Close does not wait for the reply
	for s := range sessions {
		_ = s.Close(ctx)
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	for w := range c.store.watches.all() {
		if w.owner == c.link {
			c.store.watches.end(w)
		}
	}
	if c.store.conns--; c.store.conns == 0 {
		for _, l := range c.store.leases {
			c.store.end(l)
		}
	}
}

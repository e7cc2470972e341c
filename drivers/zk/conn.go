package zk

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
)

// conn implements driver.Conn. It has no connection of its own until it is
// asked to list without having a session: in ZooKeeper a session is all that a
// connection carries.
type conn struct {
	space
	peers peers
	acl   []gozk.ACL
	log   *zap.Logger
	cache *cache

	relook time.Duration // see the constant

	life     context.Context // ends when Close begins
	leave    context.CancelFunc
	left     chan struct{}   // closed when Close has ended
	ctx      context.Context // ends with the last chance to say farewell
	cancel   context.CancelFunc
	partings sync.WaitGroup // farewells under way
	running  sync.WaitGroup // every other goroutine

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{}
	observer *link // for lists without a session; nil until needed
}

func newConn(s space, p peers, acl []gozk.ACL, log *zap.Logger) *conn {
	c := &conn{
		space:    s,
		peers:    p,
		acl:      acl,
		log:      log,
		cache:    newCache(),
		relook:   relook,
		left:     make(chan struct{}),
		sessions: make(map[*session]struct{}),
	}
	c.life, c.leave = context.WithCancel(context.Background())
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Caps implements driver.Conn.
func (c *conn) Caps() driver.Caps {
	return driver.CapCreateList | driver.CapListNames | driver.CapWaitAny | driver.CapWatch |
		driver.CapShared | driver.CapDurable
}

// checkNode refuses a node that is none of its directory's.
func (c *conn) checkNode(o op, n driver.Node) error {
	dir, base := cut(n.Key)
	if _, ok := parseName(base); !ok || dir != c.dir(n.Dir) {
		return invalid(o, "%q is not a node's path in directory %q", n.Key, n.Dir)
	}
	return nil
}

// Close implements driver.Conn. It ends the sessions at once and has the store
// end them, all at the same time and for no longer than half a second in all: a
// store that works has done it by then, and one that does not ends them when
// their TTL has passed.
func (c *conn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		<-c.left
		return nil
	}
	c.closed = true
	for s := range c.sessions {
		s.end()
	}
	for s := range c.sessions { // when none of them can be told that a node of another is gone
		s.startFarewell(&c.partings)
	}
	observer := c.observer
	if observer != nil {
		observer.retire(failed(op{name: "list"}, driver.ErrClosed, nil))
		c.partings.Go(func() { _ = observer.farewell(c.ctx) })
	}
	c.leave()
	c.mu.Unlock()

	said := make(chan struct{})
	go func() {
		c.partings.Wait() // each ends with c.ctx
		close(said)
	}()
	patience := time.NewTimer(parting)
	defer patience.Stop()
	// Whichever comes first, what follows ends the farewells and waits.
	select {
	case <-said:
	case <-patience.C:
		c.log.Warn("closed with sessions left to expire", zap.Duration("waited", parting))
	}
	c.cancel()
	if observer != nil {
		observer.shutDown(failed(op{name: "list"}, driver.ErrClosed, nil))
		observer.rest()
	}
	<-said
	c.running.Wait()
	close(c.left)
	return nil
}

// List implements driver.Conn. It lists what the servers had agreed on when it
// was called, hence L5.
func (c *conn) List(ctx context.Context, dir string) ([]driver.Node, error) {
	o := op{name: "list", key: dir, limit: mostAttempt}
	for {
		l, err := c.anyLink(o)
		if err != nil {
			return nil, err
		}
		nodes, err := c.listAgreed(ctx, l, o, dir)
		if err == nil {
			return nodes, nil
		}
		if l.ended() == nil || ctx.Err() != nil {
			return nil, err
		}
		if errors.Is(err, driver.ErrDenied) {
			return nil, denied(o, err)
		}
		// The session that the link carries is over, which is no concern of a
		// list: there is another link.
	}
}

func (c *conn) listAgreed(ctx context.Context, l *link, o op, dir string) ([]driver.Node, error) {
	if err := agree(ctx, l, o); err != nil {
		return nil, err
	}
	return c.list(ctx, l, o, dir, false)
}

// observerTTL is the timeout of the session that lists without a session are
// made on, which nothing depends on.
const observerTTL = 10 * time.Second

// anyLink returns a link to list by: that of a session if there is one, for
// each takes two megabytes of memory and a connection of the servers, and one
// for the purpose otherwise.
func (c *conn) anyLink(o op) (*link, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, failed(o, driver.ErrClosed, nil)
	}
	var living *link
	for s := range c.sessions {
		if s.link.ended() != nil || s.Err() != nil {
			continue
		}
		if living = s.link; living.isUp() {
			break
		}
	}
	if living != nil {
		return living, nil
	}
	if c.observer != nil {
		if c.observer.ended() == nil {
			return c.observer, nil
		}
		c.dispose(c.observer)
		c.observer = nil
	}
	l, err := connect(c.peers, observerTTL, c.log, func(error) {})
	if err != nil {
		return nil, failed(o, nil, err)
	}
	c.observer = l
	return l, nil
}

// dispose ends a link in the background, and its session if the store is there.
// The caller keeps the connection from coming to rest meanwhile.
func (c *conn) dispose(l *link) {
	why := failed(op{name: "session"}, driver.ErrClosed, nil)
	l.retire(why)
	c.running.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, parting)
		defer cancel()
		stop := context.AfterFunc(ctx, func() { l.shutDown(why) }) // whatever farewell waits for
		defer stop()
		_ = l.farewell(ctx) // or it expires
		l.shutDown(why)
		l.rest()
	})
}

// ensure makes a directory, and above it what is missing: the namespace, which
// stays. A directory is a container, which the servers remove when it has been
// empty for a while, and which may be gone again before this returns.
func (c *conn) ensure(lib *gozk.Conn, path string) error {
	_, err := lib.CreateContainer(path, nil, gozk.FlagContainer, c.acl)
	if errors.Is(err, gozk.ErrNoNode) {
		if err := c.ensureAbove(lib, path); err != nil {
			return err
		}
		_, err = lib.CreateContainer(path, nil, gozk.FlagContainer, c.acl)
	}
	if errors.Is(err, gozk.ErrNodeExists) || errors.Is(err, gozk.ErrNoNode) { // whoever needs it looks again
		return nil
	}
	return err
}

// ensureAbove makes the parents of a path. It begins with the nearest, because
// there may be no permission to make those that exist.
func (c *conn) ensureAbove(lib *gozk.Conn, path string) error {
	var missing []string
	parent, _ := cut(path)
	for parent != "" {
		_, err := lib.Create(parent, nil, gozk.FlagPersistent, c.acl)
		if err == nil || errors.Is(err, gozk.ErrNodeExists) {
			break
		}
		if !errors.Is(err, gozk.ErrNoNode) {
			return err
		}
		missing = append(missing, parent)
		parent, _ = cut(parent)
	}
	for _, p := range slices.Backward(missing) {
		if _, err := lib.Create(p, nil, gozk.FlagPersistent, c.acl); err != nil && !errors.Is(err, gozk.ErrNodeExists) {
			return err
		}
	}
	return nil
}

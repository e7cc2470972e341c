package zk

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/sessions"
	"github.com/coordkit/coordkit/coord/driver/watch"
	"github.com/coordkit/coordkit/drivers/internal/dial"
)

const (
	minTTL = time.Millisecond // that can be asked for; what is granted is the servers' configuration
	maxTTL = math.MaxInt32 * time.Millisecond

	observerTTL = 10 * time.Second // of a session to look by; nothing depends on it
	mostAttempt = 5 * time.Second  // of what is done without a session
)

func init() {
	driver.Register(store, driver.Opener{
		Open: open, DefaultPort: "2181", TLS: true, Password: true, MinTTL: minTTL, MaxTTL: maxTTL,
		Params: []driver.Param{{
			Name: "acl",
			Doc:  `who may see and change the nodes: "creator", who has the same username and password, or "open", everybody (default: creator with a username, open without)`,
			Check: func(s string) error {
				if s != "open" && s != "creator" {
					return fmt.Errorf(`%w parameter acl: %q is neither "open" nor "creator"`, driver.ErrInvalid, s)
				}
				return nil
			},
		}},
	})
}

// open makes a connection, which connects to nothing until it is needed.
func open(ctx context.Context, t driver.Target) (driver.Conn, error) {
	o := attempt.Op{Store: store, Name: "open", Key: t.Namespace}
	p := peers{network: dial.TCP(), hosts: t.Hosts, tls: t.TLS}
	acl := gozk.WorldACL(gozk.PermAll)
	who := t.Params["acl"]
	if t.Username != "" {
		p.digest = []byte(t.Username + ":" + string(t.Password))
		if who != "open" {
			acl = gozk.AuthACL(gozk.PermAll)
		}
	}
	switch first, _, _ := strings.Cut(t.Namespace, "/"); {
	case ctx.Err() != nil:
		return nil, o.Failed(driver.ErrUnavailable, driver.ContextError(ctx))
	case who == "creator" && t.Username == "":
		return nil, invalid(o, "parameter acl: %q needs a username", who)
	case first == "zookeeper":
		return nil, invalid(o, "namespace %q: /zookeeper is ZooKeeper's own", t.Namespace)
	case len(t.Hosts) == 0:
		return nil, invalid(o, "no hosts")
	case strings.Contains(t.Username, ":"):
		return nil, invalid(o, "username %q: a colon ends the name in ZooKeeper's digest scheme", t.Username)
	}
	return newConn(space("/"+t.Namespace), p, acl, t.Logger), nil
}

// conn implements driver.Conn. In ZooKeeper a connection carries one session, so conn has none
// of its own until it is asked to list or watch without a session.
type conn struct {
	*tree
	peers    peers
	log      *zap.Logger
	sessions *sessions.Keeper
	hub      *watch.Hub
	relook   time.Duration // after which a watch looks again: a server that is cut off has no events

	living   sync.Mutex            // guards the following
	open     map[*session]struct{} // sessions
	observer *link                 // nil until needed
}

func newConn(s space, p peers, acl []gozk.ACL, log *zap.Logger) *conn {
	c := &conn{
		tree:  &tree{space: s, acl: acl, dirs: make(map[string]*directory)},
		peers: p, log: log, sessions: sessions.New(store), relook: 15 * time.Second, open: make(map[*session]struct{}),
	}
	c.hub = watch.NewHub(store, c.sessions, c.follow)
	return c
}

// Caps implements driver.Conn.
func (c *conn) Caps() driver.Caps {
	return driver.CapCreateList | driver.CapListNames | driver.CapWaitAny | driver.CapWatch | driver.CapShared | driver.CapDurable
}

// Close implements driver.Conn.
func (c *conn) Close() error {
	c.sessions.Close(func() {
		c.living.Lock()
		defer c.living.Unlock()
		if c.observer != nil {
			c.dispose(c.observer)
		}
	})
	return nil
}

// dispose gives back what is not used any more. If the store is slow, the session expires.
func (c *conn) dispose(l *link) {
	ctx, cancel := context.WithTimeout(context.Background(), 250*time.Millisecond)
	defer cancel()
	_ = l.endSession(ctx)
	l.shutDown()
}

// discard is dispose for a caller that does not wait.
func (c *conn) discard(l *link) {
	if !c.sessions.Go(func() { c.dispose(l) }) {
		l.shutDown()
	}
}

// OpenSession implements driver.Conn. A session whose reply is lost expires by itself.
func (c *conn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	o := attempt.Op{Store: store, Name: "open session", Write: true, Limit: min(max(ttl/3, 2*time.Second), mostAttempt)}
	if driver.CheckTTL(ttl, minTTL, maxTTL) != nil || ttl%time.Millisecond != 0 {
		return nil, invalid(o, "TTL: %v; want whole milliseconds from %v to %v, within the bounds of the servers' configuration", ttl, minTTL, maxTTL)
	}
	if ctx.Err() != nil {
		return nil, o.Failed(driver.ErrUnavailable, driver.ContextError(ctx))
	}
	l := connect(c.sessions.Life(), c.peers, ttl, c.log)
	s := &session{link: l, tree: c.tree, slots: make(map[slotKey]slot)}
	err := o.Do(ctx, c.sessions.Life(), func(ctx context.Context) error { return answered(o, s.establish(ctx, o, ttl)) })
	if err == nil {
		err = c.sessions.Open(&s.Session, renewal(l, ttl))
	}
	if err != nil {
		c.discard(l)
		return nil, err
	}
	c.living.Lock()
	c.open[s] = struct{}{}
	c.living.Unlock()
	if !c.sessions.Go(func() {
		s.attend(c.sessions.Life())
		c.living.Lock()
		defer c.living.Unlock()
		delete(c.open, s)
	}) { // the connection was closed in the meantime
		l.shutDown()
	}
	return s, nil
}

// List implements driver.Conn. It lists what the servers had agreed on when it was called (L5).
func (c *conn) List(ctx context.Context, dir string) (nodes []driver.Node, err error) {
	o := attempt.Op{Store: store, Name: "list", Key: dir, Limit: mostAttempt}
	for range 3 {
		l, err := c.anyLink(o)
		if err != nil {
			return nil, err
		}
		err = o.Do(ctx, l.life, func(ctx context.Context) (err error) {
			if err = agree(ctx, l); err == nil {
				nodes, err = c.list(ctx, l, dir, false, listing{})
			}
			return answered(o, err)
		})
		if !errors.Is(err, driver.ErrSessionLost) { // which is of no concern: there is another link
			return nodes, err
		}
	}
	return nil, o.Failed(driver.ErrUnavailable, errOutlived)
}

// anyLink returns a link to look by: that of a session if there is one, as each link takes
// two megabytes of memory.
func (c *conn) anyLink(o attempt.Op) (*link, error) {
	c.living.Lock()
	defer c.living.Unlock()
	for s := range c.open {
		if s.Err() == nil && s.link.life.Err() == nil {
			return s.link, nil
		}
	}
	switch former := c.observer; {
	case c.sessions.Life().Err() != nil:
		return nil, o.Failed(driver.ErrClosed, nil)
	case former != nil && former.life.Err() == nil:
		return former, nil
	case former != nil:
		c.discard(former)
	}
	c.observer = connect(c.sessions.Life(), c.peers, observerTTL, c.log)
	return c.observer, nil
}

// Watch implements driver.Watcher.
func (c *conn) Watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	return c.hub.Watch(ctx, dir)
}

// follow is a watch.Follow. On one link ZooKeeper shows no state that is older than the one
// before; on the next link follow begins with a transaction. So no state needs a number.
func (c *conn) follow(ctx context.Context, dir string, show func(watch.List)) error {
	o := attempt.Op{Store: store, Name: "watch", Key: dir, Limit: mostAttempt}
	l, err := c.anyLink(o)
	if err != nil {
		return err
	}
	wake := make(chan struct{}, 1)
	w := l.watches.join(c.dir(dir), wake)
	defer l.watches.leave(w, wake)
	var shown []driver.Node
	for agreed, begun := false, false; ; {
		var nodes []driver.Node
		err := o.Do(ctx, l.life, func(ctx context.Context) (err error) {
			if !agreed {
				err = agree(ctx, l)
			}
			if agreed = err == nil; agreed {
				nodes, err = c.look(ctx, l, dir)
			}
			return answered(o, err)
		})
		if errors.Is(err, driver.ErrSessionLost) { // of no concern: there is another link
			err = o.Failed(driver.ErrUnavailable, errOutlived)
		}
		if err != nil {
			return err
		}
		if !begun || !slices.EqualFunc(nodes, shown, alike) {
			begun, shown = true, nodes
			show(watch.List{Nodes: nodes})
		}
		select { // whichever comes first, the next look finds out about the others
		case <-wake:
		case <-time.After(c.relook):
			agreed = false
		case <-l.life.Done():
		case <-ctx.Done():
		}
	}
}

func alike(a, b driver.Node) bool { return a.Same(b) && bytes.Equal(a.Data, b.Data) }

// look reads a directory that is watched: its data, which updates write to, and its names.
// Both set a watch, or if there is no directory, the look whether there is one.
func (c *conn) look(ctx context.Context, l *link, dir string) ([]driver.Node, error) {
	path := c.dir(dir)
	var ls listing
	var unlisted error
	var reading sync.WaitGroup
	reading.Go(func() { ls, unlisted = children(ctx, l, path) })
	it, unread := get(ctx, l, path)
	reading.Wait()
	switch err := cmp.Or(unread, unlisted); {
	case errors.Is(err, gozk.ErrNoNode):
		there, err := call(ctx, l, func(c *gozk.Conn) (bool, error) {
			there, _, err := c.Exists(path)
			return there, err
		})
		if err != nil || !there {
			return nil, err
		}
		return c.look(ctx, l, dir)
	case err != nil:
		return nil, err
	case it.stat.Mzxid != ls.stat.Mzxid: // an update came in between
		return c.look(ctx, l, dir)
	}
	c.directory(dir).advance(ls.stat, string(it.data))
	return c.list(ctx, l, dir, false, ls)
}

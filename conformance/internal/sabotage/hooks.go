package sabotage

import (
	"context"
	"io"
	"iter"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// conn is a sound connection with some calls replaced: those that are not nil.
type conn struct {
	driver.Conn
	namespace string
	ctx       context.Context // given to Open, which in the suite lasts for the case
	resets    signal          // fires when the link resets the connection
	silences  signal          // fires when the link stops
	cuts      signal          // fires when the link begins to refuse connections
	refused   atomic.Bool     // the link refuses connections
	broken    atomic.Bool     // the link is frozen, loses replies or refuses connections
	closed    atomic.Int32    // open, closing or closed, where a sabotage keeps it
	extra     driver.Caps     // what the sabotage offers beyond the sound connection

	open  func(ctx context.Context, ttl time.Duration) (driver.Session, error)
	list  func(ctx context.Context, dir string) ([]driver.Node, error)
	watch func(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error]
	caps  func() driver.Caps
	close func() error
}

func (c *conn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	if c.open != nil {
		return c.open(ctx, ttl)
	}
	return c.Conn.OpenSession(ctx, ttl)
}

func (c *conn) List(ctx context.Context, dir string) ([]driver.Node, error) {
	if c.list != nil {
		return c.list(ctx, dir)
	}
	return c.Conn.List(ctx, dir)
}

func (c *conn) Caps() driver.Caps {
	if c.caps != nil {
		return c.caps()
	}
	return c.Conn.Caps() | c.extra
}

func (c *conn) Close() error {
	if c.close != nil {
		return c.close()
	}
	return c.Conn.Close()
}

// The states of conn.closed.
const (
	open int32 = iota
	closing
	closed
)

// session is a sound session with some calls replaced: those that are not nil.
type session struct {
	driver.Session
	conn *conn
	ctx  context.Context // given to OpenSession, which in the suite lasts for the case

	id         func() string
	ttl        func() time.Duration
	done       func() <-chan struct{}
	err        func() error
	create     func(ctx context.Context, dir, id string, data []byte) (driver.Node, error)
	createList func(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error)
	abandon    func(ctx context.Context, dir, id string) error
	list       func(ctx context.Context, dir string) ([]driver.Node, error)
	wait       func(ctx context.Context, n driver.Node) error
	waitAny    func(ctx context.Context, nodes []driver.Node) (int, error)
	update     func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error)
	remove     func(ctx context.Context, n driver.Node) error
	close      func(ctx context.Context) error
}

func (s *session) ID() string {
	if s.id != nil {
		return s.id()
	}
	return s.Session.ID()
}

func (s *session) TTL() time.Duration {
	if s.ttl != nil {
		return s.ttl()
	}
	return s.Session.TTL()
}

func (s *session) Done() <-chan struct{} {
	if s.done != nil {
		return s.done()
	}
	return s.Session.Done()
}

func (s *session) Err() error {
	if s.err != nil {
		return s.err()
	}
	return s.Session.Err()
}

func (s *session) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	if s.create != nil {
		return s.create(ctx, dir, id, data)
	}
	return s.Session.Create(ctx, dir, id, data)
}

func (s *session) Abandon(ctx context.Context, dir, id string) error {
	if s.abandon != nil {
		return s.abandon(ctx, dir, id)
	}
	return s.Session.Abandon(ctx, dir, id)
}

func (s *session) List(ctx context.Context, dir string) ([]driver.Node, error) {
	if s.list != nil {
		return s.list(ctx, dir)
	}
	return s.Session.List(ctx, dir)
}

func (s *session) WaitDelete(ctx context.Context, n driver.Node) error {
	if s.wait != nil {
		return s.wait(ctx, n)
	}
	return s.Session.WaitDelete(ctx, n)
}

func (s *session) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	if s.update != nil {
		return s.update(ctx, n, data)
	}
	return s.Session.Update(ctx, n, data)
}

func (s *session) Delete(ctx context.Context, n driver.Node) error {
	if s.remove != nil {
		return s.remove(ctx, n)
	}
	return s.Session.Delete(ctx, n)
}

func (s *session) Close(ctx context.Context) error {
	if s.close != nil {
		return s.close(ctx)
	}
	return s.Session.Close(ctx)
}

// link tells its connection of faults.
type link struct {
	conformance.Link
	conn *conn
}

func (l link) Freeze(d netfault.Direction) {
	l.conn.broken.Store(true)
	l.Link.Freeze(d)
	l.conn.silences.fire()
}

func (l link) DropReplies() {
	l.conn.broken.Store(true)
	l.Link.DropReplies()
	l.conn.silences.fire()
}

func (l link) DropConnections() {
	l.Link.DropConnections()
	l.conn.resets.fire()
}

func (l link) Cut() {
	l.conn.broken.Store(true)
	l.conn.refused.Store(true)
	l.Link.Cut()
	l.conn.resets.fire()
	l.conn.cuts.fire()
}

// Stats and Reject are there if those of the link are.
func (l link) Stats() netfault.Stats { return l.Link.(meter).Stats() }

func (l link) Reject() {
	l.conn.broken.Store(true)
	l.Link.(meter).Reject()
	l.conn.resets.fire()
	l.conn.cuts.fire()
}

// meter is what the suite finds on links that count.
type meter interface {
	Stats() netfault.Stats
	Reject()
}

func (l link) Heal() error {
	l.conn.broken.Store(false)
	l.conn.refused.Store(false)
	return l.Link.Heal()
}

// Close closes the link, where that has to be done.
func (l link) Close() error {
	if c, ok := l.Link.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// onConn breaks every connection.
func onConn(h conformance.Harness, sabotage func(*conn)) conformance.Harness {
	sound := h
	h.Open = func(ctx context.Context, namespace string) (driver.Conn, error) {
		in, err := sound.Open(ctx, namespace)
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: in, namespace: namespace, ctx: ctx}
		sabotage(c)
		return c.offered(), nil
	}
	if sound.OpenLink == nil {
		return h
	}
	h.OpenLink = func(ctx context.Context, namespace string) (driver.Conn, conformance.Link, error) {
		in, l, err := sound.OpenLink(ctx, namespace)
		if err != nil {
			return nil, nil, err
		}
		c := &conn{Conn: in, namespace: namespace, ctx: ctx}
		sabotage(c)
		return c.offered(), link{l, c}, nil
	}
	if sound.Hold != nil {
		h.Hold = func(l conformance.Link) func() { return sound.Hold(l.(link).Link) }
	}
	return h
}

// onSession breaks every session.
func onSession(h conformance.Harness, sabotage func(*session)) conformance.Harness {
	return onConn(h, func(c *conn) { c.sessions(sabotage) })
}

// sessions breaks every session of a connection.
func (c *conn) sessions(sabotage func(*session)) {
	c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
		in, err := c.Conn.OpenSession(ctx, ttl)
		if err != nil {
			return nil, err
		}
		s := &session{Session: in, conn: c, ctx: ctx}
		sabotage(s)
		return s.offered(), nil
	}
}

// eachSession makes the Apply of a sabotage that needs no more.
func eachSession(sabotage func(*session)) func(conformance.Harness) conformance.Harness {
	return func(h conformance.Harness) conformance.Harness { return onSession(h, sabotage) }
}

// eachConn likewise.
func eachConn(sabotage func(*conn)) func(conformance.Harness) conformance.Harness {
	return func(h conformance.Harness) conformance.Harness { return onConn(h, sabotage) }
}

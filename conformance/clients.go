package conformance

import (
	"errors"
	"io"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
)

// watcher is a trial's third client: a connection of its own, without a
// session and without faults, through which the trial looks at the store.
type watcher struct {
	once sync.Once
	conn driver.Conn
}

// Open opens a connection that shares nothing with another and is closed after
// the check.
func (t *Trial) Open() driver.Conn {
	c, err := t.h.Open(t.ctx, t.namespace)
	if err != nil {
		t.Fatalf("opening a connection: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() }) // what Close owes is N1's matter
	return c
}

// OpenLink opens a connection through a link of its own. After the check the
// link is healed and both are closed.
func (t *Trial) OpenLink() (driver.Conn, Link) {
	c, l, err := t.h.OpenLink(t.ctx, t.namespace)
	if err != nil {
		t.Fatalf("opening a connection through a link: %v", err)
	}
	t.Cleanup(func() {
		t.heal(l)
		_ = c.Close()
		if l, ok := l.(io.Closer); ok {
			_ = l.Close() // of no interest any more
		}
	})
	return c, l
}

func (t *Trial) heal(l Link) {
	if err := l.Heal(); err != nil {
		t.NotVerified("the link could not be healed: %v", err)
	}
}

// hold keeps the next request on a link back, until release is called or, as the
// case may fail before, the trial ends. The case must need Hold.
func (t *Trial) hold(l Link) (release func()) {
	release = sync.OnceFunc(t.h.Hold(l))
	t.Cleanup(func() {
		t.heal(l) // a request lands over a link that works
		release()
	})
	return release
}

// Session opens a session on a connection of its own.
func (t *Trial) Session() driver.Session { return t.SessionOn(t.Open()) }

// SessionOverLink opens a session on a connection through a link of its own.
func (t *Trial) SessionOverLink() (driver.Session, Link) {
	c, l := t.OpenLink()
	return t.SessionOn(c), l
}

// SessionOn opens a session that lasts for the trial.
func (t *Trial) SessionOn(c driver.Conn) (s driver.Session) {
	t.insist(nil, "OpenSession", func() (err error) {
		s, err = c.OpenSession(t.ctx, t.h.TTL)
		return err
	})
	if t.with.offered != nil && !t.with.offered(s) {
		t.NotOffered(t.with.call)
	}
	return s
}

// Create makes a node and insists as the layers above a driver do. If no data is
// given the node has some that is no matter of the case: of a few bytes, of more, or none.
func (t *Trial) Create(s driver.Session, dir, id string, data ...byte) driver.Node {
	n, _ := t.enter(s, dir, id, data...)
	return n
}

// enter is Create with the list, if the call gives one.
func (t *Trial) enter(s driver.Session, dir, id string, data ...byte) (n driver.Node, nodes []driver.Node) {
	if data == nil {
		data = t.someData()
	}
	t.insist(s, "Create "+dir+" "+id, func() (err error) {
		n, nodes, err = t.create(t.ctx, s, dir, id, data)
		return err
	})
	if n.Dir != dir || n.ID != id {
		t.NotVerified("Create of %s in %s returned another call's node, which C1 is about: %s in %s", id, dir, show(n), n.Dir)
	}
	return n, nodes
}

// Update and Delete insist likewise.
func (t *Trial) Update(s driver.Session, n driver.Node, data ...byte) (m driver.Node) {
	t.insist(s, "Update "+n.Key, func() (err error) {
		m, err = s.Update(t.ctx, n, data)
		return err
	})
	return m
}

// Delete removes a node.
func (t *Trial) Delete(s driver.Session, n driver.Node) {
	t.insist(s, "Delete "+n.Key, func() error { return s.Delete(t.ctx, n) })
}

// insist makes a call until it gives something else than a transient error,
// and fails the trial if that is not success. When the session, which may be
// nil, has ended unbidden, the trial cannot go on; whether that was right is
// for S3 to say.
func (t *Trial) insist(s driver.Session, what string, call func() error) {
	var err error
	for t.ctx.Err() == nil {
		if err = call(); err == nil {
			return
		}
		t.mustLive(s)
		if !driver.Transient(err) {
			break
		}
		t.pause()
	}
	if err == nil {
		t.Fatalf("%s: it was not even tried within the time-out of the case", what)
	}
	t.Fatalf("%s: %v", what, err)
}

// mustLive ends the trial without a verdict if the session has ended.
func (t *Trial) mustLive(s driver.Session) {
	if s != nil && s.Err() != nil {
		t.NotVerified("the session ended in between, which S3 is about: %v", s.Err())
	}
}

// Nodes is what the third client sees in dir.
func (t *Trial) Nodes(dir string) (nodes []driver.Node) {
	t.insist(nil, "Conn.List by a third client", func() (err error) {
		nodes, err = t.third().List(t.ctx, dir)
		return err
	})
	return nodes
}

func (t *Trial) third() driver.Conn {
	t.watcher.once.Do(func() { t.watcher.conn = t.Open() })
	if t.watcher.conn == nil { // opening has failed, and with it the trial
		t.NotVerified("there is no third client")
	}
	return t.watcher.conn
}

// Bystander makes a node that stays, in a session that has no part in the case,
// so that the directory exists throughout.
func (t *Trial) Bystander(dir string) driver.Node {
	return t.Create(t.Session(), dir, "bystander", 'b')
}

// residue counts what is left, which the case must need.
func (t *Trial) residue() Residue {
	r, err := t.h.Residue(t.ctx, t.namespace)
	if err != nil {
		t.NotVerified("counting what is left in the store: %v", err)
	}
	return r
}

// expire, removeNode, removeDir and compact are the harness's, which the case must need.
func (t *Trial) expire(s driver.Session) {
	if err := t.h.Expire(t.ctx, t.namespace, s); err != nil {
		t.NotVerified("ending a session in the store: %v", err)
	}
}

func (t *Trial) removeNode(n driver.Node) {
	if err := t.h.RemoveNode(t.ctx, t.namespace, n); err != nil {
		t.NotVerified("removing a node as an operator: %v", err)
	}
}

func (t *Trial) removeDir(dir string) {
	if err := t.h.RemoveDir(t.ctx, t.namespace, dir); err != nil {
		t.NotVerified("removing a directory as an operator: %v", err)
	}
}

func (t *Trial) compact() {
	if err := t.h.Compact(t.ctx, t.namespace); err != nil {
		t.NotVerified("making the store forget its history: %v", err)
	}
}

// isOver reports whether err says that the session has ended or was closed.
func isOver(err error) bool {
	return errors.Is(err, driver.ErrSessionLost) || errors.Is(err, driver.ErrClosed)
}

package sql

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/fence"
	"github.com/coordkit/coordkit/coord/driver/lease"
	"github.com/coordkit/coordkit/coord/driver/sessions"
)

const minTTL, maxTTL = 100 * time.Millisecond, 24 * time.Hour

// session is a row of the table of sessions.
type session struct {
	sessions.Session
	conn  *conn
	fence fence.Numbers
}

// OpenSession implements driver.Conn.
func (c *conn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	o := attempt.Op{Store: c.dialect.scheme, Name: "open session", Write: true, Limit: min(ttl/3, limit)}
	if err := driver.CheckTTL(ttl, minTTL, maxTTL); err != nil {
		return nil, o.Failed(nil, err)
	}
	id := strings.ToLower(rand.Text())
	lasts := (ttl + time.Millisecond - 1).Milliseconds()
	sent := time.Now()
	err := o.Do(ctx, c.sessions.Life(), keep(c.request(o, script{write: true, do: []string{
		c.sql("INSERT INTO {p}session (id, space, ttl, expires, epoch, floor) VALUES (?, ?, ?, {now} + ?, {epoch}, 0)",
			id, c.space, lasts, lasts),
	}, list: c.sql("SELECT MAX(version) FROM {p}version")}, func(a answer) error {
		if found := string(a[0][0][0]); found != schemaVersion {
			return o.Failed(driver.ErrInvalid, fmt.Errorf("the tables have version %q; this program wants %s", found, schemaVersion))
		}
		return nil
	})))
	if err != nil {
		return nil, err
	}
	s := &session{conn: c}
	err = c.sessions.Open(&s.Session, sessions.Config{
		Lease: lease.Config{Session: id, TTL: ttl, Sent: sent, Renew: c.renew(id)},
		Revoke: keep(c.request(o, script{
			write: true, do: []string{c.sql("DELETE FROM {p}session WHERE id = ?", id)}, after: c.tell("s"+id, "TRUE"),
		}, func(answer) error {
			c.polls.Gone(func(n driver.Node) bool { return n.Session == id })
			return nil
		})),
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

var errNoSession = errors.New("the database has no such session")

// renew returns the request that renews a session. One that is due is not renewed, also if it
// is there still. Others that are due are deleted then, as nobody may wait for them.
func (c *conn) renew(id string) func(context.Context) error {
	o := attempt.Op{Store: c.dialect.scheme, Name: "renew", Key: id, Write: true}
	return keep(c.request(o, script{write: true, do: []string{
		c.sql("UPDATE {p}session SET expires = {now} + ttl, epoch = {epoch} WHERE id = ? AND NOT ({over})", id),
		c.sql("SELECT id FROM {p}session WHERE id = ? AND NOT ({over})", id),
	}, list: c.sql("SELECT COUNT(*) FROM {p}session WHERE {left} <= 0")}, func(a answer) error {
		if len(a[0]) == 0 {
			return o.Failed(driver.ErrSessionLost, errNoSession)
		}
		if number(a[1][0][0]) > 0 {
			c.sessions.Go(func() { _ = c.reapAll(context.Background()) }) // or with the next renewal
		}
		return nil
	}))
}

// fenced executes a script that does nothing if it arrives after a later one was answered.
// build makes it from the number of the request, with the condition admitted. The answer
// begins with the rows of the queries of before, then that of the session.
func (s *session) fenced(ctx context.Context, o attempt.Op, raise bool, before []string, build func(number uint64) script) (a answer, err error) {
	err = s.fence.Do(raise, func(r fence.Request) (floor uint64, err error) {
		built, lock := build(r.Number), "{share}"
		var also []string
		if r.Raise {
			lock = "{update}"
			also = []string{s.conn.sql("UPDATE {p}session SET floor = ? WHERE id = ? AND floor < ?", r.Number, s.ID(), r.Number)}
		}
		look := s.conn.sql("SELECT floor FROM {p}session WHERE id = ? AND NOT ({over}) "+lock, s.ID())
		built.write, built.do = true, slices.Concat(before, []string{look}, also, built.do)
		err = s.Do(ctx, o, s.conn.request(o, built, func(found answer) error {
			a = found
			if len(a[len(before)]) == 0 {
				return o.Failed(driver.ErrSessionLost, errNoSession)
			}
			floor = uint64(number(a[len(before)][0][0]))
			return nil
		}))
		return floor, err
	})
	return a, err
}

// admitted is the condition of a fenced statement: the session is there, and no later
// request was answered. Its arguments are the session and the number of the request.
const admitted = "EXISTS (SELECT 1 FROM {p}session s WHERE s.id = ? AND s.floor <= ? AND NOT ({over}))"

// Create implements driver.Session.
func (s *session) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	n, _, err := s.create(ctx, dir, id, data, s.conn.sql("n.session = ? AND n.id = ?", s.ID(), id))
	return n, err
}

// CreateList implements driver.CreateLister.
func (s *session) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	return s.create(ctx, dir, id, data, "TRUE")
}

// create makes a node, and lists those that meet a condition. The directory is locked from the
// draw of the token to the commit: otherwise a later token could be seen first.
func (s *session) create(ctx context.Context, dir, id string, data []byte, condition string) (driver.Node, []driver.Node, error) {
	c, full := s.conn, s.conn.dir(dir)
	o := s.Write("create", full+"/"+s.ID()+"-"+id)
	if err := driver.CheckData(data); err != nil {
		return driver.Node{}, nil, o.Failed(nil, err)
	}
	own := c.sql("CASE WHEN n.session = ? AND n.id = ? THEN n.data END", s.ID(), id)
	lock := c.sql("SELECT slot FROM {p}lock WHERE slot = ? {update}", slot(full))
	a, err := s.fenced(ctx, o, false, []string{lock}, func(number uint64) script {
		return script{do: []string{
			c.sql("INSERT INTO {p}node (dir, session, id, version, data) SELECT ?, ?, ?, 1, ? FROM {p}lock WHERE slot = ? AND "+admitted+
				" AND NOT EXISTS (SELECT 1 FROM {p}node WHERE session = ? AND dir = ? AND id = ?)",
				full, s.ID(), id, data, slot(full), s.ID(), number, s.ID(), full, id),
		}, list: c.listing(dir, own, condition)}
	})
	if err != nil {
		return driver.Node{}, nil, err
	}
	l := c.readList(dir, a[2])
	if l.due { // if that fails, the list of the transaction is as good
		_ = s.Do(ctx, o, func(ctx context.Context) error {
			now, err := c.list(ctx, o, dir, own, condition)
			if err == nil {
				l = now
			}
			return err
		})
	}
	i := slices.IndexFunc(l.nodes, func(n driver.Node) bool { return n.Session == s.ID() && n.ID == id })
	switch {
	case s.Err() != nil:
		return driver.Node{}, nil, s.Err()
	case len(a[0]) == 0:
		return driver.Node{}, nil, o.Failed(driver.ErrInvalid, errors.New("the table of locks lacks a row; execute Dialect.Schema"))
	case i < 0:
		return driver.Node{}, nil, o.Failed(driver.ErrUncertain, errors.New("the node was removed as soon as it was made"))
	}
	return l.nodes[i], l.nodes, nil
}

// Abandon implements driver.Session: it raises the floor, and removes the node.
func (s *session) Abandon(ctx context.Context, dir, id string) error {
	c, full := s.conn, s.conn.dir(dir)
	o := s.Write("abandon", full+"/"+s.ID()+"-"+id)
	_, err := s.fenced(ctx, o, true, nil, func(number uint64) script {
		return script{do: []string{
			c.sql("DELETE FROM {p}node WHERE session = ? AND dir = ? AND id = ? AND "+admitted, s.ID(), full, id, s.ID(), number),
		}, after: c.tell("s"+s.ID(), "TRUE")}
	})
	if err == nil {
		c.polls.Soon()
	}
	return err
}

// List implements driver.Session.
func (s *session) List(ctx context.Context, dir string) ([]driver.Node, error) {
	return s.list(ctx, dir, "n.data", "TRUE")
}

// ListNames implements driver.NameLister.
func (s *session) ListNames(ctx context.Context, dir string, last uint64) ([]driver.Node, error) {
	return s.list(ctx, dir, "NULL", s.conn.sql("n.token <= ?", min(last, 1<<63-1)))
}

func (s *session) list(ctx context.Context, dir, data, condition string) ([]driver.Node, error) {
	o := s.Read("list", dir)
	var l list
	err := s.Do(ctx, o, func(ctx context.Context) (err error) {
		l, err = s.conn.list(ctx, o, dir, data, condition)
		return err
	})
	return l.nodes, err
}

// Update implements driver.Session.
func (s *session) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	o, c := s.Write("update", n.Key), s.conn
	if err := driver.CheckData(data); err != nil {
		return driver.Node{}, o.Failed(nil, err)
	}
	n.Data = bytes.Clone(data)
	a, err := s.fenced(ctx, o, false, nil, func(number uint64) script {
		return script{do: []string{
			c.sql("SELECT token FROM {p}node WHERE token = ? AND session = ? {update}", n.Token, s.ID()),
			c.sql("UPDATE {p}node SET data = ?, version = version + 1 WHERE token = ? AND session = ? AND "+admitted,
				n.Data, n.Token, s.ID(), s.ID(), number),
		}}
	})
	if err == nil && len(a[1]) == 0 {
		err = o.Failed(driver.ErrGone, nil)
	}
	if err != nil {
		return driver.Node{}, err
	}
	return n, nil
}

// Delete implements driver.Session. It tells those who listen if another node stands behind.
func (s *session) Delete(ctx context.Context, n driver.Node) error {
	o, c := s.Write("delete", n.Key), s.conn
	err := s.Do(ctx, o, c.request(o, script{
		write: true,
		do:    []string{c.sql("DELETE FROM {p}node WHERE token = ? AND session = ?", n.Token, s.ID())},
		after: c.tell(strconv.FormatUint(n.Token, 10), "EXISTS (SELECT 1 FROM {p}node WHERE dir = ? AND token > ?)", c.dir(n.Dir), n.Token),
	}, nil))
	if err == nil {
		c.polls.Gone(n.Same)
		c.polls.Soon()
	}
	return err
}

// WaitDelete implements driver.Session.
func (s *session) WaitDelete(ctx context.Context, n driver.Node) error {
	_, err := s.WaitAny(ctx, []driver.Node{n})
	return err
}

// WaitAny implements driver.AnyWaiter.
func (s *session) WaitAny(ctx context.Context, nodes []driver.Node) (gone int, err error) {
	o := s.Read("wait", "")
	o.Limit = 0 // looks have limits of their own
	if len(nodes) > 0 {
		o.Key = nodes[0].Key
	}
	s.conn.listen()
	err = s.Do(ctx, o, func(ctx context.Context) (err error) {
		gone, err = s.conn.polls.Wait(ctx, nodes...)
		return err
	})
	return gone, err
}

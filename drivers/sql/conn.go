package sql

import (
	"context"
	"database/sql"
	dbdriver "database/sql/driver"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/poll"
	"github.com/coordkit/coordkit/coord/driver/sessions"
	"github.com/coordkit/coordkit/coord/driver/watch"
)

const limit = 5 * time.Second // of an attempt of a call that belongs to no session

// conn implements driver.Conn and driver.Watcher.
type conn struct {
	dialect  Dialect
	space    string // the namespace
	db       runner
	sessions *sessions.Keeper
	polls    *poll.Poll // of nodes that are waited for, and directories that are watched
	watches  *watch.Hub
	news     *sql.DB // by which to listen to what the database tells; nil: it does not
	hearing  sync.Once
}

// Caps implements driver.Conn.
func (c *conn) Caps() driver.Caps {
	return driver.CapCreateList | driver.CapWaitAny | driver.CapListNames | driver.CapWatch | driver.CapShared | driver.CapDurable
}

// Close implements driver.Conn.
func (c *conn) Close() error {
	c.sessions.Close(c.db.close)
	return nil
}

func (c *conn) sql(format string, args ...any) string { return c.dialect.sql(format, args...) }

// request returns a request that executes a script. check looks at the answer, if not nil.
func (c *conn) request(o attempt.Op, s script, check func(answer) error) func(context.Context) error {
	return func(ctx context.Context) error {
		a, err := c.db.run(ctx, o, s)
		if err != nil || check == nil {
			return err
		}
		return check(a)
	}
}

// dir returns the name of a directory in the tables.
func (c *conn) dir(dir string) string { return c.space + "/" + dir }

// slot returns the row of the table of locks that creations in a directory take.
func slot(dir string) uint32 { return crc32.ChecksumIEEE([]byte(dir)) % slots }

// listing returns the query for the nodes of a directory that meet a condition, in the order
// of the tokens. data is a column or an expression.
func (c *conn) listing(dir, data, condition string) string {
	return c.sql("SELECT n.session, n.id, n.token, n.version, {left}, "+data+
		" FROM {p}node n JOIN {p}session s ON s.id = n.session WHERE n.dir = ? AND "+condition+" ORDER BY n.token", c.dir(dir))
}

// list is a directory as the tables have it at one moment.
type list struct {
	nodes []driver.Node
	due   bool // the session of one is

	// stamp is that of package poll: the number of rows, the sum of their tokens and that of
	// their versions. It never comes back: with the same number of rows one of the sums rises.
	stamp string
}

// readList reads the rows of a listing. What no driver has made is no node.
func (c *conn) readList(dir string, rows [][][]byte) (l list) {
	var tokens, versions int64
	for _, row := range rows {
		session, id, token := string(row[0]), string(row[1]), number(row[2])
		tokens += token
		versions += number(row[3])
		l.due = l.due || number(row[4]) <= 0
		if driver.ValidID(id) {
			l.nodes = append(l.nodes, driver.Node{
				Dir: dir, ID: id, Session: session, Key: c.dir(dir) + "/" + session + "-" + id,
				Seq: uint64(token), Token: uint64(token), Data: row[5],
			})
		}
	}
	if len(rows) > 0 {
		l.stamp = fmt.Sprintf("%d %d %d", len(rows), tokens, versions)
	}
	return l
}

func number(text []byte) int64 {
	n, _ := strconv.ParseInt(string(text), 10, 64) // as a database writes it
	return n
}

// List implements driver.Conn.
func (c *conn) List(ctx context.Context, dir string) ([]driver.Node, error) {
	nodes, _, err := c.listStamped(ctx, dir)
	return nodes, err
}

func (c *conn) listStamped(ctx context.Context, dir string) (nodes []driver.Node, stamp string, err error) {
	o := attempt.Op{Store: c.dialect.scheme, Name: "list", Key: dir, Limit: limit}
	var l list
	err = o.Do(ctx, c.sessions.Life(), func(ctx context.Context) (err error) {
		l, err = c.list(ctx, o, dir, "n.data", "TRUE")
		return err
	})
	return l.nodes, l.stamp, err
}

// list lists a directory, as the request of an attempt. Sessions that are due are deleted first.
// If that fails, as it does while others have them locked, they are not over.
func (c *conn) list(ctx context.Context, o attempt.Op, dir, data, condition string) (list, error) {
	for again := false; ; again = true {
		a, err := c.db.run(ctx, o, script{list: c.listing(dir, data, condition)})
		if err != nil {
			return list{}, err
		}
		l := c.readList(dir, a[0])
		if !l.due || again || c.reap(ctx, o) != nil {
			return l, nil
		}
	}
}

// reap deletes the sessions that are due, with their nodes, as the request of an attempt.
// What is over is decided by this deletion, under the row's lock, and not by a list that
// leaves it out: a renewal that is committed late would bring it back. A session of another
// server first gets a full TTL by the clock of this one. One that is locked, itself or a
// node of it, is left alone: a transaction that Fence is in lasts.
func (c *conn) reap(ctx context.Context, o attempt.Op) error {
	a, err := c.db.run(ctx, o, script{list: c.sql("SELECT id FROM {p}session WHERE {left} <= 0 LIMIT 1000")})
	if err != nil {
		return err
	}
	for _, row := range a[0] {
		id := string(row[0])
		_, failed := c.db.run(ctx, o, script{write: true, do: []string{
			c.sql("UPDATE {p}session SET epoch = {epoch}, expires = {now} + ttl WHERE id = ? AND epoch <> {epoch}", id),
			c.sql("DELETE FROM {p}session WHERE id = (SELECT id FROM (SELECT id FROM {p}session WHERE id = ? AND {over} {skip}) AS due)"+
				" AND (SELECT COUNT(*) FROM (SELECT token FROM {p}node WHERE session = ? {skip}) AS free)"+
				" = (SELECT COUNT(*) FROM {p}node WHERE session = ?)", id, id, id),
		}})
		if failed != nil {
			err = failed
		}
	}
	return err
}

// reapAll is reap as a call.
func (c *conn) reapAll(ctx context.Context) error {
	o := attempt.Op{Store: c.dialect.scheme, Name: "reap", Limit: limit}
	return o.Do(ctx, c.sessions.Life(), func(ctx context.Context) error { return c.reap(ctx, o) })
}

// runner executes scripts. Its errors are those of the request of attempt.Op.Do.
type runner interface {
	run(ctx context.Context, o attempt.Op, s script) (answer, error)
	close()
}

// pool executes scripts on the connections of a database.
type pool struct {
	dialect Dialect
	db      *sql.DB
	listen  *sql.DB // for notifications; nil: none
	own     bool    // the handles are closed with it

	// Calls queue for their places, so that there is room for what keeps sessions alive. Of a
	// library only one writes at a time: others would find the file locked.
	queue, writing chan struct{}
	library        attempt.Library
	broke          atomic.Int64 // when connections did last, in milliseconds
}

func newPool(d Dialect, db, listen *sql.DB, own bool) *pool {
	places := connections - 2
	if d.local {
		places = 1
	}
	return &pool{dialect: d, db: db, listen: listen, own: own, queue: make(chan struct{}, places), writing: make(chan struct{}, 1)}
}

// keeping marks the ctx of a request that keeps sessions alive, or looks.
type keeping struct{}

func keep(request func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return request(context.WithValue(ctx, keeping{}, true)) }
}

func (p *pool) run(ctx context.Context, o attempt.Op, s script) (answer, error) {
	if (s.write || !p.dialect.local) && ctx.Value(keeping{}) == nil {
		if !enter(ctx, p.queue) {
			return nil, attempt.NotSent(ctx.Err())
		}
		defer func() { <-p.queue }()
	}
	if !p.dialect.local {
		return p.execute(ctx, o, s)
	}
	if s.write && !enter(ctx, p.writing) {
		return nil, attempt.NotSent(ctx.Err())
	}
	found := new(answer)
	err := p.library.Do(ctx, func() (err error) {
		*found, err = p.execute(ctx, o, s)
		if s.write {
			<-p.writing
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return *found, nil
}

// enter takes a place, and reports whether it did before the end of ctx.
func enter(ctx context.Context, place chan struct{}) bool {
	select {
	case place <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *pool) execute(ctx context.Context, o attempt.Op, s script) (a answer, err error) {
	c, err := p.db.Conn(ctx)
	connected := err == nil
	if connected {
		defer c.Close() // gives it back
		a, err = p.dialect.execute(ctx, c, s)
	}
	if err == nil {
		return a, nil
	}
	r := p.dialect.read(err)
	err = errors.New(err.Error()) // a library's own time-out must not pass for the end of the caller's ctx
	if connected && r.leave {
		_ = c.Raw(func(any) error { return dbdriver.ErrBadConn }) // closes it
	}
	if last, now := p.broke.Load(), time.Now().UnixMilli(); connected && p.own && !p.dialect.local && !r.answered && !r.conflict &&
		ctx.Err() == nil && now > last+1000 && p.broke.CompareAndSwap(last, now) { // the idle ones broke with it
		p.db.SetMaxIdleConns(0)
		p.db.SetMaxIdleConns(idle)
	}
	if r.hint != "" {
		err = fmt.Errorf("%w; %s", err, r.hint)
	}
	switch {
	case r.conflict:
		return nil, attempt.Conflict(err)
	case r.answered:
		return nil, o.Failed(r.kind, err)
	case !connected:
		return nil, attempt.NotSent(err)
	}
	return nil, err
}

func (p *pool) close() {
	p.library.Wait()
	for _, db := range []*sql.DB{p.db, p.listen} {
		if p.own && db != nil {
			_ = db.Close()
		}
	}
}

package main

import (
	"context"
	"database/sql"
	dbdriver "database/sql/driver"
	"errors"
	"net/url"
	"sync/atomic"

	"modernc.org/sqlite"

	"github.com/coordkit/coordkit/coord/driver"
	coordsql "github.com/coordkit/coordkit/drivers/sql"
)

// fileLink is a client's way to a file of SQLite, where there is no network to cut.
type fileLink struct {
	dbdriver.Connector
	cut atomic.Bool
}

func (l *fileLink) Cut()        { l.cut.Store(true) }
func (l *fileLink) Heal() error { l.cut.Store(false); return nil }

var errCut = errors.New("the link to the file is cut")

// Connect implements database/sql/driver.Connector.
func (l *fileLink) Connect(ctx context.Context) (dbdriver.Conn, error) {
	if l.cut.Load() {
		return nil, errCut
	}
	c, err := l.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return fileConn{c, l}, nil
}

// fileConn is a connection to the file that fails while its link is cut.
type fileConn struct {
	dbdriver.Conn
	link *fileLink
}

// ExecContext implements database/sql/driver.ExecerContext.
func (c fileConn) ExecContext(ctx context.Context, query string, args []dbdriver.NamedValue) (dbdriver.Result, error) {
	if c.link.cut.Load() {
		return nil, errCut
	}
	return c.Conn.(dbdriver.ExecerContext).ExecContext(ctx, query, args)
}

// QueryContext implements database/sql/driver.QueryerContext.
func (c fileConn) QueryContext(ctx context.Context, query string, args []dbdriver.NamedValue) (dbdriver.Rows, error) {
	if c.link.cut.Load() {
		return nil, errCut
	}
	return c.Conn.(dbdriver.QueryerContext).QueryContext(ctx, query, args)
}

// connectFile opens a file of SQLite, and creates the tables if they are not there.
func connectFile(ctx context.Context, target driver.Target) (driver.Conn, link, error) {
	file := url.URL{Path: target.Hosts[0] + target.Path}
	connector, err := sqlite.NewConnector("file:" + file.EscapedPath() + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(1000)")
	if err != nil {
		return nil, nil, err
	}
	l := &fileLink{Connector: connector}
	db := sql.OpenDB(l)
	_, err = db.ExecContext(ctx, coordsql.SQLite.Schema())
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	conn, err := coordsql.New(db, coordsql.SQLite, target.Namespace, nil)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return opened{conn, db}, l, nil
}

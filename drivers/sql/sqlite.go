package sql

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/coordkit/coordkit/coord/driver"
)

// SQLite is for a file that the processes of one machine share, by modernc.org/sqlite. The
// program's own *sql.DB needs the pragma journal_mode(WAL).
var SQLite = Dialect{
	scheme:   "sqlite",
	prefix:   defaultPrefix,
	text:     "CAST(x'%x' AS TEXT)",
	bytes:    "x'%x'",
	local:    true,
	standing: "UPDATE {p}node SET version = version WHERE token = ?",
	execute:  executeSQLite,
	read:     readSQLite,
	words: map[string]string{
		"now":     "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
		"epoch":   "''",
		"over":    "expires <= {now}",
		"left":    "expires - {now}",
		"counter": "INTEGER PRIMARY KEY AUTOINCREMENT",
		"blob":    "BLOB",
		// An operator's shell does not enforce foreign keys, and does execute triggers.
		"last": "CREATE TRIGGER IF NOT EXISTS {p}end AFTER DELETE ON {p}session BEGIN DELETE FROM {p}node WHERE session = OLD.id; END;\n",
	},
}

// openSQLite opens a file. It need not be there.
func openSQLite(path string) (*sql.DB, error) {
	pragmas := url.Values{"_pragma": {"busy_timeout(0)", "journal_mode(WAL)", "synchronous(FULL)"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+pragmas.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(32)
	db.SetMaxIdleConns(idle)
	db.SetConnMaxIdleTime(time.Minute)
	return db, nil
}

// executeSQLite executes a script. A write has the file for itself from its beginning: one
// that begins as a read could not go on as a write once another process has written.
func executeSQLite(ctx context.Context, c *sql.Conn, s script) (a answer, err error) {
	lasting := context.WithoutCancel(ctx) // an end takes no longer than the disk, and is to be known
	if s.write {
		if _, err = c.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				_, _ = c.ExecContext(lasting, "ROLLBACK")
			}
		}()
	}
	for _, statement := range append(slices.Clone(s.do), s.list) {
		switch {
		case strings.HasPrefix(statement, "SELECT"):
			rows, err := c.QueryContext(ctx, statement)
			if err != nil {
				return nil, err
			}
			found, err := readRows(rows)
			_ = rows.Close()
			if err != nil {
				return nil, err
			}
			a = append(a, found)
		case statement != "":
			if _, err = c.ExecContext(ctx, statement); err != nil {
				return nil, err
			}
		}
	}
	if s.write {
		_, err = c.ExecContext(lasting, "COMMIT")
	}
	return a, err
}

// readRows reads the rows of a query as text and bytes.
func readRows(rows *sql.Rows) (all [][][]byte, err error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row, places := make([][]byte, len(columns)), make([]any, len(columns))
		for i := range row {
			places[i] = &row[i]
		}
		if err := rows.Scan(places...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// readSQLite reads an error by its result code.
func readSQLite(err error) reading {
	failed, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return reading{}
	}
	switch failed.Code() & 0xff { // the rest says more of the same
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return reading{conflict: true}
	case sqlite3.SQLITE_FULL:
		return reading{answered: true, kind: driver.ErrUnavailable, hint: "the disk is full"}
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return reading{answered: true, kind: driver.ErrDenied, hint: "the program has to be able to write to the file and to its directory"}
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return reading{answered: true, kind: driver.ErrInvalid, hint: "want a database, or a new file in a directory that is there"}
	case sqlite3.SQLITE_ERROR:
		if strings.Contains(failed.Error(), "no such table") {
			return reading{answered: true, kind: driver.ErrInvalid, hint: missingTables}
		}
		return reading{answered: true}
	}
	return reading{}
}

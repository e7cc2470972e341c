package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/coord/driver"
)

// Tx is what Fence and Gate need of a transaction: a *sql.Tx, or a *sql.Conn that is in one.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Fence makes sure, within a transaction of the program on the database that holds the
// locks, that the hold with the token still stands, and keeps it standing until the end of
// the transaction: nobody else is granted the lock before that, even if the session
// expires. If the hold is over, the error Is driver.ErrGone, and the program rolls back.
//
// Call it anywhere in the transaction, and do not release the lock before it has ended: the
// release waits for it. A transaction that lasts makes others wait.
func Fence(ctx context.Context, tx Tx, d Dialect, token uint64) error {
	var held int64
	var err error
	if d.local {
		var r sql.Result
		if r, err = tx.ExecContext(ctx, d.FenceQuery(token)); err == nil {
			held, err = r.RowsAffected()
		}
	} else if err = tx.QueryRowContext(ctx, d.FenceQuery(token)).Scan(&held); err == sql.ErrNoRows {
		err = nil
	}
	return fenceError(d, "fence", token, held > 0, err)
}

// fenceError returns the error of a fence at which a hold stands or not.
func fenceError(d Dialect, op string, token uint64, stands bool, err error) error {
	if err == nil && stands {
		return nil
	}
	failed := &driver.Error{Op: op, Store: d.scheme, Key: fmt.Sprint("token ", token), Err: err}
	if err == nil {
		failed.Kind, failed.Err = driver.ErrGone, errors.New("the lock is not held any more")
	}
	return failed
}

// FenceQuery returns the statement of Fence, for programs whose transactions are none of
// database/sql, as those of pgx. The hold stands if it finds a row or, in SQLite, affects
// one.
func (d Dialect) FenceQuery(token uint64) string { return d.sql(d.standing, token) }

// GateSchema returns the statement that creates the table of Gate in the program's database.
func (d Dialect) GateSchema() string {
	return d.sql("CREATE TABLE IF NOT EXISTS {p}gate (name VARCHAR(255) PRIMARY KEY, token BIGINT NOT NULL)")
}

// Gate fences a transaction on another database than the one that holds the locks. Its
// table, of Dialect.GateSchema, has one row for each name, with the highest token seen. The
// function raises it to token. If a later holder was there the error Is driver.ErrGone, and
// the program rolls back. Later holders wait until the transaction has ended.
//
// Call it first, before anything is read: otherwise an earlier holder can still write in
// between. The token may be of a lock on any store.
func Gate(ctx context.Context, tx Tx, d Dialect, name string, token uint64) error {
	insert := "INSERT INTO {p}gate (name, token) VALUES (?, ?) "
	if d.scheme == "mysql" {
		insert += "ON DUPLICATE KEY UPDATE token = GREATEST(token, VALUES(token))"
	} else {
		insert += "ON CONFLICT (name) DO UPDATE SET token = excluded.token WHERE {p}gate.token < excluded.token"
	}
	_, err := tx.ExecContext(ctx, d.sql(insert, name, token))
	var highest uint64
	if err == nil {
		err = tx.QueryRowContext(ctx, d.sql("SELECT token FROM {p}gate WHERE name = ? {update}", name)).Scan(&highest)
	}
	return fenceError(d, "gate", token, highest == token, err)
}

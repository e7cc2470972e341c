package sql

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/coordkit/coordkit/coord/driver"
)

// Postgres is for PostgreSQL from version 12 on, by pgx. The program's own *sql.DB is one
// of pgx's package stdlib.
var Postgres = Dialect{
	scheme:   "postgres",
	prefix:   defaultPrefix,
	text:     "convert_from(decode('%x', 'hex'), 'UTF8')",
	bytes:    "decode('%x', 'hex')",
	tells:    true,
	standing: "SELECT token FROM {p}node WHERE token = ? FOR KEY SHARE",
	execute:  executePostgres,
	read:     readPostgres,
	words: map[string]string{
		"now": "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
		// A replica that is promoted was not started when the primary was.
		"epoch": "extract(epoch FROM pg_postmaster_start_time())::text",
		"over":  "(epoch = {epoch} AND expires <= {now})",
		"left":  "CASE WHEN epoch = {epoch} THEN expires - {now} ELSE 0 END",
		// Not FOR UPDATE, which waits for the transactions that Fence is in.
		"update":  "FOR NO KEY UPDATE",
		"share":   "FOR SHARE",
		"skip":    "FOR UPDATE SKIP LOCKED",
		"ascii":   `COLLATE "C"`,
		"counter": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
		"blob":    "bytea",
		"first":   "SELECT pg_advisory_xact_lock(hashtext('{p}version'));\n",
	},
}

// executePostgres executes a script as one message of the simple protocol. It needs nothing
// of the connection, no prepared statement and no setting, so it works through PgBouncer in
// transaction mode. The server holds the rows of the list from the end of the transaction
// on, and sends them when the locks are released.
func executePostgres(ctx context.Context, c *sql.Conn, s script) (a answer, _ error) {
	all := append([]string{"SELECT current_setting('transaction_read_only')"}, s.do...)
	commit := len(all) + 1 // more than there are
	const begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
	switch {
	case s.write && s.list != "":
		all = slices.Concat([]string{begin}, s.do, []string{"DECLARE coordkit_list NO SCROLL CURSOR WITH HOLD FOR " + s.list,
			"COMMIT", "FETCH ALL FROM coordkit_list", "CLOSE coordkit_list"})
		commit = len(all) - 3
	case s.write:
		all = slices.Concat([]string{begin}, s.do, []string{"COMMIT"})
		commit = len(all) - 1
	case s.list != "":
		all = append(all, s.list)
	}
	all = append(all, s.after...)
	var failed error
	raw := c.Raw(func(own any) error {
		pgx, ok := own.(*stdlib.Conn)
		if !ok {
			return &pgconn.PgError{Code: "0A000", Message: "the *sql.DB is not one of pgx's package stdlib"}
		}
		pg := pgx.Conn().PgConn()
		results := pg.Exec(ctx, strings.Join(all, ";\n"))
		at := 0
		for ; failed == nil && results.NextResult(); at++ {
			var rows [][][]byte
			if rows, failed = readResult(results.ResultReader()); strings.HasPrefix(all[at], "SELECT") || strings.HasPrefix(all[at], "FETCH") {
				a = append(a, rows)
			}
		}
		failed = cmp.Or(failed, results.Close())
		if failed != nil && !pg.IsClosed() && pg.TxStatus() != 'I' {
			_, _ = pg.Exec(ctx, "ROLLBACK").ReadAll()
		}
		if failed != nil && at > commit {
			failed = fmt.Errorf("after the commit: %s", failed)
		}
		if pg.IsClosed() {
			_ = pg.Conn().Close() // pgx would take up to 15 s in the background
		}
		return nil
	})
	switch err := cmp.Or(raw, failed); {
	case err != nil:
		return nil, err
	case s.write:
		return a, nil
	case string(a[0][0][0]) != "off":
		return nil, &pgconn.PgError{Code: "25006", Message: "the server is read-only"}
	}
	return a[1:], nil
}

// readResult reads the rows of a result. They are text, and what is in hexadecimal is
// decoded.
func readResult(r *pgconn.ResultReader) (rows [][][]byte, err error) {
	for r.NextRow() {
		row := make([][]byte, len(r.Values()))
		for i, v := range r.Values() {
			switch {
			case v == nil:
			case r.FieldDescriptions()[i].DataTypeOID == pgtype.ByteaOID:
				row[i], _ = hex.DecodeString(strings.TrimPrefix(string(v), `\x`)) // the server writes it so
			default:
				row[i] = slices.Clone(v)
			}
		}
		rows = append(rows, row)
	}
	_, err = r.Close()
	return rows, err
}

// readPostgres reads an error by its SQLSTATE.
func readPostgres(err error) reading {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return reading{}
	}
	switch failed.Code {
	case "40001", "40P01", "55P03": // serialization failure, deadlock, lock not available
		return reading{conflict: true}
	case "25006": // read-only
		return reading{answered: true, kind: driver.ErrUnavailable, hint: "another server is the primary", leave: true}
	case "53300", "53200", "53100", "57P03": // too many connections, out of memory, disk full, starting
		return reading{answered: true, kind: driver.ErrUnavailable}
	case "42P01", "3F000", "42703", "3D000": // no such table, schema, column, database
		return reading{answered: true, kind: driver.ErrInvalid, hint: missingTables}
	case "42501": // insufficient privilege
		return reading{answered: true, kind: driver.ErrDenied, hint: missingRight}
	}
	switch failed.Code[:2] {
	case "28": // authorization
		return reading{answered: true, kind: driver.ErrDenied}
	case "08", "57", "58", "XX": // connection, operator intervention, system, internal
		return reading{leave: true}
	}
	return reading{answered: true}
}

package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/coordkit/coordkit/coord/driver"
)

// MySQL is for MariaDB from version 10.6 on and MySQL from version 8.0.19 on, by
// github.com/go-sql-driver/mysql. The program's own *sql.DB needs multiStatements=true.
var MySQL = Dialect{
	scheme: "mysql",
	prefix: defaultPrefix,
	text:   "x'%x'",
	bytes:  "x'%x'",
	// The row alone: to lock that of the session would keep it from being renewed.
	standing: "SELECT token FROM {p}node WHERE token = ? LOCK IN SHARE MODE",
	execute:  executeMySQL,
	read:     readMySQL,
	words: map[string]string{
		"now":     "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)",
		"epoch":   "CONCAT(@@hostname, ':', @@port, ':', @@server_id)",
		"over":    "(epoch = {epoch} AND expires <= {now})",
		"left":    "CASE WHEN epoch = {epoch} THEN expires - {now} ELSE 0 END",
		"update":  "FOR UPDATE",
		"share":   "LOCK IN SHARE MODE",
		"skip":    "FOR UPDATE SKIP LOCKED",
		"ascii":   "CHARACTER SET ascii COLLATE ascii_bin",
		"counter": "BIGINT PRIMARY KEY AUTO_INCREMENT",
		"blob":    "MEDIUMBLOB",
		"engine":  " ENGINE=InnoDB",
	},
}

// executeMySQL executes a script as one message. MySQL has no cursor that outlives a
// transaction, so the list is read right after the commit, and shows that moment.
func executeMySQL(ctx context.Context, c *sql.Conn, s script) (answer, error) {
	const committed = "committed" // is what a query after the commit answers
	all := append([]string{"SELECT @@read_only"}, s.do...)
	if s.write {
		all = slices.Concat([]string{"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION"}, s.do,
			[]string{"COMMIT", "SELECT '" + committed + "'"})
	}
	if s.list != "" {
		all = append(all, s.list)
	}
	a, err := queryMySQL(ctx, c, strings.Join(all, ";\n"))
	at := slices.IndexFunc(a, func(rows [][][]byte) bool {
		return len(rows) == 1 && string(rows[0][0]) == committed
	})
	switch {
	case err != nil && at >= 0:
		return nil, fmt.Errorf("after the commit: %s", err)
	case err != nil:
		_, _ = c.ExecContext(ctx, "ROLLBACK") // if there is a connection still
		return nil, err
	case s.write:
		return slices.Delete(a, at, at+1), nil
	case string(a[0][0][0]) != "0":
		return nil, &mysql.MySQLError{Number: 1290, Message: "the server is read-only"}
	}
	return a[1:], nil
}

// queryMySQL sends statements, and returns the rows of the queries, also with an error.
func queryMySQL(ctx context.Context, c *sql.Conn, text string) (a answer, err error) {
	rows, err := c.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for more := true; more; more = rows.NextResultSet() {
		found, err := readRows(rows)
		if err != nil {
			return a, err
		}
		a = append(a, found)
	}
	return a, rows.Err()
}

// readMySQL reads an error by its number.
func readMySQL(err error) reading {
	failed, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return reading{}
	}
	switch failed.Number {
	case 1213, 1205: // deadlock, lock wait timeout
		return reading{conflict: true}
	case 1290, 1792, 1836: // read-only
		return reading{answered: true, kind: driver.ErrUnavailable, hint: "another server is the primary", leave: true}
	case 1040, 1203, 1226, 1041, 1037, 1021, 1114: // too many connections, out of memory, disk full
		return reading{answered: true, kind: driver.ErrUnavailable}
	case 1146, 1054, 1049: // no such table, column, database
		return reading{answered: true, kind: driver.ErrInvalid, hint: missingTables}
	case 1064: // syntax
		return reading{answered: true, kind: driver.ErrInvalid, hint: "the *sql.DB needs multiStatements=true"}
	case 1044, 1045, 1142, 1143, 1227, 1698: // access denied
		return reading{answered: true, kind: driver.ErrDenied, hint: missingRight}
	case 1053, 1077, 1079, 1080, 1152, 1317, 1927, 3024: // ended while it was executed
		return reading{leave: true}
	}
	return reading{answered: true}
}

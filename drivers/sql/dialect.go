package sql

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
)

// Dialect is a kind of database, with the names of its tables: SQLite, Postgres or MySQL.
type Dialect struct {
	scheme string
	prefix string            // of the tables
	words  map[string]string // for what stands in braces in statements
	text   string            // how a text is written that is given in hexadecimal
	bytes  string            // likewise for bytes
	local  bool              // the database is a library in this process
	tells  bool              // it tells of deletions to those who listen

	// standing is a statement that affects, or finds, the row of a node, and keeps it from
	// being deleted until the end of the transaction.
	standing string

	// execute executes a script once, on one connection.
	execute func(ctx context.Context, c *sql.Conn, s script) (answer, error)
	// read says what an error means.
	read func(err error) reading
}

// Tables returns the dialect with other names for its tables: prefix replaces "coordkit_".
// A prefix such as "locks." or "locks.app_" puts them into the schema "locks", which has
// to be there.
func (d Dialect) Tables(prefix string) Dialect {
	d.prefix = prefix
	return d
}

// Schema returns the statements that create the tables, for an administrator. They change
// nothing that is there already.
func (d Dialect) Schema() string { return d.sql(tables) }

const (
	defaultPrefix = "coordkit_"
	schemaVersion = "1"
	connections   = 6   // the most of a client, as each costs a server a process
	idle          = 4   // of them
	slots         = 256 // of the table of locks; creations in directories that share one come one after the other
)

// tables creates the tables. Each statement ends with a semicolon at the end of a line.
const tables = `{first}CREATE TABLE IF NOT EXISTS {p}lock (slot INT PRIMARY KEY){engine};
INSERT INTO {p}lock WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 255)
	SELECT i FROM n WHERE i NOT IN (SELECT slot FROM {p}lock);
CREATE TABLE IF NOT EXISTS {p}version (version INT PRIMARY KEY){engine};
INSERT INTO {p}version SELECT 1 FROM {p}lock WHERE slot = 0 AND NOT EXISTS (SELECT 1 FROM {p}version);
CREATE TABLE IF NOT EXISTS {p}session (
	id VARCHAR(32) {ascii} PRIMARY KEY,
	space VARCHAR(800) {ascii} NOT NULL,
	ttl BIGINT NOT NULL,
	expires BIGINT NOT NULL,
	epoch VARCHAR(255) {ascii} NOT NULL,
	floor BIGINT NOT NULL
){engine};
CREATE TABLE IF NOT EXISTS {p}node (
	token {counter},
	dir VARCHAR(1620) {ascii} NOT NULL,
	session VARCHAR(32) {ascii} NOT NULL,
	id VARCHAR(16) {ascii} NOT NULL,
	version BIGINT NOT NULL,
	data {blob} NOT NULL,
	UNIQUE (dir, token),
	UNIQUE (session, dir, id),
	FOREIGN KEY (session) REFERENCES {p}session (id) ON DELETE CASCADE
){engine};
{last}`

var hole = regexp.MustCompile(`\?|\{[a-z]+\}`)

// sql returns a statement: format with the dialect's words for what stands in braces, and
// with the arguments for question marks.
func (d Dialect) sql(format string, args ...any) string {
	return hole.ReplaceAllStringFunc(format, func(at string) string {
		switch at {
		case "?":
			defer func() { args = args[1:] }()
			return d.literal(args[0])
		case "{p}":
			return d.prefix
		}
		return d.sql(d.words[strings.Trim(at, "{}")])
	})
}

// literal writes an argument. No statement is prepared, as a pooler may execute it on any
// connection.
func (d Dialect) literal(arg any) string {
	switch arg := arg.(type) {
	case []byte:
		return fmt.Sprintf(d.bytes, arg)
	case string:
		const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:%/"
		if strings.Trim(arg, plain) != "" {
			return fmt.Sprintf(d.text, arg)
		}
		return "'" + arg + "'"
	}
	return fmt.Sprint(arg)
}

// script is what one message to the database holds.
type script struct {
	write bool
	do    []string // in one transaction, if write is set
	list  string   // a query as of then, whose rows are sent when no lock is held any more
	after []string // when the transaction is committed
}

// answer holds the rows of each query of a script, that of list last. NULL is nil.
type answer [][][][]byte

// reading is what an error means.
type reading struct {
	answered bool   // the database has refused the script, and done nothing
	conflict bool   // likewise, and the next try may succeed
	kind     error  // of the refusal
	hint     string // what to do about it
	leave    bool   // the connection is of no use any more
}

// What to do.
const (
	missingTables = "open with migrate=true once, or let an administrator execute Dialect.Schema"
	missingRight  = "the role needs SELECT, INSERT, UPDATE and DELETE on the tables"
)

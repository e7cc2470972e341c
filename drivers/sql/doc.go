// Package sql is the driver for databases: SQLite, for the processes of one machine, and
// PostgreSQL, MariaDB and MySQL. Import it for its side effect and open a URL, or use [New]
// with a handle of your own.
//
//	sqlite:///var/lib/myapp/locks.db?namespace=myapp
//	postgres://myapp@db1,db2/mydb?password_env=DB_PASSWORD&tls=true&migrate=true
//	mysql://myapp@db/mydb?password_file=/run/secrets/db&tables=locks_
//
// The path names the file or the database. SQLite's tables are created when it is opened,
// those of the others with migrate=true, or by an administrator with [Dialect.Schema].
//
// # What it costs
//
//	create, with or without the list     1 message, a transaction
//	update, delete, abandon              1, a transaction
//	list                                 1 query
//	open, renew, close a session         1, a transaction; it is renewed every third of the TTL
//	wait, watch a directory              at most 10 queries a second for all of a client's
//
// A session that is due costs a query and a transaction. PostgreSQL tells of deletions by
// NOTIFY: then a client that watches no directory asks twice a second. It has at most 7 connections.
//
// # Time
//
// A session is due by the clock of the database, and of SQLite by that of the machine. It is
// over when a client has deleted its row. A step forward of that clock ends sessions early.
// After a failover each session first gets a full TTL by the clock of the new primary.
//
// # What operators see
//
// The tables are coordkit_node, coordkit_session, coordkit_lock and coordkit_version. A line
// and its sessions, the holder first (expires is in milliseconds since 1970):
//
//	SELECT n.token, n.data, s.id, s.expires FROM coordkit_node n JOIN coordkit_session s ON
//	s.id = n.session WHERE n.dir = 'myapp/mutex:deploy' ORDER BY n.token
//
// To delete a row of a node takes its place away; of a session, all of its places. Do not
// truncate coordkit_node or reset its counter: tokens would come again.
//
// # Limits
//
// PgBouncer may pool transactions; the parameter "listen" then names the server itself. A
// replica has to be synchronous, or a failover loses locks and gives tokens twice. Galera
// needs one node for all writes. A file of SQLite belongs on a local disk. A process that is
// stopped while it writes to it keeps all others waiting.
//
// # Files
//
// Each uses what is in those after it: open.go, fence.go, session.go, watch.go, conn.go,
// postgres.go, mysql.go, sqlite.go, dialect.go.
package sql

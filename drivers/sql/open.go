package sql

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql"
	dbdriver "database/sql/driver"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/poll"
	"github.com/coordkit/coordkit/coord/driver/sessions"
	"github.com/coordkit/coordkit/coord/driver/watch"
	"github.com/coordkit/coordkit/drivers/internal/dial"
)

// The parameters of a URL.
const paramMigrate, paramTables, paramListen = "migrate", "tables", "listen"

// A network connection is made within dialTimeout, and ready within connectTimeout.
const dialTimeout, connectTimeout = 3 * time.Second, 10 * time.Second

func init() {
	migrate := driver.Param{Name: paramMigrate, Check: like("^(true|false)$", "true or false"),
		Doc: "create the tables when the store is opened (default: false; of sqlite true)"}
	tables := driver.Param{Name: paramTables, Check: like(`^([a-z_][a-z0-9_]{0,30}\.)?([a-z_][a-z0-9_]{0,30})?$`, "small letters, digits and _, also after a schema and a dot"),
		Doc: `what the names of the tables begin with (default: "` + defaultPrefix + `")`}
	listen := driver.Param{Name: paramListen, Check: like("^(off|[^,/@ ]+:[0-9]{1,5})$", `host:port or "off"`),
		Doc: "where to listen for notifications, behind a pooler the server itself (default: the hosts)"}
	register := func(d Dialect, o driver.Opener) {
		o.Open = func(ctx context.Context, t driver.Target) (driver.Conn, error) {
			c, err := open(ctx, d, t, dial.TCP())
			if err != nil {
				return nil, err
			}
			return c, nil
		}
		o.Path, o.MinTTL, o.MaxTTL = true, minTTL, maxTTL
		o.Params = append([]driver.Param{migrate, tables}, o.Params...)
		driver.Register(d.scheme, o)
	}
	register(SQLite, driver.Opener{Local: true})
	register(Postgres, driver.Opener{DefaultPort: "5432", TLS: true, Password: true, Params: []driver.Param{listen}})
	register(MySQL, driver.Opener{DefaultPort: "3306", TLS: true, Password: true})
}

// like returns the Check of a parameter that matches a pattern.
func like(pattern, want string) func(string) error {
	form := regexp.MustCompile(pattern)
	return func(s string) error {
		if !form.MatchString(s) {
			return fmt.Errorf("want %s", want)
		}
		return nil
	}
}

// Options are the settings of New. The zero value is a sensible default.
type Options struct {
	// Listen is where to listen for PostgreSQL's notifications: the program's pool again, or
	// one that reaches the server directly if the pool goes through PgBouncer. One of its
	// connections is used for that from the first wait on. nil: deletions are polled for.
	Listen *sql.DB
}

// New returns a connection that uses the program's own database handle. The tables have to
// be there: see Dialect.Schema. Everything is kept below namespace, one or more path
// segments joined by "/"; the empty one is "coordkit". opts may be nil. A namespace of
// another form (see driver.Namespace), or of more than 800 bytes, is driver.ErrInvalid.
//
// The caller closes the connection, which does not close db. A renewal needs a connection
// of the pool in time: set a generous limit, or none.
func New(db *sql.DB, d Dialect, namespace string, opts *Options) (driver.Conn, error) {
	if opts == nil {
		opts = &Options{}
	}
	namespace, err := driver.Namespace(namespace)
	if err == nil && len(namespace) > 800 {
		err = fmt.Errorf("%w namespace: %d bytes; want at most 800", driver.ErrInvalid, len(namespace))
	}
	if err != nil {
		return nil, fmt.Errorf("sql: %w", err)
	}
	return newConn(newPool(d, db, opts.Listen, false), d, namespace), nil
}

func newConn(db runner, d Dialect, namespace string) *conn {
	c := &conn{dialect: d, space: namespace, db: db, sessions: sessions.New(d.scheme)}
	if p, ok := db.(*pool); ok {
		c.news = p.listen
	}
	c.polls = poll.New(poll.Config{Store: d.scheme, Keeper: c.sessions, Look: c.look, Reap: c.reapAll})
	c.watches = watch.NewHub(d.scheme, c.sessions, c.polls.Follow(c.listStamped))
	return c
}

// open makes a connection with handles of its own. It connects only to create the tables.
func open(ctx context.Context, d Dialect, t driver.Target, network dial.Network) (*conn, error) {
	o := attempt.Op{Store: d.scheme, Name: "open", Key: strings.Join(t.Hosts, ",") + t.Path, Write: true}
	if p, ok := t.Params[paramTables]; ok {
		d = d.Tables(p)
	}
	p, err := newHandles(d, t, network)
	if err != nil {
		return nil, o.Failed(driver.ErrInvalid, err)
	}
	c := newConn(p, d, t.Namespace)
	if migrate := t.Params[paramMigrate]; migrate == "false" || migrate == "" && !d.local {
		return c, nil
	}
	statements := strings.Split(strings.TrimSuffix(d.Schema(), ";\n"), ";\n")
	if err := o.Do(ctx, c.sessions.Life(), c.request(o, script{write: true, do: statements}, nil)); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// newHandles returns the handles of a target, which do not connect.
func newHandles(d Dialect, t driver.Target, network dial.Network) (*pool, error) {
	switch d.scheme {
	case SQLite.scheme:
		if t.Hosts[0]+t.Path == "" {
			return nil, errors.New("no file; want sqlite:///path/to/file.db")
		}
		db, err := openSQLite(t.Hosts[0] + t.Path)
		return newPool(d, db, nil, true), err
	case MySQL.scheme:
		connector, err := connectMySQL(t, network)
		if err != nil {
			return nil, err
		}
		return newPool(d, handle(connector, connections, idle), nil, true), nil
	}
	connector, err := connectPostgres(t, t.Hosts, network)
	if err != nil {
		return nil, err
	}
	db, at := handle(connector, connections, idle), t.Params[paramListen]
	switch {
	case at == "off":
		return newPool(d, db, nil, true), nil
	case at != "":
		connector, err = connectPostgres(t, []string{at}, network)
	}
	return newPool(d, db, handle(connector, 1, 0), true), err
}

// handle returns a handle with so many connections, open and idle.
func handle(c dbdriver.Connector, open, idle int) *sql.DB {
	db := sql.OpenDB(maker{c, attempt.NewSpare(open, connectTimeout, func(ctx context.Context) (dbdriver.Conn, error) {
		return c.Connect(context.WithValue(ctx, making{}, true))
	})})
	db.SetMaxOpenConns(open)
	db.SetMaxIdleConns(idle)
	db.SetConnMaxIdleTime(time.Minute)
	return db
}

// making marks the ctx of a connection that is made. pgx also makes some to cancel requests
// that were given up, for up to 15 s each; those are refused.
type making struct{}

type maker struct {
	dbdriver.Connector
	spare *attempt.Spare[dbdriver.Conn]
}

func (m maker) Connect(ctx context.Context) (dbdriver.Conn, error) { return m.spare.Get(ctx) }
func (m maker) Close() error                                       { return m.spare.Close() }

// connectPostgres goes round the hosts, and stays with one that takes writes.
func connectPostgres(t driver.Target, hosts []string, network dial.Network) (dbdriver.Connector, error) {
	var names, ports []string
	for _, host := range hosts {
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			return nil, err
		}
		names, ports = append(names, name), append(ports, port)
	}
	text := "sslmode=disable host=" + strings.Join(names, ",") + " port=" + strings.Join(ports, ",")
	if len(hosts) > 1 {
		text += " target_session_attrs=read-write"
	}
	config, err := pgx.ParseConfig(text)
	if err != nil {
		return nil, err
	}
	config.User, config.Password = cmp.Or(t.Username, config.User), cmp.Or(string(t.Password), config.Password)
	config.Database = strings.Trim(t.Path, "/")
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil } // network does that
	config.DialFunc = func(ctx context.Context, _, addr string) (net.Conn, error) {
		if ctx.Value(making{}) == nil {
			return nil, net.ErrClosed
		}
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return network.Any(ctx, addr, 0)
	}
	if t.TLS != nil {
		secure := func(host string) *tls.Config {
			c := t.TLS.Clone()
			c.ServerName = cmp.Or(c.ServerName, host)
			return c
		}
		config.TLSConfig = secure(config.Host)
		for _, f := range config.Fallbacks {
			f.TLSConfig = secure(f.Host)
		}
	}
	never := func(context.Context, stdlib.ShouldPingParams) bool { return false }
	return stdlib.GetConnector(*config, stdlib.OptionShouldPing(never)), nil
}

// connectMySQL goes round the hosts, and stays with one that accepts connections.
func connectMySQL(t driver.Target, network dial.Network) (dbdriver.Connector, error) {
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", t.Hosts[0]
	config.User, config.Passwd, config.DBName = t.Username, string(t.Password), strings.Trim(t.Path, "/")
	config.TLS, config.Timeout = t.TLS, dialTimeout
	config.MultiStatements = true
	config.Logger = &mysql.NopLogger{}
	config.DialFunc = func(ctx context.Context, _, _ string) (conn net.Conn, err error) {
		for _, host := range t.Hosts {
			if conn, err = network.Any(ctx, host, 0); err == nil {
				return conn, nil
			}
		}
		return nil, err
	}
	return mysql.NewConnector(config)
}

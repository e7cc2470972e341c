package sql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/dial"
	"github.com/coordkit/coordkit/internal/drivertest"
	"github.com/coordkit/coordkit/internal/testserver"
)

// The servers that all tests of the package share, each started when first asked for.
var (
	postgresServer = drivertest.Share(testserver.NewPostgres, testserver.PostgresOptions{
		ExtraConfig: map[string]string{"max_connections": "1000", "fsync": "off"}})
	mariaServer = drivertest.Share(testserver.NewMariaDB, testserver.MariaDBOptions{
		ExtraConfig: map[string]string{"max_connections": "1000", "innodb_flush_log_at_trx_commit": "0"}})
)

func TestMain(m *testing.M) { drivertest.Main(m, postgresServer, mariaServer) }

// serverTarget returns the target of a server's URL.
func serverTarget(d Dialect, endpoint, namespace string, user testserver.DatabaseUser) driver.Target {
	return driver.Target{
		Scheme: d.scheme, Hosts: []string{endpoint}, Path: "/" + testserver.Database, Namespace: namespace,
		Username: string(user), Password: testserver.DatabasePassword, Params: map[string]string{}, Logger: zap.NewNop(),
	}
}

// newServerOperator returns the operator of a server, with the tables created.
func newServerOperator(t testing.TB, d Dialect, endpoint string) *operator {
	t.Helper()
	p, err := newHandles(d, serverTarget(d, endpoint, "operator", testserver.Owner), dial.TCP())
	must(t, err)
	t.Cleanup(p.close)
	o := &operator{"", p.db, d}
	o.create(t)
	return o
}

func startPostgres(t testing.TB) *database {
	return startOn(t, Postgres, postgresServer.Get(t).Member(0).Endpoint())
}

func startMariaDB(t testing.TB) *database {
	return startOn(t, MySQL, mariaServer.Get(t).Member(0).Endpoint())
}

// startOn returns a database of a test: on a server it has tables of its own.
func startOn(t testing.TB, d Dialect, endpoint string) *database {
	t.Helper()
	tables := fmt.Sprintf("t%d_", time.Now().UnixNano())
	o := newServerOperator(t, d.Tables(tables), endpoint)
	t.Cleanup(func() {
		for _, table := range []string{"node", "session", "lock", "version"} {
			must(t, o.exec(context.Background(), "DROP TABLE {p}"+table))
		}
	})
	target := serverTarget(d, endpoint, "test", testserver.Owner)
	target.Params[paramTables] = tables
	p, err := newHandles(d, target, dial.TCP())
	must(t, err)
	t.Cleanup(p.close)
	return &database{o, target, p.db}
}

// dialed counts the connections to a server that has some, by namespace: one that is used
// has more or fewer on the network.
type dialed struct {
	mu   sync.Mutex
	open map[string][]*int
}

func (d *dialed) count(namespace string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, open := range d.open[namespace] {
		n += min(*open, 1)
	}
	return n
}

// network returns the network of a connection.
func (d *dialed) network(namespace string, dialTo netfault.DialFunc) dial.Network {
	open := new(int)
	add := func(n int) {
		d.mu.Lock()
		defer d.mu.Unlock()
		*open += n
	}
	d.mu.Lock()
	d.open[namespace] = append(d.open[namespace], open)
	d.mu.Unlock()
	n := dial.TCP()
	n.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := dialTo(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		add(1)
		return &counted{Conn: c, closed: sync.OnceFunc(func() { add(-1) })}, nil
	}
	return n
}

type counted struct {
	net.Conn
	closed func()
}

func (c *counted) Close() error {
	c.closed()
	return c.Conn.Close()
}

// serverTTL is longer than suiteTTL: after a reset each connection costs a server a process.
const serverTTL = 10 * time.Second

// conforms runs the suite on a server, to which clients come by endpoint. change may change
// the targets of connections.
func conforms(t *testing.T, name string, d Dialect, server, endpoint string, change func(*driver.Target)) {
	t.Helper()
	o := newServerOperator(t, d, server)
	conns := &dialed{open: make(map[string][]*int)}
	h := operators(func(string) *operator { return o }).harness(name, serverTTL, conns.count)
	connect := func(ctx context.Context, namespace, endpoint string, dialTo netfault.DialFunc) (driver.Conn, error) {
		target := serverTarget(d, endpoint, namespace, testserver.Limited)
		if change != nil {
			change(&target)
		}
		c, err := open(ctx, d, target, conns.network(namespace, dialTo))
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	h.Open = func(ctx context.Context, namespace string) (driver.Conn, error) {
		c, err := connect(ctx, namespace, endpoint, new(net.Dialer).DialContext)
		if err == nil { // the suite counts goroutines, and its own client's are not to be among them
			_, err = c.List(ctx, "warm")
		}
		return c, err
	}
	h.OpenLink = func(ctx context.Context, namespace string) (driver.Conn, conformance.Link, error) {
		l, err := newLink(endpoint, changes)
		if err != nil {
			return nil, nil, err
		}
		c, err := connect(ctx, namespace, l.Addr(), l.DialContext)
		return c, l, err
	}
	h.Hold = hold
	drivertest.Conforms(t, h, conformance.Options{Parallel: parallel / 2})
}

func TestConformancePostgres(t *testing.T) {
	endpoint := postgresServer.Get(t).Member(0).Endpoint()
	conforms(t, "postgres", Postgres, endpoint, endpoint, nil)
}

func TestConformanceMariaDB(t *testing.T) {
	endpoint := mariaServer.Get(t).Member(0).Endpoint()
	conforms(t, "mariadb", MySQL, endpoint, endpoint, nil)
}

// Through a PgBouncer that pools transactions. Notifications come from the server itself.
func TestConformancePgBouncer(t *testing.T) {
	server := postgresServer.Get(t)
	bouncer, err := testserver.NewPgBouncer(t.Context(), server, testserver.PgBouncerOptions{})
	must(t, err)
	t.Cleanup(func() { must(t, bouncer.Close()) })
	direct := server.Member(0).Endpoint()
	conforms(t, "postgres, PgBouncer", Postgres, direct, bouncer.Member(0).Endpoint(), func(target *driver.Target) {
		target.Params[paramListen] = direct
	})
}

// failing has the next creations of nodes fail with an error of the database, as many as n.
func failing(t *testing.T, d *database, n int, code string) {
	t.Helper()
	statements := []string{
		"CREATE SEQUENCE {p}failures",
		"CREATE FUNCTION {p}fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF nextval('{p}failures') <= " + fmt.Sprint(n) +
			" THEN RAISE EXCEPTION 'made by a test' USING ERRCODE = '" + code + "'; END IF; RETURN NEW; END $$",
		"CREATE TRIGGER fail BEFORE INSERT ON {p}node FOR EACH ROW EXECUTE FUNCTION {p}fail()",
	}
	remove := []string{"DROP TRIGGER fail ON {p}node", "DROP FUNCTION {p}fail", "DROP SEQUENCE {p}failures"}
	if d.dialect.scheme == MySQL.scheme {
		statements = []string{
			"CREATE SEQUENCE {p}failures",
			"CREATE TRIGGER {p}fail BEFORE INSERT ON {p}node FOR EACH ROW BEGIN IF NEXTVAL({p}failures) <= " + fmt.Sprint(n) +
				" THEN SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = " + code + ", MESSAGE_TEXT = 'made by a test'; END IF; END",
		}
		remove = []string{"DROP TRIGGER {p}fail", "DROP SEQUENCE {p}failures"}
	}
	for _, s := range statements {
		must(t, d.exec(t.Context(), s))
	}
	t.Cleanup(func() {
		for _, s := range remove {
			must(t, d.exec(context.Background(), s))
		}
	})
}

// What the database says while it executes a creation is the right kind of error, and what
// was in the way of others is tried again.
func TestServerErrors(t *testing.T) {
	for _, tt := range []struct {
		name  string
		start func(testing.TB) *database
		code  string
		n     int
		kind  error
		text  string
	}{
		{"a serialization failure", startPostgres, "40001", 3, nil, ""},
		{"a deadlock", startPostgres, "40P01", 3, nil, ""},
		{"a full disk", startPostgres, "53100", 1, driver.ErrUnavailable, "made by a test"},
		{"a primary that was", startPostgres, "25006", 1, driver.ErrUnavailable, "another server is the primary"},
		{"a missing right", startPostgres, "42501", 1, driver.ErrDenied, "the role needs SELECT"},
		{"a missing table", startPostgres, "42P01", 1, driver.ErrInvalid, "migrate=true"},
		{"an end of the server", startPostgres, "57P02", 1, driver.ErrUncertain, "made by a test"},
		{"a deadlock", startMariaDB, "1213", 3, nil, ""},
		{"a wait for a lock", startMariaDB, "1205", 3, nil, ""},
		{"a full disk", startMariaDB, "1021", 1, driver.ErrUnavailable, "made by a test"},
		{"a primary that was", startMariaDB, "1290", 1, driver.ErrUnavailable, "another server is the primary"},
		{"a missing right", startMariaDB, "1142", 1, driver.ErrDenied, "the role needs SELECT"},
		{"a missing table", startMariaDB, "1146", 1, driver.ErrInvalid, "migrate=true"},
		{"an end of the server", startMariaDB, "1053", 1, driver.ErrUncertain, "made by a test"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := tt.start(t)
			failing(t, d, tt.n, tt.code)
			s := d.session(t)
			n, err := s.Create(within(t), "d", "0", nil)
			if tt.kind == nil {
				must(t, err)
			} else {
				wantIs(t, err, tt.kind)
				wantText(t, err, tt.text)
				if errors.Is(err, driver.ErrUncertain) != (tt.kind == driver.ErrUncertain) {
					t.Errorf("%v; want no other kind than %v", err, tt.kind)
				}
				n, err = s.Create(within(t), "d", "0", nil)
				must(t, err)
			}
			if nodes := listed(t, s.conn); len(nodes) != 1 || !nodes[0].Same(n) {
				t.Errorf("there are %+v; want %+v", nodes, n)
			}
		})
	}
}

// The connection ends in the middle of a transaction that waits for a lock: what came of it is
// not known. In the end there is one node.
func TestServerEndsAConnection(t *testing.T) {
	waiting := map[string]string{
		Postgres.scheme: "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INTO {p}node%'",
		MySQL.scheme:    "SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT slot FROM {p}lock%' AND id <> CONNECTION_ID()",
	}
	end := map[string]string{Postgres.scheme: "SELECT pg_terminate_backend(?)", MySQL.scheme: "KILL ?"}
	for name, start := range map[string]func(testing.TB) *database{"postgres": startPostgres, "mariadb": startMariaDB} {
		t.Run(name, func(t *testing.T) {
			d := start(t)
			s := d.session(t)
			tx := d.begin(t)
			_, err := tx.ExecContext(t.Context(), d.dialect.sql("UPDATE {p}lock SET slot = slot"))
			must(t, err)
			done := make(chan error, 1)
			go func() {
				_, err := s.Create(within(t), "d", "0", nil)
				done <- err
			}()
			eventually(t, "the creation waits, and is ended", func() bool {
				id, err := d.count(t.Context(), waiting[d.dialect.scheme])
				return err == nil && d.exec(t.Context(), end[d.dialect.scheme], id) == nil
			})
			wantIs(t, receive(t, "the creation", done), driver.ErrUncertain)
			must(t, tx.Rollback())
			n := create(t, s, "d", "0")
			if nodes := listed(t, s.conn); len(nodes) != 1 || !nodes[0].Same(n) {
				t.Errorf("there are %+v; want %+v", nodes, n)
			}
		})
	}
}

func TestServerRefuses(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		if d.dialect.local {
			return // there is nobody who refuses
		}
		wrong := d.target
		wrong.Password = "wrong"
		refused(t, wrong, driver.ErrDenied)
		nowhere := d.target
		nowhere.Path = "/nowhere"
		if d.dialect.scheme == MySQL.scheme { // which tells strangers nothing
			refused(t, nowhere, driver.ErrDenied)
		} else {
			refused(t, nowhere, driver.ErrInvalid)
		}
		empty := d.target
		empty.Params = map[string]string{paramTables: "none_"}
		refused(t, empty, driver.ErrInvalid)
		silent := d.target
		silent.Hosts = []string{drivertest.Refusing(t)}
		refused(t, silent, driver.ErrUnavailable)
	})
}

// refused wants calls on a target to fail with a kind of error.
func refused(t *testing.T, target driver.Target, kind error) {
	t.Helper()
	c, err := drivertest.Opener(t, target.Scheme).Open(within(t), target)
	must(t, err)
	defer func() { must(t, c.Close()) }()
	_, err = c.OpenSession(within(t), driverTTL)
	wantIs(t, err, kind)
	_, err = c.List(within(t), "d")
	wantIs(t, err, kind)
}

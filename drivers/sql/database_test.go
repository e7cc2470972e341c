package sql

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/drivertest"
)

// database is one that a test uses, with the tables in it.
type database struct {
	*operator
	target driver.Target // of a connection
	own    *sql.DB       // as a program has it
}

// onEach runs a test on a database of each kind.
func onEach(t *testing.T, test func(t *testing.T, d *database)) {
	for name, start := range map[string]func(testing.TB) *database{"sqlite": startSQLite, "postgres": startPostgres, "mariadb": startMariaDB} {
		t.Run(name, func(t *testing.T) { test(t, start(t)) })
	}
}

func startSQLite(t testing.TB) *database {
	t.Helper()
	path, o := newFile(t)
	o.create(t)
	own, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	must(t, err)
	t.Cleanup(func() { must(t, own.Close()) })
	return &database{o, target(path, "test"), own}
}

// open opens a connection, which is closed at the end of the test.
func (d *database) open(t testing.TB) *conn {
	t.Helper()
	c, err := drivertest.Opener(t, d.dialect.scheme).Open(within(t), d.target)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c.(*conn)
}

// session opens a session, on a connection of its own.
func (d *database) session(t testing.TB) *session {
	t.Helper()
	s, err := d.open(t).OpenSession(within(t), driverTTL)
	must(t, err)
	return s.(*session)
}

const driverTTL = 5 * time.Second

// begin begins a transaction of a program.
func (d *database) begin(t testing.TB) *sql.Tx {
	t.Helper()
	tx, err := d.own.BeginTx(t.Context(), nil)
	must(t, err)
	t.Cleanup(func() { _ = tx.Rollback() }) // if it has not ended
	return tx
}

func create(t testing.TB, s driver.Session, dir, id string) driver.Node {
	t.Helper()
	n, err := s.Create(within(t), dir, id, []byte(id))
	must(t, err)
	return n
}

// The driver is usable by URL, with a handle of the program's own, and with tables of other
// names.
func TestUse(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		drivertest.Use(t, d.target, driverTTL)
		other := d.target
		other.Params = map[string]string{paramTables: "other_", paramMigrate: "true"}
		drivertest.Use(t, other, driverTTL)
		drivertest.Use(t, other, driverTTL) // the tables are there
		c, err := New(d.own, d.dialect, "own", nil)
		must(t, err)
		drivertest.TryOut(t, c, driverTTL)
		s, err := c.OpenSession(within(t), driverTTL)
		must(t, err)
		drivertest.CapsAgree(t, c, s, driver.CapShared|driver.CapDurable)
		if slots := drivertest.CreateAndAbandon(t, s, 2); len(listed(t, c)) != slots {
			t.Errorf("%d nodes; want %d", len(listed(t, c)), slots)
		}
		must(t, c.Close())
		must(t, d.own.PingContext(t.Context()))
	})
}

func listed(t testing.TB, c driver.Conn) []driver.Node {
	t.Helper()
	nodes, err := c.List(within(t), "d")
	must(t, err)
	return nodes
}

// Several Creates of one session and directory run side by side while their connections are
// given up. Nothing is left that nobody knows of.
func TestCreatesGivenUp(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		s := d.session(t)
		done := make(chan error)
		for i := range 8 {
			go func() {
				id := string(rune('a' + i))
				for range 10 {
					short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					_, _ = s.Create(short, "d", id, nil) // its outcome does not matter
					cancel()
				}
				err := s.Abandon(within(t), "d", id)
				for driver.Transient(err) { // as the layers above
					err = s.Abandon(within(t), "d", id)
				}
				done <- err
			}()
		}
		for range 8 {
			must(t, receive(t, "the abandons", done))
		}
		if nodes := listed(t, s.conn); len(nodes) > 0 {
			t.Errorf("there are %+v; want nothing", nodes)
		}
	})
}

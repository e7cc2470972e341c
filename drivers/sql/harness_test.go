package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/drivertest"
)

// What the tests of all drivers say often.
var (
	within     = drivertest.Within
	must       = drivertest.Must
	wantIs     = drivertest.WantIs
	eventually = drivertest.Eventually
)

func receive[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	return drivertest.Receive(t, what, c)
}

// operator is one who looks after a database, with a handle of its own.
type operator struct {
	path    string // of a file
	db      *sql.DB
	dialect Dialect
}

// operators says whose a directory of a namespace, or a namespace, is.
type operators func(path string) *operator

// newFile returns the path of a database that is not there yet, and its operator.
func newFile(t testing.TB) (path string, o *operator) {
	t.Helper()
	return newFileIn(t, t.TempDir())
}

// newFileInMemory is newFile on a disk that takes no time, if there is one: for suites, whose
// cases share a file, each of which would otherwise wait for the others' commits.
func newFileInMemory(t testing.TB) (path string, o *operator) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "coordkit-")
	if err != nil {
		return newFile(t)
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return newFileIn(t, dir)
}

func newFileIn(t testing.TB, dir string) (path string, o *operator) {
	t.Helper()
	path = filepath.Join(dir, "locks.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)")
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return path, &operator{path, db, SQLite}
}

// create creates the tables.
func (o *operator) create(t testing.TB) {
	t.Helper()
	for statement := range strings.SplitSeq(strings.TrimSuffix(o.dialect.Schema(), ";\n"), ";\n") {
		_, err := o.db.ExecContext(t.Context(), statement)
		must(t, err)
	}
}

func (o *operator) exec(ctx context.Context, format string, args ...any) error {
	_, err := o.db.ExecContext(ctx, o.dialect.sql(format, args...))
	return err
}

func (o *operator) count(ctx context.Context, format string, args ...any) (n int, err error) {
	err = o.db.QueryRowContext(ctx, o.dialect.sql(format, args...)).Scan(&n)
	return n, err
}

// harness returns a harness for which operators do what is not the driver's business.
// Open, OpenLink and Hold are missing, and connections are counted by conns.
func (of operators) harness(name string, ttl time.Duration, conns func(namespace string) int) conformance.Harness {
	return conformance.Harness{
		Name:   name,
		TTL:    ttl,
		Expiry: ttl + ttl/3 + time.Second, // another client's renewal deletes it if nobody waits
		Expire: func(ctx context.Context, namespace string, s driver.Session) error {
			return of(namespace).exec(ctx, "DELETE FROM {p}session WHERE id = ?", s.ID())
		},
		RemoveNode: func(ctx context.Context, namespace string, n driver.Node) error {
			return of(namespace).exec(ctx, "DELETE FROM {p}node WHERE token = ?", n.Token)
		},
		RemoveDir: func(ctx context.Context, namespace, dir string) error {
			path := namespace + "/" + dir
			return of(path).exec(ctx, "DELETE FROM {p}node WHERE dir = ? OR substr(dir, 1, ?) = ?", path, len(path)+1, path+"/")
		},
		PlantForeign: func(ctx context.Context, namespace, dir string) error {
			return of(namespace).plantForeign(ctx, namespace, dir)
		},
		NearWrap: conformance.WideCounter,
		Compact:  conformance.NoHistory,
		BadTTL:   []time.Duration{minTTL - 1, maxTTL + 1},
		Residue: func(ctx context.Context, namespace string) (r conformance.Residue, err error) {
			var failed error
			r.Conns = conns(namespace)
			r.Keys, err = of(namespace).count(ctx, "SELECT COUNT(*) FROM {p}node WHERE substr(dir, 1, ?) = ?", len(namespace)+1, namespace+"/")
			r.Sessions, failed = of(namespace).count(ctx, "SELECT COUNT(*) FROM {p}session WHERE space = ?", namespace)
			return r, errors.Join(err, failed)
		},
	}
}

// plantForeign puts rows into a directory that are no nodes: with an id that is none, and
// of a session that is not there, if the database takes them.
func (o *operator) plantForeign(ctx context.Context, namespace, dir string) error {
	session := fmt.Sprintf("planted%d", time.Now().UnixNano())
	err := o.exec(ctx, "INSERT INTO {p}session (id, space, ttl, expires, epoch, floor) VALUES (?, 'planted', 3600000, {now} + 3600000, {epoch}, 0)", session)
	plant := func(session, id string) error {
		return o.exec(ctx, "INSERT INTO {p}node (dir, session, id, version, data) VALUES (?, ?, ?, 1, ?)", namespace+"/"+dir, session, id, []byte("planted"))
	}
	for _, id := range []string{"a/b", "", "-0", "readme.txt"} {
		err = errors.Join(err, plant(session, id))
	}
	if o.dialect.local {
		err = errors.Join(err, plant("nobody"+session, "0"))
	}
	return err
}

// target returns the target of a URL of a file.
func target(path, namespace string) driver.Target {
	return driver.Target{Scheme: "sqlite", Hosts: []string{""}, Path: path, Namespace: namespace, Logger: zap.NewNop()}
}

// handles counts the database handles that have connections, by namespace.
type handles struct {
	mu   sync.Mutex
	open map[string][]*sql.DB
}

func (h *handles) add(namespace string, db *sql.DB) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = make(map[string][]*sql.DB)
	}
	h.open[namespace] = append(h.open[namespace], db)
}

func (h *handles) conns(namespace string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, db := range h.open[namespace] {
		if db.Stats().OpenConnections > 0 {
			n++ // a handle that is used has more or fewer
		}
	}
	return n
}

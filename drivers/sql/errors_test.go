package sql

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/dial"
)

// openOwn returns a connection on a handle of a file with more pragmas or settings.
func openOwn(t *testing.T, path, settings string) *conn {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?"+settings)
	must(t, err)
	c, err := New(db, SQLite, "test", nil)
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(c.Close(), db.Close())) })
	return c.(*conn)
}

func wantText(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v; want an error that says %q", err, text)
		}
	}
}

func TestSQLiteWithoutTables(t *testing.T) {
	path, _ := newFile(t)
	c := openOwn(t, path, "")
	_, err := c.OpenSession(within(t), driverTTL)
	wantIs(t, err, driver.ErrInvalid)
	wantText(t, err, "migrate=true")
	_, err = c.List(within(t), "d")
	wantIs(t, err, driver.ErrInvalid)
}

func TestTablesOfAnotherVersion(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		c := d.open(t)
		must(t, d.exec(t.Context(), "UPDATE {p}version SET version = 7"))
		_, err := c.OpenSession(within(t), driverTTL)
		wantIs(t, err, driver.ErrInvalid)
		wantText(t, err, `version "7"`)
	})
}

func TestSQLiteReadOnly(t *testing.T) {
	d := startSQLite(t)
	c := openOwn(t, d.target.Path, "mode=ro")
	_, err := c.OpenSession(within(t), driverTTL)
	wantIs(t, err, driver.ErrDenied)
	if _, err := c.List(within(t), "d"); err != nil {
		t.Errorf("a list of a file that may be read: %v", err)
	}
}

func TestSQLiteDiskFull(t *testing.T) {
	d := startSQLite(t)
	var pages int
	must(t, d.db.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages))
	c := openOwn(t, d.target.Path, "_pragma=max_page_count(1)") // is as many as there are
	s, err := c.OpenSession(within(t), driverTTL)
	must(t, err)
	_, err = s.Create(within(t), "d", "0", bytes.Repeat([]byte("x"), driver.MaxData))
	wantIs(t, err, driver.ErrUnavailable)
	wantText(t, err, "the disk is full")
	if errors.Is(err, driver.ErrUncertain) || len(listed(t, c)) > 0 {
		t.Errorf("%v, and there are %d nodes; want nothing done", err, len(listed(t, c)))
	}
}

// Another process that keeps the file locked is waited for within the attempt, and no
// longer than ctx lives.
func TestSQLiteLocked(t *testing.T) {
	d := startSQLite(t)
	s := d.session(t)
	tx := d.begin(t) // immediate
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := s.Create(short, "d", "0", nil)
	wantIs(t, err, context.DeadlineExceeded)
	if _, err := s.List(within(t), "d"); err != nil {
		t.Errorf("a list while the file is locked: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.Create(within(t), "d", "0", nil)
		done <- err
	}()
	must(t, tx.Rollback())
	must(t, receive(t, "the creation", done))
}

func TestSQLiteThatIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	must(t, os.WriteFile(path, bytes.Repeat([]byte("no database"), 1000), 0o600))
	_, err := open(within(t), SQLite, target(path, "test"), dial.TCP())
	wantIs(t, err, driver.ErrInvalid)
	_, err = open(within(t), SQLite, target(filepath.Join(t.TempDir(), "no", "directory"), "test"), dial.TCP())
	wantIs(t, err, driver.ErrInvalid)
	wantText(t, err, "a directory that is there")
	_, err = coord.Open(t.Context(), "sqlite://missing/locks.db") // below the working directory
	wantText(t, err, "open missing/locks.db")
	_, err = open(within(t), SQLite, target("", "test"), dial.TCP())
	wantIs(t, err, driver.ErrInvalid)
	wantText(t, err, "sqlite:///path/to/file.db")
}

func TestNamespaces(t *testing.T) {
	for _, namespace := range []string{"a b", "a//b", strings.Repeat("n", 801)} {
		_, err := New(nil, SQLite, namespace, nil)
		wantIs(t, err, driver.ErrInvalid)
	}
}

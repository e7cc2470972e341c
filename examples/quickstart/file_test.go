package main

import (
	"database/sql"
	"io"
	"path/filepath"
	"sync"
	"testing"
)

// A file that is not there yet, and two programs with one line.
func TestSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locks.db")
	store := "sqlite://" + path
	t.Run("story", func(t *testing.T) { checkStory(t, execute(t, t.Context(), io.Discard, "-store", store), 9) })
	t.Run("interrupt", func(t *testing.T) { interrupted(t, "-store", store) })
	t.Run("two programs", func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir())
		var programs sync.WaitGroup
		for range 2 {
			programs.Go(func() {
				if status := run(t.Context(), []string{"-store", store}, io.Discard, io.Discard); status != 0 {
					t.Errorf("status %d", status)
				}
			})
		}
		programs.Wait()
	})
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var left int
	err = db.QueryRowContext(t.Context(), "SELECT (SELECT COUNT(*) FROM coordkit_node) + (SELECT COUNT(*) FROM coordkit_session)").Scan(&left)
	if err != nil || left > 0 {
		t.Errorf("%d rows are left, %v", left, err)
	}
}

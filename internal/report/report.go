// Package report lets tests show figures that are worth reading when they
// pass: margins, tables, costs. They go to the test's log and, where the
// environment variable COORDKIT_REPORTS names a directory, into files there,
// which `make test` prints at its end by [Print].
//
// What a test can tell alone it tells with [Show]. To a table that tests of
// several packages make together each adds with [Row].
package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// variable names the directory.
const variable = "COORDKIT_REPORTS"

// Show logs text under title, and appends it to the file of the test's name.
func Show(t testing.TB, title, text string) {
	t.Helper()
	text = strings.TrimRight(text, "\n")
	t.Logf("%s\n%s", title, text)
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\ :*?`, r) {
			return '_'
		}
		return r
	}, t.Name())
	write(t, name, fmt.Sprintf("%s\n%s\n", title, text))
}

// write appends text to a file of the directory, if there is one. Tests of other
// packages may do so at the same time, so it is one write.
func write(t testing.TB, name, text string) {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		return
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatalf("report: %v", err)
	}
	defer f.Close()
	if _, err := io.WriteString(f, text); err != nil {
		t.Fatalf("report: %v", err)
	}
}

// Print writes what tests have shown into a directory, in the order of their
// names, and then the tables to which they have added.
func Print(w io.Writer, dir string) error {
	files, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	var all tables
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return fmt.Errorf("report: %w", err)
		}
		if f.Name() == rowsFile {
			if err := all.add(text); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintf(w, "\n%s", text); err != nil {
			return err
		}
	}
	return all.write(w)
}

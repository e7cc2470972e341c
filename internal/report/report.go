// Package report lets tests show figures that are worth reading when they
// pass: margins, tables, costs. They go to the test's log and, where the
// environment variable COORDKIT_REPORTS names a directory, into a file there,
// which `make test` prints at its end.
package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Show logs text under title, and appends it to the file of the test's name.
func Show(t testing.TB, title, text string) {
	t.Helper()
	text = strings.TrimRight(text, "\n")
	t.Logf("%s\n%s", title, text)
	dir := os.Getenv("COORDKIT_REPORTS")
	if dir == "" {
		return
	}
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\ :*?`, r) {
			return '_'
		}
		return r
	}, t.Name())
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatalf("report: %v", err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%s\n%s\n", title, text); err != nil {
		t.Fatalf("report: %v", err)
	}
}

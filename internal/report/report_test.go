package report_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coordkit/coordkit/internal/report"
)

func TestShowWritesWhatMakeTestPrints(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("COORDKIT_REPORTS", dir)
	t.Run("a/b", func(t *testing.T) {
		report.Show(t, "margins", "1 ms\n")
		report.Show(t, "counts", "2\n\n")
	})
	got, err := os.ReadFile(filepath.Join(dir, "TestShowWritesWhatMakeTestPrints_a_b"))
	if want := "margins\n1 ms\ncounts\n2\n"; err != nil || string(got) != want {
		t.Errorf("the file holds %q, %v; want %q", got, err, want)
	}
}

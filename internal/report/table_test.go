package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/internal/report"
)

// group has the shape of a Cell, as in a package that does not know this one.
type group struct {
	Name       string
	Passed, Of int
}

func TestPrintMergesRows(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("COORDKIT_REPORTS", dir)
	report.Show(t, "margins", "1 ms")
	report.Row(t, "rules", "zk", []group{{"A", 2, 2}, {"B", 0, 0}})
	report.Row(t, "rules", "etcd, 3 members", []group{{"A", 1, 2}, {"B", 3, 3}})
	report.Row(t, "costs", "etcd", []report.Cell{{Name: "reads", Passed: 1, Of: 1}})
	report.Row(t, "rules", "zk", []group{{"A", 1, 1}, {"C", 10, 12}})
	var out strings.Builder
	if err := report.Print(&out, dir); err != nil {
		t.Fatal(err)
	}
	want := `
margins
1 ms

rules
                 A    B    C
etcd, 3 members  1/2  3/3  -
zk               3/3  -    10/12

costs
      reads
etcd  1/1
`
	if out.String() != want {
		t.Errorf("Print wrote %s\nwant %s", out.String(), want)
	}
}

func TestPrintReportsWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rows.json"), []byte("no row\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{dir, filepath.Join(dir, "missing")} {
		if err := report.Print(new(strings.Builder), bad); err == nil {
			t.Errorf("Print of %s returned nil", bad)
		}
	}
}

// Without a directory the figures are in the log only.
func TestNoDirectory(t *testing.T) {
	t.Setenv("COORDKIT_REPORTS", "")
	t.Chdir(t.TempDir())
	report.Row(t, "rules", "mem", []group{{"A", 1, 1}})
	report.Show(t, "margins", "1 ms")
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("there are files %v, %v", files, err)
	}
}

package coordkit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A driver, and the waiting line, can be read in an hour. These are the most lines and files
// of each, tests not counted.
var small = map[string]struct{ lines, files int }{
	"coord/queue":    {1500, 14},
	"drivers/mem":    {1300, 10},
	"drivers/etcd":   {1600, 10},
	"drivers/consul": {1600, 10},
	"drivers/sql":    {1600, 10},
	"drivers/zk":     {2000, 10},
}

const allDrivers = 6700 // the most lines of what lies below drivers, without the databases'

func TestDriversAndTheLineStaySmall(t *testing.T) {
	files, lines := make(map[string]int), make(map[string]int)
	all := 0
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		n := strings.Count(f.text, "\n")
		files[f.dir]++
		lines[f.dir] += n
		if strings.HasPrefix(f.dir, "drivers/") && !strings.HasPrefix(f.dir, "drivers/sql") {
			all += n
		}
	}
	for dir, most := range small {
		if lines[dir] == 0 || lines[dir] > most.lines || files[dir] > most.files {
			t.Errorf("%s has %d lines in %d files; want 1 to %d in at most %d", dir, lines[dir], files[dir], most.lines, most.files)
		}
	}
	if all > allDrivers {
		t.Errorf("drivers has %d lines; want at most %d", all, allDrivers)
	}
}

// The package comment of these lists their files from the top down. A file uses what is
// declared in itself and in those below it.
func TestFilesUseWhatStandsBelow(t *testing.T) {
	for dir := range small {
		t.Run(dir, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, "doc.go"))
			if err != nil {
				t.Fatal(err)
			}
			order := slices.Compact(regexp.MustCompile(`[a-z]+\.go`).FindAllString(string(text), -1))
			paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
			if err != nil {
				t.Fatal(err)
			}
			fset := token.NewFileSet()
			var parsed []*ast.File
			for _, path := range paths {
				base := filepath.Base(path)
				if base == "doc.go" || strings.HasSuffix(base, "_test.go") {
					continue
				}
				if !slices.Contains(order, base) {
					t.Errorf("the package comment does not list %s", base)
				}
				f, err := parser.ParseFile(fset, path, nil, 0)
				if err != nil {
					t.Fatal(err)
				}
				parsed = append(parsed, f)
			}
			// What is imported is unknown to the checker, and does not matter.
			conf := types.Config{Importer: unknown{}, Error: func(error) {}}
			info := types.Info{Uses: make(map[*ast.Ident]types.Object), Selections: make(map[*ast.SelectorExpr]*types.Selection)}
			pkg, _ := conf.Check(dir, fset, parsed, &info)
			place := func(pos token.Pos) int { return slices.Index(order, filepath.Base(fset.Position(pos).Filename)) }
			checked := 0
			for ident, object := range info.Uses {
				if object.Pkg() != pkg || !object.Pos().IsValid() {
					continue
				}
				checked++
				if place(object.Pos()) < place(ident.Pos()) {
					t.Errorf("%s uses %s of %s, which stands above it", fset.Position(ident.Pos()), object.Name(), filepath.Base(fset.Position(object.Pos()).Filename))
				}
			}
			if checked < 100 {
				t.Errorf("%d uses were looked at; want hundreds", checked)
			}
		})
	}
}

// unknown imports nothing.
type unknown struct{}

func (unknown) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}

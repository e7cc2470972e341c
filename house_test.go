package coordkit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/coordkit/coordkit"

// nested are modules of their own, as they need what the library does not, that keep the
// rules of this house.
var nested = []string{"drivers/sql", "examples/quickstart", "internal/storetest"}

// layers says what each part of the tree may import of the module. A package
// belongs to the longest prefix that matches. Arrows point down only: recipes
// know no driver, drivers know no recipe, and neither knows its tests' tools.
var layers = map[string][]string{
	"coord/driver":                 {},
	"coord/driver/attempt":         {"coord/driver"},
	"coord/driver/fence":           {"coord/driver"},
	"coord/driver/lease":           {"coord/driver"},
	"coord/driver/poll":            {"coord/driver/sessions", "coord/driver/watch", "coord/driver"},
	"coord/driver/sessions":        {"coord/driver/attempt", "coord/driver/lease", "coord/driver"},
	"coord/driver/watch":           {"coord/driver/sessions", "coord/driver"},
	"coord":                        {"coord/driver", "coord/driver/lease"},
	"coord/queue":                  {"coord", "coord/driver"},
	"recipes":                      {"coord/queue", "coord", "coord/driver"},
	"drivers":                      {"coord/driver", "coord/driver/attempt", "coord/driver/fence", "coord/driver/lease", "coord/driver/poll", "coord/driver/sessions", "coord/driver/watch", "drivers/internal/dial", "drivers/internal/secure"},
	"drivers/sql/schema":           {"drivers/sql"},
	"drivers/internal/dial":        {},
	"drivers/internal/secure":      {},
	"conformance":                  {"conformance", "recipes", "coord", "coord/driver"},
	"conformance/harness":          {"conformance/netfault", "coord/driver"},
	"conformance/history":          {"coord", "coord/driver"},
	"conformance/netfault":         {},
	"conformance/soak":             {"conformance/harness", "conformance/history", "conformance/internal/subject", "conformance/netfault", "recipes", "coord", "coord/driver"},
	"conformance/internal":         {"conformance", "drivers/mem", "coord/driver", "coord/driver/lease"},
	"conformance/internal/subject": {"coord", "recipes"},
	"conformance/internal/broken":  {"conformance/internal/subject", "coord", "coord/driver", "coord/queue", "recipes"},
	"internal/bynames":             {"coord/driver"},
	"internal/recipetest":          {"coord/queue", "coord", "coord/driver", "drivers/mem"},
	"internal/testserver":          {"internal/testserver"},
	"internal/drivertest":          {"internal/report", "conformance", "coord/driver"},
	"internal/report":              {"internal/report"},
	"internal/storetest":           {},
	"internal/storetest/register":  {},
	"internal/storetest/trial":     {"internal/storetest/register", "conformance", "recipes", "coord"},
	"examples":                     {"drivers", "recipes", "coord", "coord/driver", "conformance/netfault"},
	"examples/slate":               {"examples/slate/slated", "coord/driver/attempt", "coord/driver/fence", "coord/driver/lease", "coord/driver/sessions", "coord/driver"},
	"examples/slate/slated":        {},
	"examples/slate/slatetest":     {"examples/slate", "examples/slate/slated", "conformance", "conformance/netfault", "coord/driver"},
}

// goFile is a file of the module, parsed, or of one of those nested. Others are not looked at.
type goFile struct {
	path string // slash-separated, from the root
	dir  string
	ast  *ast.File
	fset *token.FileSet
	text string
}

func goFiles(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (name[0] == '.' || name == "testdata" || exists(filepath.Join(path, "go.mod")) && !slices.Contains(nested, filepath.ToSlash(path))) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		slashed := filepath.ToSlash(path)
		files = append(files, goFile{slashed, filepath.ToSlash(filepath.Dir(path)), f, fset, string(text)})
		return nil
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("reading the tree: %d files, %v", len(files), err)
	}
	return files
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestImportsPointOneWay(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.dir == "." || strings.HasSuffix(f.path, "_test.go") { // tests may look from above
			continue
		}
		layer := longestPrefix(f.dir)
		if layer == "" {
			t.Errorf("%s: the package is in no layer; add it to the table in this test", f.path)
			continue
		}
		for _, imp := range f.ast.Imports {
			path, _ := strconv.Unquote(imp.Path.Value)
			below, ours := strings.CutPrefix(path, module+"/")
			if ours && below != f.dir && !allowed(layers[layer], below) {
				t.Errorf("%s imports %s; %s may import %v", f.path, below, layer, layers[layer])
			}
		}
	}
}

func longestPrefix(dir string) string {
	best := ""
	for layer := range layers {
		if within(dir, layer) && len(layer) > len(best) {
			best = layer
		}
	}
	return best
}

// allowed: "coord" stands for itself, since coord/driver is another layer; the
// others stand for what lies below them too.
func allowed(list []string, path string) bool {
	for _, a := range list {
		if path == a || strings.Count(a, "/") == 0 && a != "coord" && within(path, a) {
			return true
		}
	}
	return false
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f.path, "_test.go") || f.ast.Name.Name == "main" {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) && d.Doc == nil {
					t.Errorf("%s: %s has no doc comment", f.fset.Position(d.Pos()), d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					name, doc := spec(s)
					if ast.IsExported(name) && doc == nil && d.Doc == nil {
						t.Errorf("%s: %s has no doc comment", f.fset.Position(s.Pos()), name)
					}
				}
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

func spec(s ast.Spec) (string, *ast.CommentGroup) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return s.Name.Name, s.Doc
	case *ast.ValueSpec:
		if s.Doc == nil {
			return s.Names[0].Name, s.Comment
		}
		return s.Names[0].Name, s.Doc
	}
	return "", nil
}

func TestEveryPackageHasACommentAndAnExample(t *testing.T) {
	comment, example := map[string]bool{}, map[string]bool{}
	library := map[string]bool{}
	for _, f := range goFiles(t) {
		test := strings.HasSuffix(f.path, "_test.go")
		if f.ast.Name.Name == "main" {
			continue
		}
		library[f.dir] = true
		comment[f.dir] = comment[f.dir] || !test && f.ast.Doc != nil
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && test && strings.HasPrefix(fn.Name.Name, "Example") {
				example[f.dir] = true
			}
		}
	}
	for dir := range library {
		if !comment[dir] {
			t.Errorf("%s: the package has no comment", dir)
		}
		if !example[dir] {
			t.Errorf("%s: the package has no Example", dir)
		}
	}
}

func TestFilesStaySmall(t *testing.T) {
	const most = 400
	for _, f := range goFiles(t) {
		if n := strings.Count(f.text, "\n"); n > most {
			t.Errorf("%s has %d lines; want at most %d: one idea per file", f.path, n, most)
		}
	}
}

// Nothing unfinished, nothing skipped, no waiting by the clock where there is
// something to wait for.
func TestNothingIsLeftUndone(t *testing.T) {
	patterns := []struct{ what, pattern string }{
		{"skips a test", `\bt\.Skip|\bSkipNow\(`},
		{"marks something unfinished", `\bTODO\b|\bFIXME\b|\bXXX\b|not implemented`},
	}
	for _, f := range goFiles(t) {
		if f.path == "house_test.go" {
			continue
		}
		for _, p := range patterns {
			if at := regexp.MustCompile(p.pattern).FindStringIndex(f.text); at != nil {
				t.Errorf("%s:%d %s", f.path, 1+strings.Count(f.text[:at[0]], "\n"), p.what)
			}
		}
	}
}

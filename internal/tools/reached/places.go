package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// place is a select case or an early return.
type place struct {
	file      string
	function  string
	text      string // the statement
	nth       int    // of those that look alike in the function, from 1
	line, col int    // where its code begins
}

// String names the place in a way that outlives changes of other functions.
func (p place) String() string {
	name := fmt.Sprintf("%s: %s", p.function, p.text)
	if p.nth > 1 {
		name = fmt.Sprintf("%s [%d]", name, p.nth)
	}
	return name
}

// placesIn finds all of a package's, but for tests.
func placesIn(dir string) (all []place, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				all = append(all, placesOf(fset, f)...)
			}
		}
	}
	return all, nil
}

// placesOf finds those of a function, and of the functions in it. The return that
// ends one is none of them.
func placesOf(fset *token.FileSet, f *ast.FuncDecl) (all []place) {
	name := f.Name.Name
	if f.Recv != nil {
		name = strings.TrimPrefix(show(fset, f.Recv.List[0].Type), "*") + "." + name
	}
	alike := make(map[string]int)
	add := func(what string, at token.Pos) {
		where := fset.Position(at)
		alike[what]++
		all = append(all, place{filepath.Base(where.Filename), name, what, alike[what], where.Line, where.Column})
	}
	last := make(map[ast.Stmt]bool)
	end := func(b *ast.BlockStmt) {
		if n := len(b.List); n > 0 {
			last[b.List[n-1]] = true
		}
	}
	end(f.Body)
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			end(n.Body)
		case *ast.CommClause:
			what := "default"
			if n.Comm != nil {
				what = "case " + show(fset, n.Comm)
			}
			add(what, n.Colon+1)
		case *ast.ReturnStmt:
			if !last[n] {
				add(show(fset, n), n.Pos())
			}
		}
		return true
	})
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.col, b.col)) })
	return all
}

// show prints a node on one line.
func show(fset *token.FileSet, n ast.Node) string {
	var b strings.Builder
	_ = printer.Fprint(&b, fset, n) // a Builder does not fail
	return strings.Join(strings.Fields(b.String()), " ")
}

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/packages"
)

// mutant is one change of the source.
type mutant struct {
	id         int // in the binary
	pkg        string
	file       string // below the module
	line       int
	fn         string // as "(*dir).remove"
	change     string // as "dropped"
	source     string // what is changed
	nth        int    // distinguishes mutants of a function that are alike otherwise, from 1
	outcome    outcome
	equivalent bool // by equivalents.txt
}

// name is how equivalents.txt names the mutant. It has no line number, so that it stays
// the same when code moves.
func (m *mutant) name() string {
	name := fmt.Sprintf("%s: %s: `%s` %s", m.pkg, m.fn, m.source, m.change)
	if m.nth > 1 {
		name += fmt.Sprintf(" #%d", m.nth)
	}
	return name
}

// source is a package with its mutants in it.
type source struct {
	mutants []*mutant
	overlay map[string]string // the content of files by path
}

// load reads the packages below root and mutates them. Mutants are numbered from 1.
func load(root string, paths []string) (*source, error) {
	patterns := make([]string, len(paths))
	for i, p := range paths {
		patterns[i] = "./" + p
	}
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir: root,
		Env: append(os.Environ(), "GOWORK=off"), // root may be a module that the workspace does not name
	}, patterns...)
	if err != nil {
		return nil, err
	}
	all := &source{overlay: make(map[string]string)}
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("%s: %w", p.PkgPath, p.Errors[0])
		}
		if err := all.add(root, p.Fset, p.Types, p.TypesInfo, p.Syntax); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// add mutates the files of a package.
func (s *source) add(root string, fset *token.FileSet, pkg *types.Package, info *types.Info, files []*ast.File) error {
	dir := ""
	names := make(map[string]int)
	for _, f := range files {
		path := fset.File(f.Pos()).Name()
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir = filepath.Dir(path)
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		r := &rewriter{fset: fset, pkg: pkg, info: info, text: text, next: len(s.mutants) + 1}
		r.file(f)
		for _, m := range r.mutants {
			m.pkg, m.file = filepath.ToSlash(filepath.Dir(rel)), filepath.ToSlash(rel)
			names[m.name()]++
			m.nth = names[m.name()]
		}
		s.mutants = append(s.mutants, r.mutants...)
		s.overlay[path] = r.edited()
	}
	s.overlay[filepath.Join(dir, "mutants.go")] = switches(pkg.Name())
	return nil
}

package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// inList reports whether a statement is one of a list, so that it can be dropped.
func inList(s ast.Stmt, parent ast.Node) bool {
	switch p := parent.(type) {
	case *ast.BlockStmt:
		return true
	case *ast.CaseClause:
		return slices.Contains(p.Body, s)
	case *ast.CommClause:
		return slices.Contains(p.Body, s)
	}
	return false
}

// drop has a mutant leave out a statement.
func (r *rewriter) drop(s ast.Stmt, stack []ast.Node) {
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, ok := ast.Unparen(s.X).(*ast.CallExpr)
		if ok && (r.textCall(call) || isLock(call)) {
			return
		}
	case *ast.DeferStmt:
		if isLock(s.Call) {
			return
		}
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return
		}
	case *ast.BranchStmt:
		if s.Tok == token.GOTO || s.Tok == token.FALLTHROUGH {
			return
		}
		r.dropped(s)
		r.exchange(s, stack)
		return
	case *ast.ReturnStmt:
		if len(s.Results) > 0 || r.resultTypes(stack).Len() > 0 {
			return
		}
	case *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt:
	default:
		return
	}
	r.dropped(s)
}

func (r *rewriter) dropped(s ast.Stmt) {
	r.wrap(s, "if !mutantIs("+r.mutant(s, "dropped")+") { ", " }")
}

// exchange has a mutant break where the statement continues, and the reverse.
func (r *rewriter) exchange(s *ast.BranchStmt, stack []ast.Node) {
	if s.Label != nil {
		return
	}
	for _, n := range slices.Backward(stack) {
		switch n := n.(type) {
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			return
		case *ast.ForStmt:
			if n.Cond == nil && s.Tok == token.CONTINUE {
				return // with a break in it, the compiler may want a return behind it
			}
		case *ast.RangeStmt:
		default:
			continue
		}
		other := token.BREAK
		if s.Tok == token.BREAK {
			other = token.CONTINUE
		}
		r.wrap(s, "if mutantIs("+r.mutant(s, "→ "+other.String())+") { "+other.String()+" }; ", "")
		return
	}
}

func isLock(call *ast.CallExpr) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	return ok && len(call.Args) == 0 && strings.HasSuffix(strings.ToLower(s.Sel.Name), "lock")
}

// textCall reports whether what a call gets ends up in a text for people.
func (r *rewriter) textCall(call *ast.CallExpr) bool {
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		_, builtin := r.info.Uses[f].(*types.Builtin)
		return builtin && f.Name == "panic"
	case *ast.SelectorExpr:
		o := r.info.Uses[f.Sel]
		if o == nil || o.Pkg() == nil {
			return false
		}
		switch o.Pkg().Path() {
		case "fmt", "go.uber.org/zap":
			return f.Sel.Name != "Appendf"
		case "errors":
			return f.Sel.Name == "New"
		}
	}
	return false
}

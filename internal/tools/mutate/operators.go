package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// What is changed:
//
//   - conditions: always true, always false, one side of && or || left out, the bound of
//     a comparison moved by one. A negated condition and || for && are left out: whatever
//     kills one of the others kills them too, so they would flatter the share;
//   - statements dropped: calls, assignments, sends, defer, go, break, continue, return;
//   - results: an error returned as nil, a bool as true or false;
//   - constants: integers off by one, durations ten times as long or a tenth, booleans
//     and named constants exchanged for the other or the next;
//   - calls exchanged: min and max, + and -, the arguments of a comparison, a clone for
//     the original, an error for a sibling, break and continue;
//   - cases of a select that never come; contexts that no longer end a call; fields of a
//     struct left zero.
//
// Not changed: what only shows in a text (log lines, messages of errors, String methods),
// panics, the capacity of slices and maps, and locks, whose loss is fatal at once.

// file mutates the functions of a file.
func (r *rewriter) file(f *ast.File) {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil && !isText(d) {
			r.fn = d
			r.walk(d.Body, nil)
		}
	}
}

// isText reports whether a function makes text only, or is run before the program.
func isText(d *ast.FuncDecl) bool {
	switch d.Name.Name {
	case "init":
		return d.Recv == nil
	case "String", "GoString", "MarshalText", "Error":
		return d.Recv != nil
	}
	return false
}

// walk visits a node and what is in it, from the outside in. stack holds those around it.
func (r *rewriter) walk(n ast.Node, stack []ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if !r.visit(n, stack) {
			return false
		}
		stack = append(stack, n)
		return true
	})
}

// visit mutates a node, and reports whether what is in it is to be visited.
func (r *rewriter) visit(n ast.Node, stack []ast.Node) bool {
	var parent ast.Node
	if len(stack) > 0 {
		parent = stack[len(stack)-1]
	}
	if s, ok := n.(ast.Stmt); ok && inList(s, parent) {
		r.drop(s, stack)
	}
	if e, ok := n.(ast.Expr); ok {
		return r.expr(e, parent)
	}
	switch n := n.(type) {
	case *ast.DeclStmt:
		return n.Decl.(*ast.GenDecl).Tok == token.VAR
	case *ast.IfStmt:
		r.whole(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil { // a loop without end shows nothing
			r.call(n.Cond, "mutantFalse", "never true")
		}
	case *ast.CommClause:
		r.comm(n)
	case *ast.AssignStmt:
		for _, e := range n.Rhs {
			if isLogic(e) {
				r.whole(e)
			}
		}
	case *ast.ReturnStmt:
		r.results(n, r.resultTypes(stack))
	case *ast.CaseClause:
		if around, ok := stack[len(stack)-2].(*ast.SwitchStmt); ok && around.Tag == nil {
			for _, e := range n.List {
				r.whole(e)
			}
		}
	}
	return true
}

// whole mutates a condition.
func (r *rewriter) whole(e ast.Expr) {
	if r.info.Types[e].Value == nil {
		r.call(e, "mutantTrue", "always true")
		r.call(e, "mutantFalse", "never true")
	}
}

// isLogic reports whether an expression is a condition by its form.
func isLogic(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		switch e.Op {
		case token.LAND, token.LOR, token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
			return true
		}
	case *ast.UnaryExpr:
		return e.Op == token.NOT
	}
	return false
}

// comm mutates a case of a select: its channel is never ready.
func (r *rewriter) comm(c *ast.CommClause) {
	var channel ast.Expr
	switch s := c.Comm.(type) {
	case *ast.SendStmt:
		channel = s.Chan
	case *ast.ExprStmt:
		channel = s.X.(*ast.UnaryExpr).X
	case *ast.AssignStmt:
		channel = s.Rhs[0].(*ast.UnaryExpr).X
	default:
		return
	}
	r.call(channel, "mutantZero", "never ready")
}

// resultTypes returns the types of the results of the function around a statement.
func (r *rewriter) resultTypes(stack []ast.Node) *types.Tuple {
	for _, n := range slices.Backward(stack) {
		if f, ok := n.(*ast.FuncLit); ok {
			return r.info.TypeOf(f).(*types.Signature).Results()
		}
	}
	return r.info.Defs[r.fn.Name].Type().(*types.Signature).Results()
}

// results mutates what a function returns.
func (r *rewriter) results(s *ast.ReturnStmt, results *types.Tuple) {
	if len(s.Results) != results.Len() {
		return
	}
	for i, e := range s.Results {
		switch tv := r.info.Types[e]; {
		case tv.IsNil() || tv.Value != nil:
		case isError(results.At(i).Type()):
			r.call(e, "mutantZero[error]", "returned as nil")
		case types.Identical(results.At(i).Type(), types.Typ[types.Bool]):
			r.whole(e)
		}
	}
}

var errorType = types.Universe.Lookup("error").Type()

func isError(t types.Type) bool { return types.Identical(t, errorType) }

// failing reports whether a return statement returns an error, so that what else it
// returns does not matter.
func (r *rewriter) failing(s *ast.ReturnStmt) bool {
	if len(s.Results) == 0 {
		return false
	}
	tv := r.info.Types[s.Results[len(s.Results)-1]]
	return tv.Type != nil && !tv.IsNil() && types.AssignableTo(tv.Type, errorType)
}

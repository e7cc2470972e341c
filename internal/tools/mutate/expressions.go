package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// expr mutates an expression, and reports whether what is in it is to be visited.
func (r *rewriter) expr(e ast.Expr, parent ast.Node) bool {
	tv := r.info.Types[e]
	switch {
	case tv.IsType():
		return false
	case tv.Value != nil:
		r.constant(e, parent)
		return false
	}
	switch e := e.(type) {
	case *ast.KeyValueExpr:
		return true // its key is no expression, or a constant
	case *ast.Ident, *ast.SelectorExpr:
		r.errorValue(e)
		s, ok := e.(*ast.SelectorExpr)
		if ok {
			r.selector(s)
		}
		return false
	case *ast.BinaryExpr:
		r.binary(e)
	case *ast.CallExpr:
		return r.callExpr(e)
	case *ast.CompositeLit:
		return r.literal(e)
	}
	return true
}

// selector visits what a field or method is selected of.
func (r *rewriter) selector(s *ast.SelectorExpr) {
	if _, named := s.X.(*ast.Ident); !named {
		r.walk(s.X, []ast.Node{s})
	}
}

var comparisons = map[token.Token]struct{ function, change string }{
	token.LSS: {"mutantLess", "→ <="},
	token.LEQ: {"mutantLessEqual", "→ <"},
	token.GTR: {"mutantGreater", "→ >="},
	token.GEQ: {"mutantGreaterEqual", "→ >"},
	token.ADD: {"mutantAdd", "→ -"},
	token.SUB: {"mutantSub", "→ +"},
}

func (r *rewriter) binary(e *ast.BinaryExpr) {
	switch e.Op {
	case token.LAND:
		r.call(e.X, "mutantTrue", "left out of &&")
		r.call(e.Y, "mutantTrue", "left out of &&")
	case token.LOR:
		r.call(e.X, "mutantFalse", "left out of ||")
		r.call(e.Y, "mutantFalse", "left out of ||")
	default:
		c, ok := comparisons[e.Op]
		basic, isBasic := r.info.TypeOf(e.X).Underlying().(*types.Basic)
		if ok && isBasic && basic.Info()&types.IsNumeric != 0 {
			r.call(e, c.function, c.change)
			r.replace(e.OpPos, e.OpPos+token.Pos(len(e.Op.String())), ",")
		}
	}
}

// callExpr mutates a call, and reports whether what is in it is to be visited.
func (r *rewriter) callExpr(c *ast.CallExpr) bool {
	if r.textCall(c) {
		for _, a := range c.Args {
			r.errorValue(a)
		}
		return false
	}
	if r.info.Types[c.Fun].IsType() { // a conversion
		return true
	}
	name, pkg := r.callee(c)
	switch {
	case pkg == "builtin" && name == "make":
		r.capacity(c)
		return false
	case pkg == "builtin" && (name == "min" || name == "max"):
		function, other := "mutantMin", "max"
		if name == "max" {
			function, other = "mutantMax", "min"
		}
		r.replace(c.Fun.Pos(), c.Lparen+1, function+"("+r.mutant(c, "→ "+other)+", ")
	case pkg == "cmp" && name == "Compare":
		r.call(c, "mutantMinus", "arguments exchanged")
	case (pkg == "bytes" || pkg == "slices" || pkg == "maps") && (name == "Clone" || name == "Clip"):
		if _, plain := c.Args[0].(*ast.CallExpr); !plain {
			r.call(c, "mutantOther", "left out", string(r.text[r.offset(c.Args[0].Pos()):r.offset(c.Args[0].End())]))
		}
	case pkg == "time" && (name == "Before" || name == "After") && types.Identical(r.info.TypeOf(c), types.Typ[types.Bool]):
		sel := c.Fun.(*ast.SelectorExpr)
		r.wrap(sel.X, "mutant"+name+"("+r.mutant(c, "or equal")+", ", "")
		r.replace(sel.X.End(), c.Lparen+1, ", ")
	}
	for _, a := range c.Args {
		_, call := a.(*ast.CallExpr)
		if t := r.info.TypeOf(a); !call && t != nil && types.TypeString(t, nil) == "context.Context" {
			r.call(a, "mutantEndless", "does not end the call of "+r.line(c.Fun))
		}
	}
	return true
}

// callee returns the name of the function or method that is called, and the path of its
// package, which is "builtin" for one of the language's own.
func (r *rewriter) callee(c *ast.CallExpr) (name, pkg string) {
	fun := ast.Unparen(c.Fun)
	if s, ok := fun.(*ast.SelectorExpr); ok {
		fun = s.Sel
	}
	id, ok := fun.(*ast.Ident)
	if !ok {
		return "", ""
	}
	switch o := r.info.Uses[id].(type) {
	case *types.Builtin:
		return id.Name, "builtin"
	case *types.Func:
		if o.Pkg() != nil {
			return id.Name, o.Pkg().Path()
		}
	}
	return id.Name, ""
}

// capacity mutates the capacity of a channel.
func (r *rewriter) capacity(c *ast.CallExpr) {
	if _, channel := r.info.TypeOf(c).Underlying().(*types.Chan); channel && len(c.Args) == 2 {
		if n := r.info.Types[c.Args[1]].Value; n != nil && n.ExactString() != "0" {
			r.call(c.Args[1], "mutantOther", "- 1", n.ExactString()+"-1")
		}
	}
}

const module = "github.com/coordkit/coordkit/"

// texts are the fields of structs that are shown to people and nothing else.
var texts = map[string][]string{
	"coord/driver.Error": {"Op", "Store", "Key"},
	"drivers/mem.call":   {"key"},
	"examples/slate.op":  {"name", "key"},
}

// literal mutates the fields of a struct, and reports whether they are to be visited.
func (r *rewriter) literal(l *ast.CompositeLit) bool {
	t := r.info.TypeOf(l)
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return true
	}
	shown := texts[strings.TrimPrefix(types.TypeString(t, nil), module)]
	for i, e := range l.Elts {
		field, value := s.Field(min(i, s.NumFields()-1)), e
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			field, _ = r.info.Uses[kv.Key.(*ast.Ident)].(*types.Var)
			value = kv.Value
		}
		if !slices.Contains(shown, field.Name()) && r.canBeZero(value, field.Type()) {
			r.call(value, "mutantZero", "left zero")
		}
	}
	return true
}

// canBeZero reports whether a value can be replaced by zero, and that says something: a
// nil function or map is noticed at once.
func (r *rewriter) canBeZero(value ast.Expr, field types.Type) bool {
	tv := r.info.Types[value]
	if tv.Value != nil || tv.IsNil() || !types.Identical(tv.Type, field) {
		return false
	}
	switch field.Underlying().(type) {
	case *types.Signature, *types.Map, *types.Chan:
		return false
	}
	switch v := ast.Unparen(value).(type) {
	case *ast.CallExpr:
		name, _ := r.callee(v)
		return name != "make" && name != "new" && !r.textCall(v)
	case *ast.CompositeLit:
		return false
	case *ast.UnaryExpr:
		return v.Op != token.AND
	}
	return true
}

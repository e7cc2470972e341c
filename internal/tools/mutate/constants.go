package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// constant mutates a constant expression as a whole.
func (r *rewriter) constant(e ast.Expr, parent ast.Node) {
	switch p := parent.(type) {
	case *ast.ReturnStmt:
		if r.failing(p) {
			return
		}
	case *ast.KeyValueExpr:
		if p.Key == e {
			return
		}
	}
	tv := r.info.Types[e]
	name, ok := r.typeName(tv.Type, e.Pos())
	if !ok {
		return
	}
	_, literal := ast.Unparen(e).(*ast.BasicLit)
	switch tv.Value.Kind() {
	case constant.Bool:
		other := fmt.Sprint(!constant.BoolVal(tv.Value))
		r.call(e, "mutantOther["+name+"]", "→ "+other, other)
	case constant.Int:
		switch named, isNamed := types.Unalias(tv.Type).(*types.Named); {
		case name == "time.Duration" && !literal:
			text := r.line(e)
			r.call(e, "mutantOther["+name+"]", "→ 10 times", "10*("+text+")")
			r.call(e, "mutantOther["+name+"]", "→ a tenth", "("+text+")/10")
		case isNamed && !literal && name != "time.Duration":
			if other := r.sibling(e, named); other != "" {
				r.call(e, "mutantOther["+name+"]", "→ "+other, other)
			}
		case !literal || name != "time.Duration" || tv.Value.ExactString() != "0":
			delta := step(e, parent)
			if unsigned := strings.HasPrefix(name, "uint"); delta == "-1" && tv.Value.ExactString() == "0" && unsigned {
				return
			}
			if _, exact := constant.Uint64Val(constant.BinaryOp(tv.Value, token.ADD, constant.MakeInt64(1))); !exact && constant.Sign(tv.Value) > 0 {
				return // it is the greatest that there is
			}
			r.call(e, "mutantOther["+name+"]", delta, r.line(e)+delta)
		}
	}
}

// step is by how much an integer is off: in a comparison in the direction in which moving
// the bound does not go.
func step(e ast.Expr, parent ast.Node) string {
	if p, ok := parent.(*ast.BinaryExpr); ok {
		switch {
		case p.Op == token.LSS && p.Y == e, p.Op == token.GEQ && p.Y == e,
			p.Op == token.GTR && p.X == e, p.Op == token.LEQ && p.X == e:
			return "-1"
		}
	}
	return "+1"
}

// typeName returns how a type is named at a place, and false if it has no name there.
func (r *rewriter) typeName(t types.Type, at token.Pos) (string, bool) {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return t.Name(), t.Info()&types.IsUntyped == 0
	case *types.Named:
		if t.Obj().Pkg() == nil || t.TypeArgs().Len() > 0 {
			return t.Obj().Name(), t.TypeArgs().Len() == 0
		}
		name, scope := t.Obj().Name(), r.pkg.Scope().Innermost(at)
		if t.Obj().Pkg() == r.pkg {
			_, o := scope.LookupParent(name, at)
			return name, o == t.Obj()
		}
		_, o := scope.LookupParent(t.Obj().Pkg().Name(), at)
		p, ok := o.(*types.PkgName)
		return t.Obj().Pkg().Name() + "." + name, ok && p.Imported() == t.Obj().Pkg()
	}
	return "", false
}

// sibling returns the named constant that comes after e among those of its type, as it is
// written where e is, or "".
func (r *rewriter) sibling(e ast.Expr, t *types.Named) string {
	id, qualifier := nameOf(e)
	if id == nil || t.Obj().Pkg() == nil {
		return ""
	}
	scope := t.Obj().Pkg().Scope()
	var all []types.Object
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && types.Identical(c.Type(), t) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b types.Object) int { return int(a.Pos() - b.Pos()) })
	return next(all, r.info.Uses[id], qualifier)
}

// next returns the one behind an object, or the first of all.
func next(all []types.Object, o types.Object, qualifier string) string {
	i := slices.Index(all, o)
	if i < 0 || len(all) < 2 {
		return ""
	}
	return qualifier + all[(i+1)%len(all)].Name()
}

// nameOf returns the identifier of a plain or qualified name, and the qualifier.
func nameOf(e ast.Expr) (id *ast.Ident, qualifier string) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e, ""
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return e.Sel, x.Name + "."
		}
	}
	return nil, ""
}

// siblings are exported errors that are easily taken for each other.
var siblings = map[string]string{
	"ErrUncertain": "ErrUnavailable", "ErrUnavailable": "ErrUncertain",
	"ErrSessionLost": "ErrClosed", "ErrClosed": "ErrSessionLost",
	"ErrGone": "ErrUnavailable", "ErrInvalid": "ErrUnsupported", "ErrUnsupported": "ErrInvalid", "ErrDenied": "ErrUnavailable",
	"ErrNotHeld": "ErrReleased", "ErrReleased": "ErrNotHeld", "ErrRemoved": "ErrSessionLost", "ErrBusy": "ErrUnavailable",
}

// errorValue exchanges an error that is a variable of a package for a sibling.
func (r *rewriter) errorValue(e ast.Expr) {
	id, qualifier := nameOf(e)
	if id == nil {
		return
	}
	v, ok := r.info.Uses[id].(*types.Var)
	if !ok || v.Pkg() == nil || v.Parent() != v.Pkg().Scope() || !isError(v.Type()) {
		return
	}
	other := qualifier + siblings[v.Name()]
	if v.Pkg() == r.pkg && !v.Exported() {
		var all []types.Object
		for _, name := range r.pkg.Scope().Names() {
			o := r.pkg.Scope().Lookup(name)
			if w, ok := o.(*types.Var); ok && isError(w.Type()) && !w.Exported() {
				all = append(all, o)
			}
		}
		other = next(all, v, "")
	}
	if other != qualifier && other != "" {
		r.call(e, "mutantOther[error]", "→ "+other, other)
	}
}

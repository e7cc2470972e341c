package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// rewriter mutates a file. It inserts text and never a line break, so that lines keep
// their numbers.
type rewriter struct {
	fset    *token.FileSet
	pkg     *types.Package
	info    *types.Info
	text    []byte
	fn      *ast.FuncDecl // that is being rewritten
	next    int           // the number of the next mutant
	mutants []*mutant
	edits   []edit
}

// edit replaces text[from:to]. Where several begin at the same place, before says whether
// the insertion belongs to what begins there, and depth that outer text is further out.
type edit struct {
	from, to int
	text     string
	prefix   bool
	order    int
}

// mutant adds a mutant that changes what is at n, and returns its number as text.
func (r *rewriter) mutant(n ast.Node, change string) string {
	m := &mutant{id: r.next, line: r.fset.Position(n.Pos()).Line, fn: funcName(r.fn), change: change, source: r.line(n)}
	r.next++
	r.mutants = append(r.mutants, m)
	return strconv.Itoa(m.id)
}

// wrap puts text before and behind a node.
func (r *rewriter) wrap(n ast.Node, before, behind string) {
	r.edits = append(r.edits,
		edit{r.offset(n.Pos()), r.offset(n.Pos()), before, true, len(r.edits)},
		edit{r.offset(n.End()), r.offset(n.End()), behind, false, len(r.edits)})
}

// call makes the node the second argument of a call of one of the functions in
// switches.go.
func (r *rewriter) call(n ast.Node, function, change string, more ...string) {
	behind := ")"
	if len(more) > 0 {
		behind = ", " + strings.Join(more, ", ") + ")"
	}
	r.wrap(n, function+"("+r.mutant(n, change)+", ", behind)
}

// replace replaces the text between two positions.
func (r *rewriter) replace(from, to token.Pos, text string) {
	r.edits = append(r.edits, edit{r.offset(from), r.offset(to), text, true, len(r.edits)})
}

func (r *rewriter) offset(p token.Pos) int { return r.fset.Position(p).Offset }

// source is the text of a node, in one line.
func (r *rewriter) line(n ast.Node) string {
	const most = 120
	text := strings.Join(strings.Fields(string(r.text[r.offset(n.Pos()):r.offset(n.End())])), " ")
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}

// edited returns the file with the edits in it. Nodes are visited from the outside in: so
// at one place, what was put before a node first stands first, and what was put behind a
// node first stands last.
func (r *rewriter) edited() string {
	slices.SortFunc(r.edits, func(a, b edit) int {
		switch {
		case a.from != b.from:
			return a.from - b.from
		case a.prefix != b.prefix && b.prefix: // what ends here, then what begins here
			return -1
		case a.prefix != b.prefix:
			return 1
		case a.prefix:
			return a.order - b.order
		}
		return b.order - a.order
	})
	var out strings.Builder
	at := 0
	for _, e := range r.edits {
		out.Write(r.text[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(r.text[at:])
	return out.String()
}

// funcName is a function's name with its receiver, as "(*dir).remove".
func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		return "(*" + types.ExprString(star.X) + ")." + d.Name.Name
	}
	return types.ExprString(typ) + "." + d.Name.Name
}

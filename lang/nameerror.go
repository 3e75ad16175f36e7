package lang

import (
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/foreign"
)

// nameProblem places an error of the resolver. For an undefined name it looks for the nearest among
// all that is visible at the place; the resolver itself knows only what the file defines.
func (u *unit) nameProblem(err resolve.Error) diagnostic.Diagnostic {
	rest, undefined := strings.CutPrefix(err.Msg, "undefined: ")
	if !undefined {
		d := u.module.problem("name", err.Pos, u.module.wordAt(err.Pos), strings.TrimSuffix(err.Msg, "expr"))
		d.Hint = nameHint(err.Msg)
		return d
	}
	name, _, _ := strings.Cut(rest, " ")
	d := u.module.problem("undefined", err.Pos, len([]rune(name)), "undefined: "+name)
	d.Hint = foreign.Name(name)
	if d.Hint == "" {
		d.Hint = diagnostic.Meant(name, u.visible(err.Pos))
	}
	return d
}

func nameHint(msg string) string {
	switch {
	case strings.HasSuffix(msg, "while loops"):
		return "write: for _ in range(n), or for _ in forever() for a loop that ends by itself"
	case strings.HasPrefix(msg, "load statement within"):
		return "load stands at the top level, outside if and for"
	}
	return ""
}

// visible lists the names that can be used at a place, nearest first: variables of the functions
// and comprehensions around it, globals, and what is predeclared.
func (u *unit) visible(pos syntax.Position) []string {
	functions, hidden := u.around(pos)
	var list []string
	add := func(bindings []*resolve.Binding) {
		for _, b := range bindings {
			if b.First != nil && !hidden[b.First] {
				list = append(list, b.First.Name)
			}
		}
	}
	for _, f := range slices.Backward(functions) {
		add(f.Locals)
	}
	if top, ok := u.tree.Module.(*resolve.Module); ok {
		add(top.Globals)
		add(top.Locals)
	}
	return append(append(list, u.predeclared...), starlark.Universe.Keys()...)
}

// around finds the functions that contain a place, outermost first, and the variables of
// comprehensions that do not: the resolver keeps these among the locals of the function around.
func (u *unit) around(pos syntax.Position) (functions []*resolve.Function, hidden map[*syntax.Ident]bool) {
	hidden = map[*syntax.Ident]bool{}
	enter := func(n syntax.Node, function any) {
		if f, ok := function.(*resolve.Function); ok && contains(n, pos) {
			functions = append(functions, f)
		}
	}
	syntax.Walk(u.tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DefStmt:
			enter(n, n.Function)
		case *syntax.LambdaExpr:
			enter(n, n.Function)
		case *syntax.Comprehension:
			if !contains(n, pos) {
				hide(n, hidden)
			}
		}
		return true
	})
	return functions, hidden
}

// hide collects the variables of a comprehension.
func hide(c *syntax.Comprehension, hidden map[*syntax.Ident]bool) {
	for _, clause := range c.Clauses {
		if f, ok := clause.(*syntax.ForClause); ok {
			targets(f.Vars, func(id *syntax.Ident) { hidden[id] = true })
		}
	}
}

// contains tells whether a place lies in a node.
func contains(n syntax.Node, pos syntax.Position) bool {
	start, end := n.Span()
	return !before(pos, start) && !before(end, pos)
}

func before(p, q syntax.Position) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Col < q.Col
}

package lang

import (
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
)

// nameProblem places an error of the resolver. For an undefined name it looks for the nearest among all that is visible at the place; the
// resolver itself knows only what the file defines.
func (u *unit) nameProblem(err resolve.Error) diagnostic.Diagnostic {
	rest, undefined := strings.CutPrefix(err.Msg, "undefined: ")
	if !undefined {
		d := u.module.problem("name", err.Pos, u.module.wordAt(err.Pos), strings.TrimSuffix(err.Msg, "expr"))
		d.Hint = nameHint(err.Msg)
		return d
	}
	name, _, _ := strings.Cut(rest, " ")
	d := u.module.problem("undefined", err.Pos, len([]rune(name)), "undefined: "+name)
	d.Hint = foreignName(name)
	if d.Hint == "" {
		d.Hint = diagnostic.DidYouMean(name, u.visible(err.Pos))
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

// foreignName is the hint for names that other languages define.
func foreignName(name string) string {
	switch name {
	case "null", "nil", "undefined":
		return "write None"
	case "isinstance":
		return `write: type(x) == "string"`
	case "map", "filter":
		return "write a comprehension: [f(x) for x in list if …]"
	case "args", "sys", "argv":
		return "inputs are the parameters of main; args is their dict in a script without main"
	case "input":
		return "gate(…) asks a person"
	case "open":
		return "fs.read and fs.write reach files of the workspace"
	}
	return ""
}

// visible lists the names that can be used at a place: variables of the functions and comprehensions around it, globals, and what is predeclared.
func (u *unit) visible(pos syntax.Position) []string {
	var list []string
	hidden := map[*syntax.Ident]bool{} // variables of comprehensions elsewhere
	add := func(bindings []*resolve.Binding) {
		for _, b := range bindings {
			if b.First != nil && !hidden[b.First] {
				list = append(list, b.First.Name)
			}
		}
	}
	var functions []*resolve.Function
	syntax.Walk(u.tree, func(n syntax.Node) bool {
		if n == nil {
			return false
		}
		inside := spans(n, pos)
		switch n := n.(type) {
		case *syntax.DefStmt:
			functions = append(functions, within(inside, n.Function)...)
		case *syntax.LambdaExpr:
			functions = append(functions, within(inside, n.Function)...)
		case *syntax.Comprehension:
			if !inside {
				hide(n, hidden)
			}
		}
		return true
	})
	for i := len(functions) - 1; i >= 0; i-- {
		add(functions[i].Locals)
	}
	if top, ok := u.tree.Module.(*resolve.Module); ok {
		add(top.Globals)
		add(top.Locals)
	}
	return append(append(list, u.predeclared...), starlark.Universe.Keys()...)
}

func within(inside bool, function any) []*resolve.Function {
	if f, ok := function.(*resolve.Function); ok && inside {
		return []*resolve.Function{f}
	}
	return nil
}

// hide collects the variables of a comprehension.
func hide(c *syntax.Comprehension, hidden map[*syntax.Ident]bool) {
	for _, clause := range c.Clauses {
		if f, ok := clause.(*syntax.ForClause); ok {
			syntax.Walk(f.Vars, func(n syntax.Node) bool {
				if id, ok := n.(*syntax.Ident); ok {
					hidden[id] = true
				}
				return true
			})
		}
	}
}

// spans tells whether a node that has a scope of its own contains a place.
func spans(n syntax.Node, pos syntax.Position) bool {
	switch n.(type) {
	case *syntax.DefStmt, *syntax.LambdaExpr, *syntax.Comprehension:
		start, end := n.Span()
		return !before(pos, start) && !before(end, pos)
	}
	return false
}

func before(p, q syntax.Position) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Col < q.Col
}

package check

import (
	"slices"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// early refuses to read a local variable where nothing can have given it a value: in front of its
// first assignment, in the text, or on its right side. What a loop holds together with that
// assignment may come after it all the same.
func (c *checker) early() {
	later := map[*syntax.Ident]bool{}
	var loops []*syntax.ForStmt
	syntax.Walk(c.file.Tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ForStmt:
			loops = append(loops, n)
		case *syntax.ForClause: // its variables stand behind what reads them
			for _, s := range targets(n.Vars, looped) {
				later[way.Variable(s.at)] = true
			}
		}
		return true
	})
	together := func(id, with *syntax.Ident) bool {
		return slices.ContainsFunc(loops, func(loop *syntax.ForStmt) bool { return within(id, loop) && within(with, loop) })
	}
	for v, sites := range c.names.sites {
		again := slices.ContainsFunc(sites[1:], func(s site) bool { return s.kind != augmented && together(v, s.at) })
		if sites[0].kind == augmented && local(v) && !again {
			c.unassigned(v)
		}
	}
	syntax.Walk(c.file.Tree, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		if !ok || c.names.binds[id] || !local(id) {
			return true
		}
		v := way.Variable(id)
		if sites := c.names.sites[v]; v == nil || later[v] || len(sites) == 0 || !before(id, v) && !within(id, sites[0].value) {
			return true
		}
		if !together(id, v) {
			c.unassigned(id)
		}
		return true
	})
}

func (c *checker) unassigned(id *syntax.Ident) {
	c.at("unassigned", id, diagnostic.Diagnostic{Message: "local variable " + id.Name + " is referenced before it has a value", Hint: c.meansGlobal(id)})
}

// OwnVariables is the hint for whoever assigns in a function what the top level has.
const OwnVariables = "a function has its own variables, and those of the top level never change: take the value as a parameter, and return the new one"

// meansGlobal is the hint for a name that the top level has too, or that is a builtin's.
func (c *checker) meansGlobal(id *syntax.Ident) string {
	for _, b := range c.file.Tree.Module.(*resolve.Module).Globals {
		if b.First.Name == id.Name {
			return OwnVariables
		}
	}
	if _, ok := c.env.Lookup(id.Name); ok {
		return "inside the function " + id.Name + " is the variable, not what " + id.Name + " is elsewhere: give the variable another name"
	}
	return ""
}

func local(id *syntax.Ident) bool {
	s := scope(id)
	return s == resolve.Local || s == resolve.Cell
}

func before(a, b *syntax.Ident) bool {
	p, q := a.NamePos, b.NamePos
	return p.Line < q.Line || p.Line == q.Line && p.Col < q.Col
}

// within tells whether an identifier stands inside a node, nil being empty.
func within(id *syntax.Ident, n syntax.Node) bool {
	if e, ok := n.(syntax.Expr); n == nil || ok && e == nil {
		return false
	}
	start, end := n.Span()
	p := id.NamePos
	return (p.Line > start.Line || p.Line == start.Line && p.Col >= start.Col) && (p.Line < end.Line || p.Line == end.Line && p.Col < end.Col)
}

package lang

import (
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
)

// Main is what a script's main takes. A run passes its inputs by name.
type Main struct {
	Params []Param // in the order of the text, **kwargs left out
	Kwargs bool    // it has **kwargs
}

// Param is one parameter of main.
type Param struct {
	Name     string
	Optional bool // it has a default
}

// mains lists the definitions of main that stand at the top level itself.
func mains(tree *syntax.File) []*syntax.DefStmt {
	var list []*syntax.DefStmt
	for _, s := range tree.Stmts {
		if def, ok := s.(*syntax.DefStmt); ok && def.Name.Name == "main" {
			list = append(list, def)
		}
	}
	return list
}

// head reads what a script says of itself: its main and its inputs.
func (p *Program) head(entry *unit) diagnostic.List {
	if entry.tree == nil {
		return nil
	}
	list := entry.mainRule()
	defs := mains(entry.tree)
	if len(defs) == 0 {
		return append(list, p.contract(entry, nil)...)
	}
	p.Main = mainOf(defs[0])
	for _, param := range defs[0].Params {
		if star, ok := param.(*syntax.UnaryExpr); ok && star.Op == syntax.STAR && star.X != nil {
			list = append(list, entry.module.problem("main", star.OpPos, 1+len([]rune(star.X.(*syntax.Ident).Name)), "main cannot have *args: inputs have names"))
		}
	}
	return append(list, p.contract(entry, defs[0])...)
}

func mainOf(def *syntax.DefStmt) *Main {
	m := new(Main)
	for _, param := range def.Params {
		switch q := param.(type) {
		case *syntax.Ident:
			m.Params = append(m.Params, Param{Name: q.Name})
		case *syntax.BinaryExpr:
			m.Params = append(m.Params, Param{Name: q.X.(*syntax.Ident).Name, Optional: true})
		case *syntax.UnaryExpr:
			m.Kwargs = m.Kwargs || q.Op == syntax.STARSTAR
		}
	}
	return m
}

// mainRule refuses every way of giving main a value but one def at the top level itself: a script
// would be taken for one without main, or have several, and which it is must be plain from the
// text.
func (u *unit) mainRule() diagnostic.List {
	defs := mains(u.tree)
	var list diagnostic.List
	for _, at := range topLevelBindings(u.tree, "main") {
		if len(defs) > 0 && at == defs[0].Name {
			continue
		}
		d := u.module.problem("main", at.NamePos, len("main"), "main must be one def at the top level, outside if and for")
		if len(defs) > 0 {
			first := diagnostic.Diagnostic{File: u.module.Name, Line: int(defs[0].Name.NamePos.Line), Col: int(defs[0].Name.NamePos.Col)}
			d.Message, d.Hint = "main is defined twice", "the first is at "+first.Where()
		}
		list = append(list, d)
	}
	return list
}

// topLevelBindings lists the places where code of the top level gives a name a value: assignments,
// defs, loads and loops, inside if and for too, but not inside functions.
func topLevelBindings(tree *syntax.File, name string) []*syntax.Ident {
	var list []*syntax.Ident
	collect := func(id *syntax.Ident) {
		if id.Name == name {
			list = append(list, id)
		}
	}
	for _, s := range tree.Stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			_, isDef := n.(*syntax.DefStmt)
			_, isExpr := n.(syntax.Expr)
			bindings(n, collect)
			return !isDef && !isExpr
		})
	}
	return list
}

// bindings calls do for each name that a statement itself binds.
func bindings(n syntax.Node, do func(*syntax.Ident)) {
	switch n := n.(type) {
	case *syntax.DefStmt:
		do(n.Name)
	case *syntax.AssignStmt:
		targets(n.LHS, do)
	case *syntax.ForStmt:
		targets(n.Vars, do)
	case *syntax.LoadStmt:
		for _, to := range n.To {
			do(to)
		}
	}
}

// targets calls do for each name on the left of an assignment.
func targets(lhs syntax.Expr, do func(*syntax.Ident)) {
	switch lhs := lhs.(type) {
	case *syntax.Ident:
		do(lhs)
	case *syntax.ParenExpr:
		targets(lhs.X, do)
	case *syntax.TupleExpr:
		for _, e := range lhs.List {
			targets(e, do)
		}
	case *syntax.ListExpr:
		for _, e := range lhs.List {
			targets(e, do)
		}
	}
}

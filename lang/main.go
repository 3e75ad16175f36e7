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

// mainRule refuses every way of giving main a value but one def at the top level itself: a script would be taken for one without main, or have
// several, and which it is must be plain from the text.
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

// topLevelBindings lists the places where code of the top level gives a name a value: assignments, defs, loads and loops, inside if and for too, but
// not inside functions.
func topLevelBindings(tree *syntax.File, name string) []*syntax.Ident {
	var list []*syntax.Ident
	var target func(e syntax.Expr)
	target = func(e syntax.Expr) {
		switch e := e.(type) {
		case *syntax.Ident:
			if e.Name == name {
				list = append(list, e)
			}
		case *syntax.ParenExpr:
			target(e.X)
		case *syntax.TupleExpr:
			each(e.List, target)
		case *syntax.ListExpr:
			each(e.List, target)
		}
	}
	for _, s := range tree.Stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.DefStmt:
				target(n.Name)
				return false
			case *syntax.AssignStmt:
				target(n.LHS)
			case *syntax.ForStmt:
				target(n.Vars)
			case *syntax.LoadStmt:
				for _, to := range n.To {
					target(to)
				}
			case syntax.Expr:
				return false
			}
			return true
		})
	}
	return list
}

func each(list []syntax.Expr, do func(syntax.Expr)) {
	for _, e := range list {
		do(e)
	}
}

package infer

import (
	"fmt"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/doc"
)

// takes is how many arguments by place a function must have, and how many it can.
func (f *fn) takes() (least, most int) {
	const any = 1 << 30
	most = 0
	for _, p := range f.decl.Params {
		switch p := p.(type) {
		case *syntax.UnaryExpr:
			if p.Op == syntax.STAR && p.X != nil {
				most = any
			}
			if p.Op == syntax.STAR {
				return least, most // what follows is passed by name
			}
		case *syntax.Ident:
			least, most = least+1, most+1
		default:
			most++
		}
	}
	return least, most
}

// misfit: parallel calls a function with so many arguments, and it takes another number. That is
// certain where what it goes through stands there and has elements.
func (a *analysis) misfit(t Type, n int, at syntax.Expr, through argument, call *syntax.CallExpr) {
	f, ok := t.only()
	if !ok || f.kind != function || at == nil || !a.saying {
		return
	}
	least, most := f.obj.fn.takes()
	d := diagnostic.Diagnostic{Message: f.obj.fn.show() + " is called with " + counting(n, "argument")}
	if def, ok := f.obj.fn.node.(*syntax.DefStmt); ok {
		d.Hint = "the signature is " + doc.Def(def).Signature()
	}
	kind := "missing_argument"
	switch {
	case n < least:
		d.Want = fmt.Sprintf("at least %d", least)
	case n > most:
		kind, d.Want = "too_many_arguments", fmt.Sprintf("at most %d", most)
	default:
		return
	}
	if entries, ok := unparenNode(through.node).(*syntax.DictExpr); len(displayed(unparenNode(through.node))) > 0 || ok && len(entries.List) > 0 {
		a.report(kind, at, call, d)
		return
	}
	a.warn(kind, at, d)
}

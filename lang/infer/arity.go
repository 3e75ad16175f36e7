package infer

import (
	"slices"
	"strconv"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/doc"
	"starling/lang/way"
)

func itoa(n int) string { return strconv.Itoa(n) }

// suits says of a function that is called with so many arguments that it takes another number, and
// tells whether it did. That is certain where the call is made for certain.
func (a *analysis) suits(t Type, n int, named []string, at syntax.Expr, call *syntax.CallExpr, certain bool) bool {
	f, ok := t.only()
	if !ok || f.kind != function || at == nil || !a.saying {
		return true
	}
	kind, want := way.Refused(f.obj.fn.decl.Params, n, named)
	if kind == "" {
		return true
	}
	d := diagnostic.Diagnostic{Message: f.obj.fn.show() + " is called with " + counting(n+len(named), "argument"), Want: want}
	if def, ok := f.obj.fn.node.(*syntax.DefStmt); ok {
		d.Hint = "the signature is " + doc.Def(def).Signature()
	}
	if n == 2 && way.Names(call.Fn, "parallel") {
		d.Message += ": over a dict it is called with key and value"
	}
	if certain {
		a.report(kind, at, call, d)
		return false
	}
	a.warn(kind, at, d)
	return false
}

// misfit is suits for what parallel calls: that is certain where what it goes through stands there
// and has elements.
func (a *analysis) misfit(t Type, n int, at syntax.Expr, through argument, call *syntax.CallExpr) {
	some := through.typ.known()
	for _, at := range through.typ.atoms {
		least, _ := at.size()
		some = some && least > 0
	}
	if a.suits(t, n, nil, at, call, some) || n != 1 || direct(at) == nil || !onlyKind(elementsOf(through.typ), tuple) {
		return
	}
	if last := len(a.found) - 1; last >= 0 && a.found[last].about == at {
		a.found[last].Diagnostic.Hint += "; over gives one argument, which lambda x: " + a.file.briefly(at) + "(*x) takes apart"
	}
}

// suitsCall is suits for a call that stands in the text. Of one that names a def the checks of the
// text speak.
func (a *analysis) suitsCall(f Type, g *arguments) {
	at, ok := f.only()
	if !ok || at.kind != function || g.loose() {
		return
	}
	if def, ok := at.obj.fn.node.(*syntax.DefStmt); ok {
		if id, ok := way.Unparen(g.call.Fn).(*syntax.Ident); ok && way.Variable(id) == way.Variable(def.Name) {
			return
		}
	}
	if id, ok := way.Unparen(g.call.Fn).(*syntax.Ident); ok && at.obj.fn.file != a.file && way.Variable(id) != nil && a.loaded(id) {
		return
	}
	a.suits(f, len(g.list), g.order, g.call.Fn, g.call, true)
}

// loaded tells whether a load statement binds a name.
func (a *analysis) loaded(id *syntax.Ident) bool {
	for _, s := range a.file.Tree.Stmts {
		l, ok := s.(*syntax.LoadStmt)
		if ok && slices.Contains(l.To, way.Variable(id)) {
			return true
		}
	}
	return false
}

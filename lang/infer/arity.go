package infer

import (
	"fmt"
	"strconv"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/doc"
	"starling/lang/way"
)

func itoa(n int) string { return strconv.Itoa(n) }

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

// refused is why a function cannot be called with so many arguments by place and these by name:
// the kind of mistake, "" where it can, and what it wants.
func (f *fn) refused(n int, named []string) (kind, want string) {
	least, most := f.takes()
	if n > most {
		return "too_many_arguments", fmt.Sprintf("at most %d", most)
	}
	given := map[string]bool{}
	for _, name := range named {
		given[name] = true
	}
	for _, p := range f.decl.Params {
		id, required := p.(*syntax.Ident)
		if star, ok := p.(*syntax.UnaryExpr); ok && star.Op == syntax.STARSTAR {
			given = nil
		}
		if required {
			if place, _ := f.argument(id); (place < 0 || place >= n) && !given[id.Name] {
				return "missing_argument", fmt.Sprintf("at least %d", least)
			}
			delete(given, id.Name)
		}
		if b, ok := p.(*syntax.BinaryExpr); ok {
			delete(given, b.X.(*syntax.Ident).Name)
		}
	}
	if len(given) > 0 {
		return "unknown_keyword", "a name of its parameters"
	}
	return "", ""
}

// suits says of a function that is called with so many arguments that it takes another number, and
// tells whether it did. That is certain where the call is made for certain.
func (a *analysis) suits(t Type, n int, named []string, at syntax.Expr, call *syntax.CallExpr, certain bool) bool {
	f, ok := t.only()
	if !ok || f.kind != function || at == nil || !a.saying {
		return true
	}
	kind, want := f.obj.fn.refused(n, named)
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
	a.suits(t, n, nil, at, call, some)
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
		if ok && contained(l.To, way.Variable(id)) {
			return true
		}
	}
	return false
}

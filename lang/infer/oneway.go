package infer

import (
	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// A variable that a condition gives one value or another may be used where only one of them will
// do. That it may be the other there is said only where nothing tells the two apart: the use stands
// behind the condition in the same block and is reached whenever the block goes on, nothing on the
// way looks at the variable or leaves, and all of the other value fails. Values that come from
// further away, from a chain of elifs or from a loop are nearly always told apart by something that
// the text does not say.

// chosen is one value that a variable may have where it is used.
type chosen struct {
	typ Type
	at  syntax.Node // what gives it
}

// ways are the values that the condition gives a variable which did so last in front of a use; nil
// where it is not known that each of them gets there.
func (a *analysis) ways(use *syntax.Ident) []chosen {
	b, ok := use.Binding.(*resolve.Binding)
	if !ok || !a.saying || a.depth > 0 {
		return nil
	}
	if _, own := a.slot(b); !own {
		return nil
	}
	stmts := a.file.Tree.Stmts
	if a.fn != nil {
		stmts = a.fn.decl.Body
	}
	block, n := way.Block(stmts, use.NamePos)
	for i := n - 1; i >= 0; i-- {
		switch s := block[i].(type) {
		case *syntax.AssignStmt:
			if !way.Mentions(s, b.First) {
				continue
			}
			return a.either(s, b.First)
		case *syntax.IfStmt:
			if !way.Mentions(s, b.First) && !way.Leaves(s) {
				continue
			}
			return a.branches(block[:i], s, b.First)
		default:
			_, def := s.(*syntax.DefStmt)
			if !way.Mentions(s, b.First) && (def || !way.Leaves(s)) {
				continue
			}
		}
		return nil
	}
	return nil
}

// either are the values of x = a if c else b.
func (a *analysis) either(s *syntax.AssignStmt, v *syntax.Ident) []chosen {
	cond, ok := way.Unparen(s.RHS).(*syntax.CondExpr)
	if id, also := way.Unparen(s.LHS).(*syntax.Ident); !ok || !also || s.Op != syntax.EQ || way.Variable(id) != v || way.Mentions(cond, v) {
		return nil
	}
	return []chosen{{a.arms[cond.True], cond.True}, {a.arms[cond.False], cond.False}}
}

// branches are the values that an if gives, and where it may give none, the value that stands in
// front of it.
func (a *analysis) branches(before []syntax.Stmt, s *syntax.IfStmt, v *syntax.Ident) []chosen {
	if way.Mentions(s.Cond, v) {
		return nil
	}
	yes, ok := a.lastOf(s.True, v)
	if !ok {
		return nil
	}
	if s.False != nil {
		no, also := a.lastOf(s.False, v)
		if !also {
			return nil
		}
		return append(yes, no...)
	}
	for i := len(before) - 1; i >= 0; i-- {
		if !way.Mentions(before[i], v) {
			if _, choice := before[i].(*syntax.IfStmt); choice && way.Leaves(before[i]) {
				return nil
			}
			continue
		}
		first, ok := a.lastOf(before[i:i+1], v)
		if !ok || yes == nil {
			return nil
		}
		return append(first, yes...)
	}
	return nil
}

// lastOf is the value that a block gives a variable by a plain assignment, none where it leaves
// instead; false where it may do otherwise.
func (a *analysis) lastOf(stmts []syntax.Stmt, v *syntax.Ident) ([]chosen, bool) {
	var given []chosen
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.ReturnStmt, *syntax.BranchStmt:
			return nil, way.Leaves(s)
		case *syntax.AssignStmt:
			if id, ok := way.Unparen(s.LHS).(*syntax.Ident); ok && s.Op == syntax.EQ && way.Variable(id) == v && !way.Mentions(s.RHS, v) {
				given = []chosen{{a.given[id], id}}
				continue
			}
		case *syntax.ExprStmt:
			if call, ok := way.Unparen(s.X).(*syntax.CallExpr); ok && way.Names(call.Fn, "fail") {
				return nil, true
			}
		}
		if way.Mentions(s, v) || way.Leaves(s) {
			return nil, false
		}
	}
	return given, given != nil
}

// onOneWay: what a variable is given on one way cannot be used like this, though what it is given
// on another can. fails tells whether a type fails for certain.
func (a *analysis) onOneWay(e syntax.Expr, t Type, fails func(Type) bool) (chosen, bool) {
	if e == nil {
		return chosen{}, false
	}
	id, ok := way.Unparen(e).(*syntax.Ident)
	if !ok || len(t.atoms) < 2 && !t.any {
		return chosen{}, false
	}
	list := a.ways(id)
	for _, w := range list {
		reaches := w.typ.known()
		for _, at := range w.typ.atoms {
			reaches = reaches && t.holds(&at)
		}
		if reaches && fails(w.typ) {
			return w, len(list) > 1
		}
	}
	return chosen{}, false
}

// oneOperand: x OP y fails for what a condition gives one of the two.
func (a *analysis) oneOperand(e syntax.Node, op syntax.Token, x, y Type) bool {
	var left, right syntax.Expr
	switch e := e.(type) {
	case *syntax.BinaryExpr:
		left, right = e.X, e.Y
	case *syntax.AssignStmt:
		left, right = e.LHS, e.RHS
	}
	if w, ok := a.onOneWay(left, x, func(t Type) bool { return a.neverDone(op, t, y) }); ok {
		a.operandOf(w, left, e, op, w.typ, y)
		return true
	}
	if w, ok := a.onOneWay(right, y, func(t Type) bool { return a.neverDone(op, x, t) }); ok {
		a.operandOf(w, right, e, op, x, w.typ)
		return true
	}
	return false
}

// neverDone tells whether an operator takes no values of two types.
func (a *analysis) neverDone(op syntax.Token, x, y Type) bool {
	if x.any || y.any {
		return x.any != y.any && a.hopeless(op, x, y)
	}
	for _, p := range x.atoms {
		for _, q := range y.atoms {
			if v := a.operated(op, p.kind, q.kind); v == nil || len(v) > 0 {
				return false
			}
		}
	}
	return x.known() && y.known()
}

func (a *analysis) operandOf(w chosen, operand syntax.Expr, e syntax.Node, op syntax.Token, x, y Type) {
	if w.typ.has(none) {
		a.noneHere(w, operand, op.String())
		return
	}
	a.warn("bad_operand", e, diagnostic.Diagnostic{Message: x.brief() + " " + op.String() + " " + y.brief() + " is not defined, and may happen here", Note: a.wayNote(w, operand),
		Hint: operandHint(op, x, y)})
}

// noneHere: a variable may be None, since a condition or what stands in front of it gave it that.
func (a *analysis) noneHere(w chosen, e syntax.Expr, use string) {
	a.later(e, "maybe_none", diagnostic.Diagnostic{Message: "this may be None, and is used with " + use, Note: a.wayNote(w, e),
		Hint: "give it another value on this way, or look first: if " + a.file.briefly(e) + " != None"})
}

// wayNote says where a variable is given a value on one way.
func (a *analysis) wayNote(w chosen, e syntax.Expr) string {
	return "line " + itoa(int(way.Start(w.at).Line)) + " gives " + a.file.briefly(e) + " " + w.typ.brief() + ", which is one of the ways that lead here"
}

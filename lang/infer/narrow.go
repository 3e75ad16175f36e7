package infer

import (
	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/way"
)

// narrowed is what is known where a condition holds, and where it does not. t is its type.
func (a *analysis) narrowed(e syntax.Expr, t Type, w *flow) (yes, no *flow) {
	yes, no = w.clone(), w.clone()
	if t.known() {
		yes.dead = t.truthy().empty()
		no.dead = t.falsy().empty()
	}
	a.look(e, w)
	switch e := way.Unparen(e).(type) {
	case *syntax.BinaryExpr:
		a.narrowBinary(e, yes, no)
	case *syntax.CallExpr:
		a.narrowCall(e, yes, no)
	default:
		a.restrict(e, yes, Type.truthy)
		a.restrict(e, no, Type.falsy)
		a.replied(e, t, yes, no)
	}
	return yes, no
}

// replied narrows by r.ok, r and d.timed_out: a Result that is ok, as one that is true is, has the
// reply that its contract says, and a Decision that came in time what was answered. t is its type.
func (a *analysis) replied(e syntax.Expr, t Type, yes, no *flow) {
	dot, ok := way.Unparen(e).(*syntax.DotExpr)
	if at, one := t.only(); one && at.recordOf("Result") {
		place := way.End(e)
		dot = &syntax.DotExpr{X: e, Dot: place, NamePos: place, Name: &syntax.Ident{Name: "ok", NamePos: place}}
		ok = true
	}
	if !ok {
		return
	}
	switch dot.Name.Name {
	case "ok":
		a.answered(dot, "output", noReply, yes)
	case "timed_out":
		a.answered(dot, "payload", noAnswer, no)
		a.answered(dot, "choice", noAnswer, no)
	}
}

// answered narrows a field beside the one that a condition asks: it is there, and not missing for
// the reason given.
func (a *analysis) answered(asked *syntax.DotExpr, name, why string, w *flow) {
	e := &syntax.DotExpr{X: asked.X, Dot: asked.Dot, NamePos: asked.NamePos, Name: &syntax.Ident{Name: name, NamePos: asked.NamePos}}
	a.restrict(e, w, func(t Type) Type {
		return t.filter(func(at atom) bool { return at.kind != none || at.obj == nil || at.obj.why != why })
	})
}

func tag(root *syntax.Ident, path string) string {
	return root.NamePos.String() + " " + root.Name + path
}

// restrict makes the type of a path smaller.
func (a *analysis) restrict(e syntax.Expr, w *flow, to func(Type) Type) {
	root, path := way.Path(e)
	if root == nil || w.dead {
		return
	}
	was := a.quietly(e, w)
	t := to(was)
	if same(t, was) {
		return
	}
	if t.empty() && !was.empty() {
		w.dead = true
	}
	t.cut = true
	if id, ok := way.Unparen(e).(*syntax.Ident); ok {
		if i, ok := a.slot(id.Binding.(*resolve.Binding)); ok {
			w.vars[i] = t
			return
		}
	}
	w.forget(func(f fact) bool { return f.root == root && f.path == path })
	w.facts = append(w.facts, fact{root, path, t})
}

// narrowBinary looks at comparisons.
func (a *analysis) narrowBinary(e *syntax.BinaryExpr, yes, no *flow) {
	switch e.Op {
	case syntax.EQL:
		a.equals(e, yes, no)
	case syntax.NEQ:
		a.equals(e, no, yes)
	case syntax.IN:
		a.among(e, yes, no)
	case syntax.NOT_IN:
		a.among(e, no, yes)
	}
}

// equals narrows by x == y.
func (a *analysis) equals(e *syntax.BinaryExpr, yes, no *flow) {
	for _, side := range [][2]syntax.Expr{{e.X, e.Y}, {e.Y, e.X}} {
		if subject, ok := a.typeCall(side[0]); ok {
			if name, ok := way.Unparen(side[1]).(*syntax.Literal); ok && name.Token == syntax.STRING {
				a.typed(subject, name.Value.(string), yes, no)
			}
			continue
		}
		other := a.quietly(side[1], yes)
		if other.any || other.empty() {
			continue
		}
		a.restrict(side[0], yes, func(t Type) Type { return t.filter(func(at atom) bool { return mayEqual(at, other) }) })
		if only, ok := other.only(); ok && (only.exact || only.kind == none) {
			a.restrict(side[0], no, func(t Type) Type { return t.filter(func(at atom) bool { return !surelyEqual(at, only) }) })
		}
	}
}

// surelyEqual tells whether every value of an atom equals that of another, which is one value.
func surelyEqual(at, only atom) bool {
	return at.kind == only.kind && (at.kind == none || at.exact && only.exact && at.lit == only.lit)
}

// mayEqual tells whether a value of the atom may be equal to one of the type.
func mayEqual(at atom, t Type) bool {
	if t.any {
		return true
	}
	for _, b := range t.atoms {
		if maySame(at, b) {
			return true
		}
	}
	return false
}

func maySame(p, q atom) bool {
	if p.kind == opaque || q.kind == opaque || p.kind == module || q.kind == module || p.kind == iterable || q.kind == iterable {
		return true
	}
	if number(p) && number(q) {
		return (p.kind != q.kind || !p.exact || !q.exact || p.lit == q.lit) && p.extent().meets(q.extent())
	}
	if callable(p) && callable(q) {
		return true
	}
	if p.kind != q.kind {
		return false
	}
	if p.kind == record && p.obj.form != q.obj.form && p.obj.form.Name != q.obj.form.Name {
		return false
	}
	return (!p.exact || !q.exact || p.lit == q.lit) && p.extent().meets(q.extent())
}

func number(a atom) bool   { return a.kind == integer || a.kind == float }
func callable(a atom) bool { return a.kind == function || a.kind == builtin || a.kind == method }

// typeCall is what type() is asked of.
func (a *analysis) typeCall(e syntax.Expr) (syntax.Expr, bool) {
	call, ok := way.Unparen(e).(*syntax.CallExpr)
	if !ok || len(call.Args) != 1 || !way.Names(call.Fn, "type") {
		return nil, false
	}
	return call.Args[0], true
}

// typed narrows by type(x) == "name".
func (a *analysis) typed(subject syntax.Expr, name string, yes, no *flow) {
	is := func(at atom) (may, must bool) {
		if at.kind == iterable || at.kind == opaque || at.kind == module || at.kind == ranging || at.kind == endless {
			return true, false
		}
		return at.typeName() == name, at.typeName() == name
	}
	a.restrict(subject, yes, func(t Type) Type { return t.filter(func(at atom) bool { may, _ := is(at); return may }) })
	a.restrict(subject, no, func(t Type) Type { return t.filter(func(at atom) bool { _, must := is(at); return !must }) })
}

// among narrows by x in y.
func (a *analysis) among(e *syntax.BinaryExpr, yes, no *flow) {
	if subject, ok := a.typeCall(e.X); ok {
		a.amongTypes(subject, e.Y, yes, no)
		return
	}
	y := a.quietly(e.Y, yes)
	elems := Type{any: y.any}
	for _, at := range y.atoms {
		t, ok := at.through()
		if at.kind == text || !ok || at.kind == opaque {
			return
		}
		elems = join(elems, t)
	}
	if !elems.any {
		a.restrict(e.X, yes, func(t Type) Type { return t.filter(func(at atom) bool { return mayEqual(at, elems) }) })
	}
	all := way.Displayed(e.Y)
	if all == nil {
		return
	}
	a.restrict(e.X, no, func(t Type) Type {
		for _, x := range all {
			if only, ok := a.quietly(x, no).only(); ok && (only.exact || only.kind == none) {
				t = t.filter(func(at atom) bool { return !surelyEqual(at, only) })
			}
		}
		return t
	})
}

// amongTypes narrows by type(x) in ("a", "b").
func (a *analysis) amongTypes(subject, of syntax.Expr, yes, no *flow) {
	names := map[string]bool{}
	for _, x := range way.Displayed(of) {
		l, ok := way.Unparen(x).(*syntax.Literal)
		if !ok || l.Token != syntax.STRING {
			return
		}
		names[l.Value.(string)] = true
	}
	if len(names) == 0 {
		return
	}
	vague := func(at atom) bool {
		return at.kind == iterable || at.kind == opaque || at.kind == module || at.kind == ranging || at.kind == endless
	}
	a.restrict(subject, yes, func(t Type) Type { return t.filter(func(at atom) bool { return vague(at) || names[at.typeName()] }) })
	a.restrict(subject, no, func(t Type) Type { return t.filter(func(at atom) bool { return vague(at) || !names[at.typeName()] }) })
}

// narrowCall looks at hasattr(x, "name") and bool(x).
func (a *analysis) narrowCall(e *syntax.CallExpr, yes, no *flow) {
	switch {
	case len(e.Args) == 2 && way.Names(e.Fn, "hasattr"):
		l, ok := way.Unparen(e.Args[1]).(*syntax.Literal)
		if !ok || l.Token != syntax.STRING {
			return
		}
		name := l.Value.(string)
		has := func(at atom) bool { return !at.closed() || contains(at.attributes(), name) }
		a.restrict(e.Args[0], yes, func(t Type) Type { return t.filter(has) })
		a.restrict(e.Args[0], no, func(t Type) Type { return t.filter(func(at atom) bool { return !at.closed() || !has(at) }) })
	case len(e.Args) == 1 && way.Names(e.Fn, "bool"):
		a.restrict(e.Args[0], yes, Type.truthy)
		a.restrict(e.Args[0], no, Type.falsy)
	}
}

// Rest is what an if without an else leaves over.
type Rest struct {
	None  bool     // its conditions take all that there is
	Texts []string // the texts of a contract or a gate that none of them takes
	Of    syntax.Expr
}

// Rest is what is left over of an if; the zero Rest where that is not known.
func (r *Result) Rest(s *syntax.IfStmt) Rest {
	if r.a == nil {
		return Rest{}
	}
	return r.a.rests[s]
}

// leftOver notes what an if without an else leaves over. no is what is known where its condition
// does not hold.
func (a *analysis) leftOver(s *syntax.IfStmt, no *flow) {
	if len(s.False) > 0 || !a.saying || a.depth > 0 {
		return
	}
	rest := Rest{None: no.dead}
	if e, ok := way.Unparen(s.Cond).(*syntax.BinaryExpr); ok && !no.dead && (e.Op == syntax.EQL || e.Op == syntax.IN) {
		t := a.quietly(e.X, no)
		said := t.known()
		for _, at := range t.atoms {
			said = said && at.kind == text && at.exact && at.from == origin(0)
		}
		if said {
			rest.Texts, rest.Of = exacts(t), e.X
		}
	}
	a.rests[s] = rest
}

package infer

import (
	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/way"
)

// loop gathers where the rounds of a loop end.
type loop struct {
	breaks, again *flow
	through       *syntax.Ident // the variable that it goes through
}

// block goes over statements and gives what is known behind them.
func (a *analysis) block(stmts []syntax.Stmt, w *flow) *flow {
	for _, s := range stmts {
		if w.dead {
			return w
		}
		w = a.statement(s, w)
	}
	return w
}

func (a *analysis) statement(s syntax.Stmt, w *flow) *flow {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		a.idle(s.X, w)
		if call, ok := way.Unparen(s.X).(*syntax.CallExpr); ok {
			if dot, ok := call.Fn.(*syntax.DotExpr); ok && changing[dot.Name.Name] {
				a.lost(dot.X, call, w)
			}
		}
		a.dropped(s.X, a.expr(s.X, w))
	case *syntax.AssignStmt:
		a.assignment(s, w)
	case *syntax.DefStmt:
		a.bind(s.Name, a.define(s, s.Function.(*resolve.Function), w), w)
	case *syntax.LoadStmt:
		a.load(s, w)
	case *syntax.ReturnStmt:
		a.giveBack(s, w)
		return deadFlow(w)
	case *syntax.BranchStmt:
		return a.leave(s, w)
	case *syntax.IfStmt:
		yes, no := a.conditionOf(s, s.Cond, way.Idle(s), w)
		a.leftOver(s, no)
		return merge(a.block(s.True, yes), a.block(s.False, no))
	case *syntax.ForStmt:
		return a.forLoop(s, w)
	case *syntax.WhileStmt:
		return a.whileLoop(s, w)
	}
	return w
}

// giveBack goes over a return.
func (a *analysis) giveBack(s *syntax.ReturnStmt, w *flow) {
	t := noneType
	if a.fn == nil { // which the compiler refuses
		return
	}
	if s.Result != nil {
		t = a.expr(s.Result, w)
		if onlyKind(t, boolean) && !a.fn.isMain() {
			a.look(s.Result, w) // whoever calls it asks
		}
		if id, ok := way.Unparen(s.Result).(*syntax.Ident); !ok || id.Name != "None" {
			a.set(&a.fn.answers)
		}
	}
	if !w.dead {
		a.returned(t)
		a.output(s.Result, t)
	}
}

// leave goes over break, continue and pass.
func (a *analysis) leave(s *syntax.BranchStmt, w *flow) *flow {
	if s.Token == syntax.PASS || len(a.loops) == 0 {
		return w
	}
	l := a.loops[len(a.loops)-1]
	if s.Token == syntax.BREAK {
		l.breaks = merge(l.breaks, w)
	} else {
		l.again = merge(l.again, w)
	}
	return deadFlow(w)
}

// head is what is known where a loop begins a round: what was known in front of it and behind every
// round of the passes before.
func (a *analysis) head(n syntax.Node, w *flow) *flow {
	kept := a.heads[n]
	if kept == nil {
		kept = deadFlow(w)
		a.heads[n] = kept
	}
	a.widenHead(kept, w)
	h := kept.clone()
	for i := range h.vars { // narrower on the first way in is of no use: a round may follow
		h.vars[i] = join(h.vars[i], w.vars[i])
	}
	return h
}

// widenHead adds a way in to what is known at a head, and tells whether that is new.
func (a *analysis) widenHead(kept, w *flow) (grew bool) {
	if w == nil || w.dead {
		return false
	}
	grew = kept.dead
	m := merge(kept, w)
	for i := range m.vars {
		if !same(m.vars[i], kept.vars[i]) {
			grew = true
			break
		}
	}
	grew = grew || len(m.facts) != len(kept.facts)
	*kept = *m.clone()
	return grew
}

// maxRounds bounds how often a loop is gone over at once.
const maxRounds = 8

// rounds goes over a loop until what is known at its head does not grow any more. round goes over
// its body, from a head, and gives where it ends and what is known behind the loop. What it has
// said any but the last time does not count.
func (a *analysis) rounds(n syntax.Node, w *flow, through *syntax.Ident, round func(h *flow) (end, after *flow)) *flow {
	for i := 1; ; i++ {
		found, pending := len(a.found), len(a.pending)
		h := a.head(n, w)
		l := &loop{through: through}
		a.loops = append(a.loops, l)
		end, after := round(h)
		a.loops = a.loops[:len(a.loops)-1]
		grew := a.widenHead(a.heads[n], merge(l.again, end))
		if grew && i < maxRounds {
			a.found, a.pending = a.found[:found], a.pending[:pending]
			continue
		}
		if grew {
			a.grewIn(a.here())
		}
		if l.breaks == nil {
			return after
		}
		return merge(after, l.breaks)
	}
}

func (a *analysis) forLoop(s *syntax.ForStmt, w *flow) *flow {
	t := a.expr(s.X, w)
	elem := a.through(s.X, t)
	forever := t.known() && len(t.atoms) == 1 && t.atoms[0].kind == endless
	return a.rounds(s, w, a.wentThrough(s, t), func(h *flow) (end, after *flow) {
		round := h.clone()
		a.assign(s.Vars, elem, round)
		if t.known() && elem.empty() {
			round.dead = a.barren(t)
		}
		after = h
		if forever {
			after = deadFlow(h)
		}
		return a.block(s.Body, round), after
	})
}

// barren tells whether going through a type gives nothing for certain: it is a display of nothing
// that nothing is ever put into.
func (a *analysis) barren(t Type) bool {
	for _, at := range t.atoms {
		if at.obj == nil || at.obj.lent {
			return false
		}
	}
	return true
}

func (a *analysis) whileLoop(s *syntax.WhileStmt, w *flow) *flow {
	return a.rounds(s, w, nil, func(h *flow) (end, after *flow) {
		yes, no := a.condition(s.Cond, h)
		return a.block(s.Body, yes), no
	})
}

// load binds the names of another file.
func (a *analysis) load(s *syntax.LoadStmt, w *flow) {
	other := a.byFile[a.file.Loads[s.ModuleName()]]
	for i, to := range s.To {
		t := unknown
		if other != nil {
			t = Type{}
			if g := other.globals[s.From[i].Name]; g != nil {
				t = *a.cell(g.First)
			}
		}
		a.bind(to, t, w)
	}
}

// define makes a closure of a def or a lambda.
func (a *analysis) define(n syntax.Node, decl *resolve.Function, w *flow) Type {
	f := a.fns[n]
	if f == nil {
		o := a.object(function, n, nil)
		size := len(decl.Params)
		for _, p := range decl.Params {
			if u, ok := p.(*syntax.UnaryExpr); ok && u.X == nil {
				size--
			}
		}
		f = &fn{file: a.file, node: n, decl: decl, outer: a.fn, params: make([]Type, size), defaults: make([]Type, size), object: o, region: &region{}}
		f.caught = a.caught > 0
		o.fn = f
		a.fns[n] = f
	}
	for _, p := range decl.Params {
		if b, ok := p.(*syntax.BinaryExpr); ok {
			t := a.expr(b.Y, w)
			a.grow(f.region, &f.defaults[a.parameter(b.X)], t)
		}
	}
	a.unmade(f)
	return made(f.object)
}

// parameter is the slot of a parameter.
func (a *analysis) parameter(id syntax.Expr) int {
	return id.(*syntax.Ident).Binding.(*resolve.Binding).Index
}

// assignment goes over x = y and x += y.
func (a *analysis) assignment(s *syntax.AssignStmt, w *flow) {
	if s.Op == syntax.EQ {
		t := a.expr(s.RHS, w)
		if onlyKind(t, boolean) {
			a.look(s.RHS, w)
		}
		a.nothingKept(s, t, w)
		a.alias(s.LHS, s.RHS)
		if id, ok := way.Unparen(s.LHS).(*syntax.Ident); ok && a.saying && a.depth == 0 {
			a.values[id] = s.RHS
		}
		a.assign(s.LHS, t, w)
		return
	}
	x := a.expr(s.LHS, w)
	y := a.expr(s.RHS, w)
	t := a.augmented(s, x, y, w)
	switch lhs := way.Unparen(s.LHS).(type) {
	case *syntax.Ident:
		a.bind(lhs, t, w)
		a.wrote(lhs, t)
	case *syntax.IndexExpr:
		x, k := a.quietly(lhs.X, w), a.quietly(lhs.Y, w)
		a.reads = true
		a.store(lhs, x, k, t, w)
		a.reads = false
	case *syntax.DotExpr:
		a.setField(lhs, a.quietly(lhs.X, w), t)
	}
}

// quietly evaluates an expression a second time, without saying anything.
func (a *analysis) quietly(e syntax.Expr, w *flow) Type {
	defer func(saying bool) { a.saying = saying }(a.saying)
	a.saying = false
	return a.expr(e, w.clone())
}

// assign gives what stands on a left side a value.
func (a *analysis) assign(lhs syntax.Expr, t Type, w *flow) {
	switch lhs := way.Unparen(lhs).(type) {
	case *syntax.Ident:
		a.bind(lhs, t, w)
		a.wrote(lhs, t)
	case *syntax.TupleExpr:
		a.unpack(lhs, lhs.List, t, w)
	case *syntax.ListExpr:
		a.unpack(lhs, lhs.List, t, w)
	case *syntax.IndexExpr:
		x, k := a.expr(lhs.X, w), a.expr(lhs.Y, w)
		a.store(lhs, x, k, t, w)
	case *syntax.DotExpr:
		a.setField(lhs, a.expr(lhs.X, w), t)
	}
}

// wrote notes where a variable is given a value.
func (a *analysis) wrote(id *syntax.Ident, t Type) {
	if v := way.Variable(id); a.saying && v != nil && a.depth == 0 {
		a.writes[v] = append(a.writes[v], id)
		a.given[id], a.inFile[id] = join(a.given[id], t), a.file
	}
}

// unpack gives the parts of a value to several names.
func (a *analysis) unpack(lhs syntax.Expr, parts []syntax.Expr, t Type, w *flow) {
	types := make([]Type, len(parts))
	fits := t.any
	for _, at := range t.atoms {
		if at.misses(len(parts)) {
			continue
		}
		if at.obj != nil && len(at.obj.parts()) == len(parts) {
			for i, part := range at.obj.parts() {
				types[i] = join(types[i], part)
			}
			fits = true
			continue
		}
		elem, ok := at.through()
		if !ok {
			continue
		}
		fits = true
		for i := range parts {
			types[i] = join(types[i], elem)
		}
	}
	if !fits && t.known() {
		a.cannotUnpack(lhs, len(parts), t)
	} else if onlyKind(t, dict) && len(a.loops)+a.clauses == 0 {
		a.unpacksKeys(lhs)
	}
	for i, p := range parts {
		if t.any {
			types[i] = join(types[i], unknown)
		}
		a.assign(p, types[i], w)
	}
}

// store is x[k] = t.
func (a *analysis) store(e *syntax.IndexExpr, x, k, t Type, w *flow) {
	a.lost(e.X, e, w)
	w.forget(indexed)
	if x.any {
		a.lend(k)
		a.lend(t)
	}
	fits := x.any
	for _, at := range x.atoms {
		switch at.kind {
		case list:
			fits = fits || k.any || k.has(integer) || k.empty()
			a.put(at.obj, t)
			a.set(&at.obj.gains)
		case dict:
			fits = fits || k.any || k.empty() || hashable(k)
			a.enter(at.obj, k, t, e)
		case opaque, iterable:
			fits = true
		}
	}
	if !fits && x.known() {
		a.cannotStore(e, x, k)
		return
	}
	a.changes(e, x, "item assignment")
	a.disturbed(e, e.X)
}

// setField is x.name = t: nothing of ours has fields that can be set.
func (a *analysis) setField(e *syntax.DotExpr, x, t Type) {
	a.lend(t)
	if x.known() && !x.has(opaque) && !x.has(module) {
		a.cannotSet(e, x)
	}
}

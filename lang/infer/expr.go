package infer

import (
	"math/big"
	"strconv"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/doc"
	"starling/lang/effect"
	"starling/lang/way"
)

// expr is the type of an expression. Each is gone over once in a pass.
func (a *analysis) expr(e syntax.Expr, w *flow) Type {
	t := a.evaluate(e, w)
	if a.seen != nil && a.saying {
		a.seen[e] = join(a.seen[e], t)
	}
	for _, at := range t.atoms {
		if at.obj != nil {
			a.touch(at.obj.home)
			if at.obj.fn != nil {
				a.touch(at.obj.fn.region)
			}
		}
	}
	return t
}

func (a *analysis) evaluate(e syntax.Expr, w *flow) Type {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return a.expr(e.X, w)
	case *syntax.Ident:
		return a.ident(e, w)
	case *syntax.Literal:
		return literal(e).turned(said, a.origins())
	case *syntax.ListExpr:
		return a.display(list, e, e.List, w)
	case *syntax.TupleExpr:
		return a.tuple(e, e.List, w)
	case *syntax.DictExpr:
		return a.dict(e, w)
	case *syntax.Comprehension:
		return a.comprehension(e, w)
	case *syntax.LambdaExpr:
		return a.define(e, e.Function.(*resolve.Function), w)
	case *syntax.CallExpr:
		return a.call(e, w)
	case *syntax.DotExpr:
		return a.recall(e, a.dot(e, a.expr(e.X, w)), w)
	case *syntax.IndexExpr:
		x := a.expr(e.X, w)
		a.untypedReply(e, w)
		return a.recall(e, a.index(e, x, a.expr(e.Y, w)), w)
	case *syntax.SliceExpr:
		return a.slice(e, w)
	case *syntax.CondExpr:
		yes, no := a.conditionOf(e, e.Cond, way.Shows(e), w)
		t, f := a.reached(e.True, yes), a.reached(e.False, no)
		if a.saying && a.depth == 0 {
			a.arms[e.True], a.arms[e.False] = join(a.arms[e.True], t), join(a.arms[e.False], f)
		}
		return join(t, f)
	case *syntax.UnaryExpr:
		return a.unary(e, w)
	case *syntax.BinaryExpr:
		return a.binaryExpr(e, w)
	}
	return unknown
}

// reached is the type of an expression, empty where it is not reached.
func (a *analysis) reached(e syntax.Expr, w *flow) Type {
	if w.dead {
		return Type{}
	}
	return a.expr(e, w)
}

// origins is the origin of what stands in the text that is gone over.
func (a *analysis) origins() origin {
	if a.fn == nil {
		return tunable
	}
	return spelt
}

func literal(e *syntax.Literal) Type {
	switch v := e.Value.(type) {
	case string:
		if e.Token == syntax.BYTES {
			return anyBytes
		}
		return exactly(text, v)
	case int64:
		return exactly(integer, strconv.FormatInt(v, 10))
	case *big.Int:
		return exactly(integer, v.String())
	case float64:
		return anyFloat
	}
	return unknown
}

// ident is what a name stands for.
func (a *analysis) ident(id *syntax.Ident, w *flow) Type {
	b, ok := id.Binding.(*resolve.Binding)
	if !ok {
		return unknown
	}
	switch b.Scope {
	case resolve.Predeclared, resolve.Universal:
		return a.predeclared(id.Name)
	}
	if i, ok := a.slot(b); ok {
		return w.vars[i]
	}
	if i := w.fact(b.First, ""); i >= 0 {
		return w.facts[i].typ
	}
	a.touch(a.file.region)
	for f := a.fn; f != nil; f = f.outer {
		a.touch(f.region)
	}
	return *a.cell(b.First)
}

// fact finds what is known of a path, -1 for nothing.
func (w *flow) fact(root *syntax.Ident, path string) int {
	for i, f := range w.facts {
		if f.root == root && f.path == path {
			return i
		}
	}
	return -1
}

// recall is the type of a path: what a condition has said of it, if one has.
func (a *analysis) recall(e syntax.Expr, t Type, w *flow) Type {
	root, path := way.Path(e)
	if root == nil {
		return t
	}
	if i := w.fact(root, path); i >= 0 {
		return w.facts[i].typ
	}
	return t
}

// indexed are facts of what may be changed by whoever has it.
func indexed(f fact) bool {
	for i := range len(f.path) {
		if f.path[i] == '[' {
			return true
		}
	}
	return false
}

// predeclared is the type of a name that the environment or the language defines.
func (a *analysis) predeclared(name string) Type {
	switch name {
	case "None":
		return noneType
	case "True", "False":
		return exactly(boolean, name).turned(said, a.origins())
	}
	v, ok := a.world.Names[name]
	if !ok {
		v, ok = starlark.Universe[name]
	}
	if !ok {
		return a.unnamed(name)
	}
	return a.valued(name, v)
}

// unnamed is the type of args, the inputs of a script without main, and of what nobody knows.
func (a *analysis) unnamed(name string) Type {
	if name == "args" && a.file.entry {
		if c := a.declaredInputs(); c != nil {
			return a.shaped(a.shapeOf(c), a.file.Tree, "it is an input")
		}
	}
	return unknown
}

// valued is the type of a value of the environment.
func (a *analysis) valued(path string, v starlark.Value) Type {
	switch v := v.(type) {
	case *effect.Builtin:
		return made(a.standing(builtin, path, v))
	case *starlarkstruct.Module:
		return made(a.standing(module, path, v))
	case starlark.Callable:
		if doc.Declared(path) != nil {
			return made(a.standing(builtin, path, v))
		}
	case starlark.Float:
		return anyFloat
	case starlark.Int:
		return anyInt
	case starlark.String:
		return anyText
	case starlark.Bool:
		return anyBool
	}
	return unknown
}

// standing is the object of a builtin or a module.
func (a *analysis) standing(k kind, path string, v starlark.Value) *object {
	o := a.object(k, nil, path)
	o.path, o.value = path, v
	return o
}

// display is a list of the expressions.
func (a *analysis) display(k kind, e syntax.Expr, elems []syntax.Expr, w *flow) Type {
	o := a.object(k, e, nil)
	o.sized = len(elems) <= mostPlaces
	for i, x := range elems {
		t := a.expr(x, w)
		a.put(o, t)
		a.placed(o, i, t)
	}
	return made(o)
}

func (a *analysis) tuple(e syntax.Node, elems []syntax.Expr, w *flow) Type {
	items := make([]Type, len(elems))
	for i, x := range elems {
		items[i] = a.expr(x, w)
	}
	return a.tupleOf(e, nil, items)
}

// tupleOf is a tuple of known length that a node makes.
func (a *analysis) tupleOf(n, part any, items []Type) Type {
	key := place{n, [2]any{"tuple", part}}
	o := a.objects[key]
	if o == nil {
		node, _ := n.(syntax.Node)
		o = a.object(tuple, node, [2]any{"tuple", part})
		o.items = make([]Type, len(items))
	}
	for i, t := range items {
		a.grow(o.home, &o.items[i], t)
		if o.lent {
			a.lend(t)
		}
	}
	return made(o)
}

func (a *analysis) dict(e *syntax.DictExpr, w *flow) Type {
	o := a.object(dict, e, nil)
	for _, x := range e.List {
		entry := x.(*syntax.DictEntry)
		k := a.expr(entry.Key, w)
		v := a.expr(entry.Value, w)
		if at, ok := k.only(); ok && at.kind == text && at.exact {
			a.entry(o, at.lit, v, true, entry)
			continue
		}
		if k.known() && !hashable(k) {
			a.notHashable(entry.Key, k)
		}
		a.enter(o, k, v, entry)
	}
	return made(o)
}

func (a *analysis) comprehension(e *syntax.Comprehension, w *flow) Type {
	inner := w.clone()
	a.clauses++
	defer func() { a.clauses-- }()
	for _, c := range e.Clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			t := a.expr(c.X, inner)
			elem := a.through(c.X, t)
			a.assign(c.Vars, elem, inner)
			if t.known() && elem.empty() && a.barren(t) {
				inner.dead = true
			}
		case *syntax.IfClause:
			inner, _ = a.condition(c.Cond, inner)
		}
		if inner.dead {
			break
		}
	}
	return a.collected(e, inner)
}

// collected is what a comprehension makes.
func (a *analysis) collected(e *syntax.Comprehension, inner *flow) Type {
	entry, isDict := e.Body.(*syntax.DictEntry)
	k := list
	if isDict {
		k = dict
	} else if e.Curly {
		k = set
	}
	o := a.object(k, e, nil)
	if inner.dead {
		return made(o)
	}
	if !isDict {
		t := a.expr(e.Body, inner)
		if k == set && t.known() && !hashable(t) {
			a.notHashable(e.Body, t)
		}
		a.put(o, t)
		return made(o)
	}
	key := a.expr(entry.Key, inner)
	if key.known() && !hashable(key) {
		a.notHashable(entry.Key, key)
	}
	a.enter(o, key, a.expr(entry.Value, inner), entry)
	return made(o)
}

// condition is what is known where an expression is true, and where it is not.
func (a *analysis) condition(e syntax.Expr, w *flow) (yes, no *flow) {
	a.alwaysTrue(e, w)
	_, yes, no = a.decide(e, w)
	return yes, no
}

// decide is condition with the type of the expression.
func (a *analysis) decide(e syntax.Expr, w *flow) (t Type, yes, no *flow) {
	switch e := way.Unparen(e).(type) {
	case *syntax.UnaryExpr:
		if e.Op == syntax.NOT {
			_, no, yes = a.decide(e.X, w)
			return boolOf(yes, no), yes, no
		}
	case *syntax.BinaryExpr:
		if e.Op == syntax.AND {
			x, first, no := a.decide(e.X, w)
			y, yes, second := a.decideIf(e.Y, first)
			return join(x.falsy(), y), yes, merge(no, second)
		}
		if e.Op == syntax.OR {
			x, yes, first := a.decide(e.X, w)
			y, second, no := a.decideIf(e.Y, first)
			return join(x.truthy(), y), merge(yes, second), no
		}
	}
	t = a.expr(e, w)
	a.truth(e, t)
	yes, no = a.narrowed(e, t, w)
	return t, yes, no
}

// boolOf is the bool that a condition has.
func boolOf(yes, no *flow) Type {
	var t Type
	if !yes.dead {
		t = exactly(boolean, "True")
	}
	if !no.dead {
		t = join(t, exactly(boolean, "False"))
	}
	return t
}

func (a *analysis) decideIf(e syntax.Expr, w *flow) (t Type, yes, no *flow) {
	if w.dead {
		return Type{}, w, w
	}
	return a.decide(e, w)
}

// dot is x.name.
func (a *analysis) dot(e *syntax.DotExpr, x Type) Type {
	if x.any && len(x.atoms) == 0 {
		a.hidden(e)
	}
	t, missing := Type{any: x.any}, 0
	for _, at := range x.atoms {
		u, ok := a.attribute(e, at, e.Name.Name)
		if !ok {
			missing++
		}
		t = join(t, u)
	}
	if missing > 0 && missing == len(x.atoms) && !x.any {
		a.noAttribute(e, x)
	} else if missing > 0 {
		a.perhaps(e.X, x, "."+e.Name.Name)
	}
	return t
}

// attribute is the field or method of an atom, false if it has none of the name.
func (a *analysis) attribute(n syntax.Node, at atom, name string) (Type, bool) {
	if !at.closed() {
		return unknown, true
	}
	if !at.has(name) {
		return Type{}, false
	}
	switch at.kind {
	case module:
		return a.member(at.obj, name), true
	case record:
		return a.recordField(n, at.obj, name), true
	case shape:
		if name == "schema" {
			return unknown, true
		}
	}
	o := a.object(method, n, [2]any{at.kind, name})
	o.name, o.path = name, kindNames[at.kind]+"."+name
	a.grow(o.home, &o.recv, of(at))
	return made(o), true
}

// member is what a module has under a name.
func (a *analysis) member(o *object, name string) Type {
	m, ok := o.value.(*starlarkstruct.Module)
	if !ok {
		return unknown
	}
	return a.valued(o.path+"."+name, m.Members[name])
}

// index is x[y].
func (a *analysis) index(e *syntax.IndexExpr, x, y Type) Type {
	t, fits := Type{any: x.any}, x.any
	var why string
	for _, at := range x.atoms {
		u, wrong := a.indexAtom(e, at, y)
		if wrong == "" {
			fits = true
			t = join(t, a.from(at.obj, u))
		} else {
			why = wrong
		}
	}
	a.outOfRange(e, x, y)
	a.neverFilled(e, x)
	a.lacking(e, x, y)
	a.absent(e, x, y)
	a.notPushed(e, x, y)
	if at, ok := x.only(); ok && y.has(none) && len(y.atoms) > 1 && at.kind == dict && !at.obj.lent && at.obj.keys().known() && !at.obj.keys().has(none) {
		a.perhaps(e.Y, y, "[ ], and there is no key None")
	}
	switch {
	case !fits && x.known() && !y.empty():
		a.cannotIndex(e, x, y, why)
	case x.has(none) && (x.any || len(x.atoms) > 1):
		a.perhaps(e.X, x, "["+y.brief()+"]")
	}
	return t
}

// indexAtom is what an index gives, or in a word why there is none for certain.
func (a *analysis) indexAtom(e *syntax.IndexExpr, at atom, y Type) (t Type, wrong string) {
	switch at.kind {
	case dict:
		return a.lookup(at.obj, y)
	case opaque:
		return unknown, ""
	case text, octets, list, tuple, ranging, iterable:
		if y.known() && !y.has(integer) {
			return Type{}, "index"
		}
	default:
		return Type{}, "none"
	}
	switch at.kind {
	case text:
		return anyText, ""
	case octets, ranging:
		return anyInt, ""
	case iterable:
		return at.obj.elements(), ""
	}
	return item(at.obj, y)
}

// item is an element of a list or a tuple. An index that is out of range is certain to fail for a
// tuple alone; see outOfRange.
func item(o *object, y Type) (t Type, wrong string) {
	i, ok := y.only()
	parts := o.parts()
	if parts == nil || !ok || !i.exact || i.kind != integer {
		return o.elements(), ""
	}
	n, err := strconv.Atoi(i.lit)
	if n < 0 {
		n += len(parts)
	}
	switch {
	case err == nil && n >= 0 && n < len(parts):
		return parts[n], ""
	case o.kind == list:
		return o.elements(), ""
	}
	return Type{}, "range"
}

// lookup is what a dict has under a key.
func (a *analysis) lookup(o *object, y Type) (t Type, wrong string) {
	if y.known() && !hashable(y) {
		return Type{}, "hash"
	}
	at, ok := y.only()
	if o.lacksAll(y) {
		return Type{}, "key"
	}
	if !ok || !at.exact || at.kind != text {
		if keys := o.keys(); ok && !o.lent && keys.known() && !keys.empty() && !mayEqual(at, keys) {
			return Type{}, "kind"
		}
		return o.values(), ""
	}
	t, _ = o.under(at.lit)
	return t, ""
}

// lacksAll tells whether a dict has no key that a type may be.
func (o *object) lacksAll(y Type) bool {
	for _, s := range exacts(y) {
		if _, there := o.under(s); there {
			return false
		}
	}
	return y.known() && len(y.atoms) > 0 && len(exacts(y)) == len(y.atoms)
}

func (a *analysis) slice(e *syntax.SliceExpr, w *flow) Type {
	x := a.expr(e.X, w)
	for _, part := range []syntax.Expr{e.Lo, e.Hi, e.Step} {
		if part == nil {
			continue
		}
		if t := a.expr(part, w); t.known() && !t.has(integer) && !t.has(none) {
			a.badSlice(part, t)
		}
	}
	t, fits := Type{any: x.any}, x.any
	for _, at := range x.atoms {
		switch at.kind {
		case text, octets, ranging, opaque, module:
			if at.kind == text {
				at = atom{kind: text}
			}
			t = join(t, of(at))
		case list, tuple, iterable:
			o := a.object(at.kind, e, at.kind)
			a.put(o, at.obj.elements())
			t = join(t, made(o))
		default:
			continue
		}
		fits = true
	}
	if t.has(opaque) || t.has(module) {
		t = join(t, unknown)
	}
	if !fits && x.known() {
		a.cannotSlice(e, x)
	} else if x.has(none) {
		a.perhaps(e.X, x, "[:]")
	}
	return t
}

// through is what going through an expression gives, element by element.
func (a *analysis) through(e syntax.Expr, t Type) Type {
	out, fits := Type{any: t.any}, t.any
	for _, at := range t.atoms {
		u, ok := at.through()
		fits = fits || ok
		out = join(out, a.from(at.obj, u))
	}
	if !fits && t.known() {
		a.cannotIterate(e, t)
	} else if t.has(none) && fits {
		a.perhaps(e, t, "for")
	}
	return out
}

// through is what going through an atom gives, false if that cannot be.
func (at atom) through() (Type, bool) {
	switch at.kind {
	case list, dict, set, tuple, iterable:
		return at.obj.elements(), true
	case ranging, endless, octets:
		return anyInt, at.kind != octets
	case opaque, module:
		return unknown, true
	}
	return Type{}, false
}

// hashable tells whether a value of the type may be a key.
func hashable(t Type) bool {
	if t.any || t.empty() {
		return true
	}
	for _, at := range t.atoms {
		switch at.kind {
		case list, dict, set, shape, record, iterable, ranging:
		case tuple:
			ok := true
			for _, i := range at.obj.items {
				ok = ok && hashable(i)
			}
			if ok {
				return true
			}
		default:
			return true
		}
	}
	return false
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// declaredInputs is the contract of inputs = contract("…"), nil without one.
func (a *analysis) declaredInputs() *contract.Contract {
	u := a.file
	if u.inputs != nil {
		return u.inputs
	}
	for _, s := range u.Tree.Stmts {
		assign, ok := s.(*syntax.AssignStmt)
		if !ok {
			continue
		}
		id, ok := way.Unparen(assign.LHS).(*syntax.Ident)
		call, isCall := way.Unparen(assign.RHS).(*syntax.CallExpr)
		if ok && isCall && id.Name == "inputs" && len(call.Args) == 1 {
			u.inputs = a.parsed(call.Args[0])
		}
	}
	return u.inputs
}

// parsed is the contract of a constant text, nil if it is none.
func (a *analysis) parsed(e syntax.Expr) *contract.Contract {
	if c, known := a.sources[e]; known {
		return c
	}
	var c *contract.Contract
	if text, ok := way.Constant(a.file.Tree, e); ok {
		c, _ = contract.Parse(a.file.Name, text)
	}
	a.sources[e] = c
	return c
}

func (a *analysis) shapeOf(c *contract.Contract) *contract.Shape {
	if a.shapes[c] == nil {
		a.shapes[c] = c.Shape()
	}
	return a.shapes[c]
}

package infer

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/doc"
	"starling/lang/effect"
	"starling/lang/way"
)

// argument is one argument of a call.
type argument struct {
	typ  Type
	node syntax.Expr // nil for what a builtin passes on
}

// arguments are those of a call.
type arguments struct {
	call   *syntax.CallExpr
	list   []argument
	named  map[string]argument
	order  []string
	star   *Type    // elements of *args
	others *Type    // the dict of **kwargs
	either bool     // what is called is one of several
	spread []string // the names that a dict behind ** has
	twice  []doubled
}

// doubled is a name that a call gives a value, and that a dict behind ** has as well.
type doubled struct {
	name string
	dict argument
}

// loose tells whether what is passed is known only in part.
func (g *arguments) loose() bool { return g.star != nil || g.others != nil }

// all lists the types of everything that is passed.
func (g *arguments) all() []Type {
	var types []Type
	for _, x := range g.list {
		types = append(types, x.typ)
	}
	for _, k := range g.order {
		types = append(types, g.named[k].typ)
	}
	if g.star != nil {
		types = append(types, *g.star)
	}
	if g.others != nil {
		types = append(types, *g.others)
	}
	return types
}

func (a *analysis) call(e *syntax.CallExpr, w *flow) Type {
	f := a.expr(e.Fn, w)
	if way.Names(e.Fn, "attempt") {
		a.caught++
		defer func() { a.caught-- }()
	}
	g := a.arguments(e, w)
	if way.Names(e.Fn, "bool") {
		a.look(e, w)
	}
	g.either = f.any || len(f.atoms) > 1
	a.repeated(f, g)
	a.suitsCall(f, g)
	out := Type{any: f.any}
	if f.any {
		for _, t := range g.all() {
			a.lend(t)
		}
	}
	returns, fits := f.any || f.empty(), f.any || f.empty()
	for _, at := range f.atoms {
		t, ok, back := a.apply(at, g, w)
		out, fits, returns = join(out, t), fits || ok, returns || back
	}
	if !fits {
		a.notCallable(e, f)
		return Type{}
	}
	if f.has(none) && len(f.atoms) > 1 {
		a.perhaps(e.Fn, f, "()")
	}
	if !pure(f) {
		w.forget(indexed)
	}
	if !returns {
		w.dead = true
	}
	return out
}

// pure tells whether a call changes nothing that a path can lead to.
func pure(f Type) bool {
	if f.any {
		return false
	}
	for _, at := range f.atoms {
		switch at.kind {
		case builtin:
			if b, ok := at.obj.value.(*effect.Builtin); ok && b.Class != effect.Pure {
				return false
			}
			switch at.obj.path {
			case "attempt", "parallel", "budget", "sorted", "min", "max":
				return false
			}
		case method:
			switch at.obj.path {
			case "dict.get", "dict.items", "dict.keys", "dict.values", "list.index":
				continue
			}
			for _, r := range at.obj.recv.atoms {
				if r.kind != text && r.kind != shape {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

func (a *analysis) arguments(e *syntax.CallExpr, w *flow) *arguments {
	g := &arguments{call: e}
	for _, x := range e.Args {
		switch x := x.(type) {
		case *syntax.BinaryExpr:
			if id, ok := x.X.(*syntax.Ident); ok && x.Op == syntax.EQ {
				g.name(id.Name, argument{a.expr(x.Y, w), x.Y})
				continue
			}
			g.list = append(g.list, argument{a.expr(x, w), x})
		case *syntax.UnaryExpr:
			switch x.Op {
			case syntax.STAR:
				t := a.through(x.X, a.expr(x.X, w))
				g.star = &t
			case syntax.STARSTAR:
				t := a.expr(x.X, w)
				// Of one that stands in the call the checks of the text speak.
				_, written := way.Unparen(x.X).(*syntax.DictExpr)
				if !written {
					g.doubles(t, x.X)
				}
				if written || !g.spreads(t, x.X) {
					g.others = &t
				}
			default:
				g.list = append(g.list, argument{a.expr(x, w), x})
			}
		default:
			g.list = append(g.list, argument{a.expr(x, w), x})
		}
	}
	return g
}

// doubles notes what a dict behind ** has for certain and the call has given already.
func (g *arguments) doubles(t Type, at syntax.Expr) {
	d, ok := t.only()
	if !ok || d.kind != dict || d.obj.lent || d.obj.loses {
		return
	}
	for _, k := range d.obj.order {
		if _, given := g.named[k]; given && d.obj.fields[k].must {
			g.twice = append(g.twice, doubled{k, argument{t, at}})
		}
	}
}

// spreads passes what a dict behind ** has, where that is known for certain.
func (g *arguments) spreads(t Type, at syntax.Expr) bool {
	d, ok := t.only()
	if !ok || d.kind != dict || d.obj.lent || d.obj.loses || d.obj.shaped != nil || !d.obj.key.empty() {
		return false
	}
	for _, k := range d.obj.order {
		if !d.obj.fields[k].must {
			return false
		}
	}
	for _, k := range d.obj.order {
		g.name(k, argument{d.obj.fields[k].typ, at})
	}
	g.spread = d.obj.order
	return true
}

func (g *arguments) name(name string, x argument) {
	if _, there := g.named[name]; !there {
		g.order = append(g.order, name)
	}
	if g.named == nil {
		g.named = map[string]argument{}
	}
	g.named[name] = x
}

// apply calls an atom: what it gives, whether it can be called, and whether it comes back.
func (a *analysis) apply(at atom, g *arguments, w *flow) (t Type, ok, returns bool) {
	switch at.kind {
	case function:
		f := at.obj.fn
		a.enterWith(f, g)
		a.calledFrom(f, g)
		a.visit(f)
		a.remember(f, g)
		return f.result, true, f.returns
	case builtin:
		return a.builtin(at.obj, g, w)
	case method:
		return a.method(at.obj, g), true, true
	case opaque, module:
		if at.kind == module && !calls(at.obj) {
			break
		}
		for _, t := range g.all() {
			a.lend(t)
		}
		return unknown, true, true
	}
	return Type{}, false, false
}

// calls tells whether a module may be called.
func calls(o *object) bool {
	_, ok := o.value.(starlark.Callable)
	return ok || o.value == nil
}

// enterWith gives a function its arguments.
func (a *analysis) enterWith(f *fn, g *arguments) {
	a.called(f)
	a.early(f)
	for i, t := range a.passed(f, g) {
		a.grow(f.region, &f.params[i], t)
		a.grow(f.region, &f.params[i], f.defaults[i]) // also where every call gives another
	}
}

// passed is what a call gives each parameter of a function, by slot.
func (a *analysis) passed(f *fn, g *arguments) []Type {
	types := make([]Type, len(f.params))
	place := 0
	for _, p := range f.decl.Params {
		switch p := p.(type) {
		case *syntax.Ident:
			if a.keywordOnly(f, p) {
				types[a.parameter(p)] = a.fill(f, p, -1, g, false)
				continue
			}
			types[a.parameter(p)] = a.fill(f, p, place, g, false)
			place++
		case *syntax.BinaryExpr:
			id := p.X.(*syntax.Ident)
			if a.keywordOnly(f, id) {
				types[a.parameter(id)] = a.fill(f, id, -1, g, true)
				continue
			}
			types[a.parameter(id)] = a.fill(f, id, place, g, true)
			place++
		case *syntax.UnaryExpr:
			if p.X != nil {
				types[a.parameter(p.X)] = a.gather(f, p, place, g)
			}
		}
	}
	for i := range types {
		types[i] = a.hand(types[i])
	}
	return types
}

// hand is what a parameter is given: today's callers say what it is, and others may say otherwise.
func (a *analysis) hand(t Type) Type {
	for _, at := range t.atoms {
		if at.obj != nil && !at.obj.handed && at.kind != none && at.kind != function {
			a.set(&at.obj.handed)
		}
	}
	return t.turned(spelt, tunable)
}

// from is what is read of an object, in a function that was given it maybe.
func (a *analysis) from(o *object, t Type) Type {
	if o == nil || !o.handed || o.home == a.here() {
		return t
	}
	return a.hand(t)
}

// keywordOnly tells whether a parameter stands behind * or *args.
func (a *analysis) keywordOnly(f *fn, id *syntax.Ident) bool {
	for _, p := range f.decl.Params {
		switch p := p.(type) {
		case *syntax.UnaryExpr:
			if p.Op == syntax.STAR {
				return true
			}
		case *syntax.BinaryExpr:
			if p.X == id {
				return false
			}
		case *syntax.Ident:
			if p == id {
				return false
			}
		}
	}
	return false
}

// fill is what one parameter is given: its argument, or its default.
func (a *analysis) fill(f *fn, id *syntax.Ident, place int, g *arguments, optional bool) Type {
	if x, ok := g.argument(id.Name, place); ok {
		return x.typ
	}
	var t Type
	if g.star != nil && place >= 0 {
		t = *g.star
	}
	if g.others != nil {
		t = join(t, underName(*g.others, id.Name))
	}
	if optional {
		t = join(t, f.defaults[a.parameter(id)])
	}
	return t
}

// argument is what is passed for a parameter by place or by name; place is -1 for one that is only
// passed by name.
func (g *arguments) argument(name string, place int) (argument, bool) {
	if place >= 0 && place < len(g.list) {
		return g.list[place], true
	}
	x, ok := g.named[name]
	return x, ok
}

// underName is what **kwargs pass for a name.
func underName(t Type, name string) Type {
	out := Type{any: t.any}
	for _, at := range t.atoms {
		if at.kind == dict {
			u, _ := at.obj.under(name)
			out = join(out, u)
		}
	}
	return out
}

// gather is what *args or **kwargs of a function are given.
func (a *analysis) gather(f *fn, p *syntax.UnaryExpr, place int, g *arguments) Type {
	id := p.X.(*syntax.Ident)
	if p.Op == syntax.STAR {
		o := a.objectIn(f, tuple, id)
		for n := place; n < len(g.list); n++ {
			a.put(o, g.list[n].typ)
		}
		if g.star != nil {
			a.put(o, *g.star)
		}
		return made(o)
	}
	o := a.objectIn(f, dict, id)
	for _, k := range g.order {
		a.entry(o, k, g.named[k].typ, false, g.named[k].node)
	}
	if g.others != nil {
		a.absorbAll(o, *g.others, id)
	}
	return made(o)
}

// objectIn is an object that is made when a function is called.
func (a *analysis) objectIn(f *fn, k kind, id *syntax.Ident) *object {
	o := a.object(k, id, "gathered")
	o.made = false
	return o
}

// invoke calls whatever a type may be with the arguments, as a builtin does; it gives what comes
// of it.
func (a *analysis) invoke(f Type, w *flow, call *syntax.CallExpr, args ...Type) Type {
	g := &arguments{call: call, named: map[string]argument{}}
	for _, t := range args {
		g.list = append(g.list, argument{typ: t})
	}
	return a.invokeWith(f, g, w)
}

func (a *analysis) invokeWith(f Type, g *arguments, w *flow) Type {
	out := Type{any: f.any}
	if f.any {
		for _, t := range g.all() {
			a.lend(t)
		}
	}
	defer func(saying bool) { a.saying = saying }(a.saying)
	a.saying = false // the place is the builtin's
	for _, at := range f.atoms {
		t, _, _ := a.apply(at, g, w)
		out = join(out, t)
	}
	return out
}

// signature is what a builtin declares, nil if it declares nothing.
func signature(o *object) *effect.Builtin {
	if b, ok := o.value.(*effect.Builtin); ok {
		return b
	}
	return doc.Declared(o.path)
}

// bound are the arguments of a builtin by the names of its parameters.
type bound map[string]argument

// bind matches arguments with the parameters of a builtin.
func bind(b *effect.Builtin, g *arguments) bound {
	args := bound{}
	n := 0
	for _, p := range b.Params {
		if p.Variadic || p.Keywords {
			break
		}
		if p.KeywordOnly {
			continue
		}
		if n < len(g.list) {
			args[p.Name] = g.list[n]
		}
		n++
	}
	for _, p := range b.Params {
		if x, ok := g.named[p.Name]; ok && !p.Positional && !p.Variadic {
			args[p.Name] = x
		}
	}
	return args
}

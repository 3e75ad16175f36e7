package infer

import (
	"strconv"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/way"
)

// What a child script gives is inferred with its own program, and passed on: it comes to the parent
// as JSON does, so that the values are new ones, and tuples are lists.

// given is what main of the entry gives, as whoever runs it receives it; unknown where that is not
// known.
func (r *Result) given() Type {
	main := r.main()
	if main == nil || !main.returns {
		return unknown
	}
	return main.result
}

// main is the main of the entry, nil where that is not known.
func (r *Result) main() *fn {
	if r == nil || !r.settled {
		return nil
	}
	entry := r.a.units[len(r.a.units)-1]
	main := entry.globals["main"]
	if main == nil {
		return nil
	}
	at, ok := r.a.cell(main.First).only()
	if !ok || at.kind != function {
		return nil
	}
	return at.obj.fn
}

// runChild is what the main of another script gives.
func (a *analysis) runChild(_ *effect.Builtin, g *arguments, args bound, _ *flow) Type {
	value := unknown
	if child, script := a.child(args); script != "" {
		x, given := args["inputs"]
		switch {
		case given && child.Inputs != nil:
			a.encoded = true
			a.meets(x, a.shapeOf(child.Inputs), "run: the inputs of "+script)
			a.encoded = false
		case !g.loose():
			a.inputsNamed(x, given, child, script, g)
		}
		if !g.loose() {
			value = a.received(child.Types.given(), g.call, script)
		}
	}
	switch at, known := args["on_error"].typ.only(); {
	case g.loose():
		return unknown
	case a.defaulted(args, "on_error", "fail"):
		return value
	case known && at.exact && at.lit == "return":
		return made(a.outcome(g.call, "", value))
	}
	return unknown
}

// inputsNamed: a child is not given an input that it cannot do without, or one that it does not
// have.
func (a *analysis) inputsNamed(x argument, given bool, child Child, script string, g *arguments) {
	at, ok := x.typ.only()
	if given && (!ok || at.kind != dict || at.obj.lent || at.obj.loses || at.obj.textKeys()) || !a.saying {
		return
	}
	names, required, open := child.names(a)
	if names == nil && required == nil {
		return
	}
	n := syntax.Node(g.call.Fn)
	var fields map[string]*field
	if given {
		n, fields = x.node, at.obj.fields
	}
	for _, name := range required {
		if fields[name] == nil {
			a.report("broken_contract", n, nil, diagnostic.Diagnostic{Message: "run: the inputs of " + script, Got: "no " + name, Want: "all that it needs: " + strings.Join(required, ", "),
				Hint: "write run(" + strconv.Quote(script) + ", {" + strconv.Quote(name) + ": …})"})
			return
		}
	}
	for name, f := range fields {
		if f.must && !open && !contains(names, name) {
			a.report("broken_contract", n, nil, diagnostic.Diagnostic{Message: "run: the inputs of " + script, Got: "an input " + name + " that it does not have", Want: oneOf(names),
				Hint: diagnostic.Meant(name, names)})
			return
		}
	}
}

// names are the inputs that a child has, those that it cannot do without, and whether it takes
// others.
func (c Child) names(a *analysis) (all, required []string, open bool) {
	if c.Inputs != nil {
		s := a.shapeOf(c.Inputs)
		for _, m := range s.Members {
			all = append(all, m.Name)
			if m.Required {
				required = append(required, m.Name)
			}
		}
		return all, required, s.Rest != nil
	}
	main := c.Types.main()
	if main == nil {
		return nil, nil, true
	}
	for _, p := range main.decl.Params {
		switch p := p.(type) {
		case *syntax.Ident:
			all, required = append(all, p.Name), append(required, p.Name)
		case *syntax.BinaryExpr:
			all = append(all, p.X.(*syntax.Ident).Name)
		case *syntax.UnaryExpr:
			open = open || p.Op == syntax.STARSTAR
		}
	}
	return all, required, open
}

// child is what is known of a child that is named literally.
func (a *analysis) child(args bound) (child Child, script string) {
	l, ok := way.Unparen(args["script"].node).(*syntax.Literal)
	if !ok || a.file.Child == nil || l.Token != syntax.STRING {
		return Child{}, ""
	}
	script = l.Value.(string)
	child, known := a.file.children[script]
	if !known {
		child = a.file.Child(script)
		if a.file.children == nil {
			a.file.children = map[string]Child{}
		}
		a.file.children[script] = child
	}
	return child, script
}

// received is a type of another program, of values that come from it.
func (a *analysis) received(t Type, at syntax.Node, script string) Type {
	out := Type{any: t.any}
	for _, x := range t.atoms {
		switch x.kind {
		case boolean, integer, float, text:
			out = join(out, of(x))
		case none:
			out = join(out, a.receivedNone(x, at, script))
		case list, tuple, dict, record:
			out = join(out, a.receivedObject(x.obj, at, script))
		default:
			out = join(out, unknown)
		}
	}
	return out
}

// receivedNone is None with why it may be there.
func (a *analysis) receivedNone(x atom, at syntax.Node, script string) Type {
	switch {
	case x.obj == nil:
		return noneType
	case x.obj.why == "falls":
		return noneOf(a.optionalNone(at, nil, "main of "+script+" may end without a return"))
	}
	return noneOf(a.optionalNone(at, nil, x.obj.why))
}

func (a *analysis) receivedObject(from *object, at syntax.Node, script string) Type {
	k := from.kind
	if k == tuple {
		k = list
	}
	if o := a.objects[place{at, from}]; o != nil {
		return made(o) // also within itself
	}
	o := a.object(k, at, from)
	o.form, o.shaped = from.form, from.shaped
	if from.gains || from.loses || from.lent {
		o.shaped = nil
	}
	if k == list {
		a.put(o, a.received(from.elements(), at, script))
		return made(o)
	}
	for _, name := range from.order {
		f := from.fields[name]
		a.entry(o, name, a.received(f.typ, at, script), f.must && !from.loses, nil)
	}
	if k == dict && (from.lent || !from.key.empty()) {
		a.enter(o, from.keys().loose(), a.received(from.values(), at, script), nil)
	}
	return made(o)
}

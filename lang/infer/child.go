package infer

import (
	"go.starlark.net/syntax"

	"starling/lang/effect"
)

// What a child script gives is inferred with its own program, and passed on: it comes to the parent
// as JSON does, so that the values are new ones, and tuples are lists.

// given is what main of the entry gives, as whoever runs it receives it; unknown where that is not
// known.
func (r *Result) given() Type {
	if r == nil || !r.settled {
		return unknown
	}
	entry := r.a.units[len(r.a.units)-1]
	main := entry.globals["main"]
	if main == nil {
		return unknown
	}
	at, ok := r.a.cell(main.First).only()
	if !ok || at.kind != function || !at.obj.fn.returns {
		return unknown
	}
	return at.obj.fn.result
}

// runChild is what the main of another script gives.
func (a *analysis) runChild(_ *effect.Builtin, g *arguments, args bound, _ *flow) Type {
	value := unknown
	if child, script := a.child(args); script != "" {
		if x, given := args["inputs"]; given && child.Inputs != nil {
			a.meets(x, a.shapeOf(child.Inputs), "run: the inputs of "+script)
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

// child is what is known of a child that is named literally.
func (a *analysis) child(args bound) (child Child, script string) {
	l, ok := unparenNode(args["script"].node).(*syntax.Literal)
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

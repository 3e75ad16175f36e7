package infer

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// What a text that stands in the script can be filled with is not worked out here: the machine
// fills it, with values of the kinds that are given.

// exactTexts are the texts that a type can be, nil if one of them is not known.
func exactTexts(t Type) []string {
	if !t.known() {
		return nil
	}
	var list []string
	for _, at := range t.atoms {
		if at.kind != text || !at.exact {
			return nil
		}
		list = append(list, at.lit)
	}
	return list
}

// formats tells whether x % y is certain to fail, with the error, where x is a text of the script.
// What a dict has under a name is not known.
func (a *analysis) formats(e syntax.Node, x, y Type) {
	patterns := exactTexts(x)
	if err := unfillable(patterns); err != nil {
		a.report("bad_operand", e, e, diagnostic.Diagnostic{Message: err.Error(), Hint: "there is no precision: round first, such as math.round(x * 10) / 10, and write %s"})
		return
	}
	if patterns == nil || !y.known() || slices.ContainsFunc(patterns, func(s string) bool { return strings.Contains(s, "%(") }) {
		return
	}
	var err error
	for _, at := range y.atoms {
		values := fillings(at)
		if values == nil {
			return
		}
		for _, v := range values {
			for _, s := range patterns {
				if _, err = starlark.Binary(syntax.PERCENT, starlark.String(s), v); err == nil {
					return
				}
			}
		}
	}
	d := diagnostic.Diagnostic{Message: err.Error(), Hint: "%s takes any value, %d a number; a tuple has one for each: \"%s: %d\" % (name, n)"}
	if onlyKind(y, list) {
		d.Hint = "a list is one value; a tuple has one for each place: \"…\" % (a, b)"
	}
	a.report("bad_operand", e, e, d)
}

// unfillable is why nothing fills any of the texts: each has a precision, which the machine does
// not know. The number 65 fills whatever stands before it.
func unfillable(patterns []string) (err error) {
	for _, s := range patterns {
		numbers := slices.Repeat(starlark.Tuple{starlark.MakeInt(65)}, strings.Count(s, "%"))
		if _, err = starlark.Binary(syntax.PERCENT, starlark.String(s), numbers); err == nil || !strings.Contains(err.Error(), "unknown conversion %.") {
			return nil
		}
	}
	return err
}

// fillings are values that an atom can be when it fills a text, nil if that is not known.
func fillings(at atom) []starlark.Value {
	if at.kind != tuple {
		return alike(at)
	}
	if at.obj.items == nil {
		return nil // of a length that is not known
	}
	all := []starlark.Value{starlark.Tuple{}}
	for _, item := range at.obj.items {
		var longer []starlark.Value
		each := oneEach(item)
		if item.any {
			each = []starlark.Value{starlark.MakeInt(65), starlark.String("a")} // one of the two fits any verb
		}
		for _, v := range each {
			for _, t := range all {
				longer = append(longer, append(slices.Clone(t.(starlark.Tuple)), v))
			}
		}
		if all = longer; len(all) == 0 || len(all) > 64 {
			return nil
		}
	}
	return all
}

// alike are values of the kind of an atom, its own where it is known.
func alike(at atom) []starlark.Value {
	switch {
	case at.kind == text && at.exact:
		return []starlark.Value{starlark.String(at.lit)}
	case at.kind == text:
		return []starlark.Value{starlark.String("a"), starlark.String("ab")} // %c takes one letter
	}
	return samples(at.kind)
}

// oneEach are values of each alternative of a type, nil if it is not known.
func oneEach(t Type) []starlark.Value {
	if !t.known() {
		return nil
	}
	var list []starlark.Value
	for _, at := range t.atoms {
		values := alike(at)
		if values == nil {
			return nil
		}
		list = append(list, values[0])
	}
	return list
}

// filled says what a text cannot be filled with by .format: what is missing does not hang on the
// kinds of what is there.
func (a *analysis) filled(o *object, g *arguments) {
	patterns := exactTexts(o.recv)
	if patterns == nil || g.loose() || g.either {
		return
	}
	args := make(starlark.Tuple, len(g.list))
	for i := range args {
		args[i] = starlark.None
	}
	var named []starlark.Tuple
	for _, k := range g.order {
		named = append(named, starlark.Tuple{starlark.String(k), starlark.None})
	}
	var err error
	for _, s := range patterns {
		if format, _ := starlark.String(s).Attr("format"); format != nil {
			if _, err = starlark.Call(new(starlark.Thread), format, args, named); err == nil {
				return
			}
		}
	}
	hint := "each {} takes the next argument, {name} the one of that name"
	if n := len(args); n > 0 {
		hint += "; there " + counted(n)
	}
	message := err.Error()
	if _, rest, ok := strings.Cut(message, "keyword "); ok {
		name := strings.TrimSuffix(rest, " not found")
		message = "format: the text has {" + name + "}, and nothing is given for it"
		hint = cmp.Or(diagnostic.Meant(name, g.order), "add "+name+" = …")
		if len(g.list) == 1 && onlyKind(g.list[0].typ, dict) {
			hint = "the keys of a dict are passed as names: .format(**" + a.file.briefly(g.list[0].node) + ")"
		}
	}
	a.report("bad_format", g.call, g.call, diagnostic.Diagnostic{Message: message, Hint: hint})
}

func counted(n int) string {
	if n == 1 {
		return "is 1 without a name"
	}
	return "are " + strconv.Itoa(n) + " without a name"
}

// tried calls a conversion with the one text or number that stands in the call: the machine says
// whether it fails.
func (a *analysis) tried(o *object, g *arguments) {
	if len(g.list) != 1 || len(g.order) > 0 || g.loose() || g.either || !a.saying {
		return
	}
	switch o.path {
	case "int", "float":
	default:
		return
	}
	at, ok := g.list[0].typ.only()
	f, callable := o.value.(starlark.Callable)
	if !ok || !at.exact || !callable {
		return
	}
	v := starlark.Value(starlark.String(at.lit))
	if n, isInt := new(big.Int).SetString(at.lit, 10); isInt && at.kind == integer {
		v = starlark.MakeBigInt(n)
	} else if at.kind != text {
		return
	}
	if _, err := starlark.Call(new(starlark.Thread), f, starlark.Tuple{v}, nil); err != nil {
		hint := ""
		if o.path == "int" && quotedNumber(at.lit) {
			hint = "int(float(s)) leaves out the fraction"
		}
		a.report("bad_format", g.list[0].node, g.call, diagnostic.Diagnostic{Message: strings.TrimPrefix(err.Error(), o.path+": "), Hint: hint})
	}
}

// joined says what string.join is given that is no text: certain where it stands in the call.
func (a *analysis) joined(x argument, g *arguments) {
	if g.either || x.node == nil || !x.typ.known() {
		return
	}
	elements := elementsOf(x.typ)
	for _, at := range elements.atoms {
		if at.kind == none && at.obj != nil && at.obj.why != "" && elements.has(text) {
			a.laterOf(at.obj, x.node, "maybe_none", diagnostic.Diagnostic{Message: "string.join: an element of the list may be None", Got: elements.brief(), Want: "string",
				Note: cmp.Or(a.origin(x.node, of(at)), at.obj.why), Hint: "leave these out: [x for x in … if x != None], or give a text on every way"})
		}
	}
	if !elements.known() || elements.has(text) || elements.has(opaque) || elements.has(module) {
		return
	}
	d := diagnostic.Diagnostic{Message: "string.join: an element of the list", Got: elements.brief(), Want: "string", Note: a.origin(x.node, x.typ),
		Hint: "make texts of them: [str(x) for x in …]"}
	if elements.atoms[0].recordOf("Result") {
		d.Hint = "the text of a reply is .text: [x.text for x in …]"
	}
	if list, ok := way.Unparen(x.node).(*syntax.ListExpr); ok && len(list.List) > 0 {
		a.report("bad_type", x.node, g.call, d)
		return
	}
	a.warn("bad_type", x.node, d)
}

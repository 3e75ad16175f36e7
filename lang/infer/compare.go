package infer

import (
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/edit"
	"starling/lang/way"
)

// What is said of comparisons: those that come out the same whatever is compared.

// comparison: x == y can never hold.
func (a *analysis) comparison(e *syntax.BinaryExpr, x, y Type) {
	if orders(e.Op) && (x.any || x.has(text)) && (y.any || y.has(text)) && !a.alphabetic(e, x) {
		a.alphabetic(e, y)
	}
	if !x.known() || !y.known() {
		return
	}
	switch e.Op {
	case syntax.EQL, syntax.NEQ:
	case syntax.IN, syntax.NOT_IN:
		a.membership(e, x, y)
		return
	case syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		a.ordering(e, x, y)
		return
	default:
		return
	}
	if a.uncalled(e, e.X, x, y) || a.uncalled(e, e.Y, y, x) {
		return
	}
	if x.unchosen() && onlyKind(y, none) {
		d := diagnostic.Diagnostic{Message: "this is always true: " + freeForm, Note: a.origin(e.X, x), Hint: freeFormHint}
		if e.Op == syntax.NEQ {
			d.Message = "this is never true: " + freeForm
		}
		a.warn("never_equal", e, d)
		return
	}
	if e.Op == syntax.NEQ && onlyKind(y, none) {
		return // who makes sure is not wrong
	}
	for _, at := range append(slices.Clone(x.atoms), y.atoms...) {
		if callable(at) {
			return // nobody takes a function for something else by mistake, but in a test
		}
	}
	for _, at := range x.open(y).atoms {
		if mayEqual(at, y.open(x)) {
			return
		}
	}
	if _, isLit := way.Unparen(e.X).(*syntax.Literal); isLit {
		if _, both := way.Unparen(e.Y).(*syntax.Literal); both {
			return
		}
	}
	a.never(e, e.X, x, y, "these are never equal")
}

// alphabetic: words that a contract lists are compared by their letters, and stand there in another
// order. It tells whether that is said.
func (a *analysis) alphabetic(at syntax.Node, t Type) bool {
	words := exacts(t)
	if !t.known() || len(words) < 2 || slices.IsSorted(words) || !a.saying {
		return false
	}
	for _, at := range t.atoms {
		if at.kind == text && at.from != said || len([]rune(at.lit)) == 1 {
			return false
		}
	}
	const most = 4
	list := `"` + strings.Join(words[:min(most, len(words))], `", "`) + `"`
	if len(words) > most {
		list += ", …"
	}
	a.warn("text_order", at, diagnostic.Diagnostic{Message: "texts are compared by their letters, so that " + quote(slices.Min(words)) + " is the least of these: " + oneOf(words),
		Hint: "compare places: levels = [" + list + "], and then levels.index(a) >= levels.index(b)"})
	return true
}

// open is a type for a comparison with another: a setting of the script may be any text, number or
// bool of its kind, unless it is spelt almost like one of those that there are.
func (t Type) open(other Type) Type {
	var listed []string
	for _, at := range other.atoms {
		if at.exact && at.from == said {
			listed = append(listed, at.lit)
		}
	}
	out := union{all: Type{any: t.any}}
	for _, at := range t.atoms {
		if at.exact && at.from == tunable && (at.kind != text || diagnostic.Meant(at.lit, listed) == "") {
			at = atom{kind: at.kind}
		}
		out.add(of(at))
	}
	return out.all
}

// uncalled: a method is compared with a value, and not what it gives.
func (a *analysis) uncalled(e *syntax.BinaryExpr, side syntax.Expr, x, y Type) bool {
	if len(x.atoms) == 0 || len(y.atoms) == 0 || e.Op != syntax.EQL && e.Op != syntax.NEQ {
		return false
	}
	for _, at := range x.atoms {
		if at.kind != method {
			return false
		}
	}
	for _, at := range y.atoms {
		if callable(at) || at.kind == opaque || at.kind == module {
			return false
		}
	}
	a.warn("never_equal", e, diagnostic.Diagnostic{Message: "a method is compared, and not what it gives", Got: x.brief(), Want: y.brief(),
		Hint: "call it: " + a.file.briefly(side) + "()", Fix: edit.Behind(side, "()")})
	return true
}

// never warns of a comparison whose outcome is known.
func (a *analysis) never(e *syntax.BinaryExpr, subject syntax.Expr, x, y Type, message string) {
	d := diagnostic.Diagnostic{Message: message, Got: y.String(), Want: x.String(), Note: a.origin(subject, x), Hint: neverHint(x, y)}
	if want := exacts(x); want != nil {
		d.Want = oneOf(want)
		if got, ok := y.only(); ok && got.exact && got.kind == text {
			d.Hint, d.Fix = diagnostic.Meant(got.lit, want), edit.RespeltSide(e, want)
		}
	} else if len(x.atoms) > 0 && x.atoms[0].recordOf("Decision") {
		d.Hint, d.Fix = "compare .choice", edit.Behind(subject, ".choice")
	} else if len(x.atoms) > 0 && x.atoms[0].recordOf("Result") {
		d.Hint = "compare .text, or a field of .output"
	}
	a.warn("never_equal", e, d)
}

// neverHint is what to do about a comparison of which the outcome is known.
func neverHint(x, y Type) string {
	for _, pair := range [][2]Type{{x, y}, {y, x}} {
		at, ok := pair[0].only()
		for _, n := range pair[0].atoms {
			if n.kind == none && n.obj != nil && n.obj.why == freeForm {
				return freeForm
			}
		}
		switch {
		case ok && at.exact && at.kind == text && quotedNumber(at.lit) && onlyNumbers(pair[1]):
			return "write " + at.lit + ", without quotes"
		case onlyKind(pair[0], boolean) && onlyKind(pair[1], text):
			return "a bool is True or False, and a condition by itself: if x"
		case ok && at.recordOf("Completed") && onlyNumbers(pair[1]):
			return "compare .code, or ask .ok"
		case ok && at.recordOf("Message") && !pair[1].has(none):
			return "compare .payload: it is what was sent"
		case ok && at.recordOf("Message") && pair[1].has(none):
			return `it is never None: the end of the timeout raises; r = attempt(mailbox.take, …), and then r.ok`
		}
	}
	return ""
}

// exacts are the texts that a type consists of, nil if there are others.
func exacts(t Type) []string {
	var list []string
	for _, at := range t.atoms {
		if at.kind == none {
			continue
		}
		if at.kind != text || !at.exact {
			return nil
		}
		list = append(list, at.lit)
	}
	return list
}

func oneOf(list []string) string {
	var once []string
	for _, s := range list {
		if !contains(once, s) {
			once = append(once, s)
		}
	}
	if list = once; len(list) == 1 {
		return list[0]
	}
	return "one of " + strings.Join(list, ", ")
}

// membership: x in y can never hold.
func (a *analysis) membership(e *syntax.BinaryExpr, x, y Type) {
	a.undeclaredKey(argument{x, e.X}, y, "this comes out the same whatever the reply is")
	var elems Type
	for _, at := range y.atoms {
		t, ok := at.through()
		if !ok || at.obj != nil && (at.obj.lent || at.kind == dict) || t.empty() {
			return
		}
		elems = join(elems, t)
	}
	if !elems.known() || !x.known() {
		return
	}
	for _, at := range x.open(elems).atoms {
		if mayEqual(at, elems.open(x)) {
			a.misspelt(e.Y, x)
			return
		}
	}
	a.never(e, e.X, x, elems, "this is never in there")
}

// misspelt: one of the texts that something is looked for among is none that it can be. Of what a
// condition has ruled some out, it may be one of those, unless it is nearly one that is left.
func (a *analysis) misspelt(among syntax.Expr, x Type) {
	words := exacts(x)
	for _, e := range way.Displayed(among) {
		l, ok := way.Unparen(e).(*syntax.Literal)
		if !ok || l.Token != syntax.STRING || contains(words, l.Value.(string)) {
			continue
		}
		if hint := diagnostic.Meant(l.Value.(string), words); hint != "" || !x.cut && x.declared() {
			a.warn("never_equal", l, diagnostic.Diagnostic{Message: "this is never equal", Got: l.Raw, Want: oneOf(words), Hint: hint, Fix: edit.Respelt(l, words)})
		}
	}
}

// declared tells whether a contract, a gate or a builtin says which texts there are.
func (t Type) declared() bool {
	return exacts(t) != nil && !slices.ContainsFunc(t.atoms, func(at atom) bool { return at.exact && at.from != said })
}

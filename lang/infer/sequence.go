package infer

import (
	"strconv"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// What is known of lists that a display makes and nothing ever makes longer or shorter: how many
// elements they have, and of which kind each is.

// fixed tells whether an object is such a list.
func (o *object) fixed() bool {
	return o.kind == list && (o.sized || o.like != nil && o.like.places != nil && o.like.fixed()) && !o.lent && !o.loses && !o.gains
}

// parts are what stands at each place of a list or tuple of which that is known, nil for any other.
func (o *object) parts() []Type {
	switch {
	case o.kind == tuple && !o.lent:
		return o.items
	case o.fixed():
		return o.places
	}
	return nil
}

// mostPlaces is how many elements of a display are told apart.
const mostPlaces = 32

// placed notes what stands at a place of a display.
func (a *analysis) placed(o *object, i int, t Type) {
	if i >= mostPlaces {
		o.places = nil
		return
	}
	if i >= len(o.places) {
		o.places = append(o.places, Type{})
	}
	a.grow(o.home, &o.places[i], t)
}

// outside tells whether an index is out of the range of a list for certain.
func (o *object) outside(y Type) bool {
	if !o.fixed() {
		return false
	}
	for _, at := range y.atoms {
		n, err := strconv.Atoi(at.lit)
		if !at.exact || at.kind != integer || err != nil || n < len(o.places) && n >= -len(o.places) {
			return false
		}
	}
	return y.known() && len(y.atoms) > 0
}

// outOfRange: every list that x can be is shorter than the index wants. That is certain where the
// list stands there itself; elsewhere a condition may have kept the line from being reached.
func (a *analysis) outOfRange(e *syntax.IndexExpr, x, y Type) {
	if !x.known() || len(x.atoms) == 0 {
		return
	}
	for _, at := range x.atoms {
		if at.kind != list || !at.obj.outside(y) {
			return
		}
	}
	n := len(x.atoms[0].obj.places)
	d := diagnostic.Diagnostic{Message: "the list has " + counting(n, "element") + ", and no [" + y.atoms[0].lit + "]", Note: a.origin(e.X, x)}
	if n > 0 {
		d.Want = "from 0 to " + itoa(n-1)
	}
	if _, here := way.Unparen(e.X).(*syntax.ListExpr); here {
		a.report("bad_index", e, e, d)
		return
	}
	a.later(e, "bad_index", d)
}

func counting(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return itoa(n) + " " + what + "s"
}

// ordered: sorted compares each element with another, and those of different kinds have no order.
func (a *analysis) ordered(x argument, g *arguments) {
	at, ok := x.typ.only()
	if !ok || at.obj == nil || x.node == nil || !at.obj.fixed() {
		return
	}
	first := -1
	for i, t := range at.obj.places {
		switch k := rank(t); {
		case k < 0:
			return
		case first < 0:
			first = i
		case k != rank(at.obj.places[first]):
			d := diagnostic.Diagnostic{Message: "sorted: these have no order", Got: at.obj.places[first].brief() + " and " + t.brief(), Want: "elements of one kind",
				Note: a.origin(x.node, x.typ), Hint: "say by what: sorted(xs, key = str)"}
			a.report("bad_operand", x.node, g.call, d)
			return
		}
	}
}

// rank is the kind of what can be ordered among its like, -1 where that is not known.
func rank(t Type) int {
	if !t.known() || len(t.atoms) == 0 {
		return -1
	}
	rank := -1
	for _, at := range t.atoms {
		k := at.kind
		if k == float {
			k = integer
		}
		if k != integer && k != text && k != boolean || rank >= 0 && rank != int(k) {
			return -1
		}
		rank = int(k)
	}
	return rank
}

// words: the elements of a list that stands in the call must be texts.
func (a *analysis) words(who, param string, x argument, g *arguments) {
	if x.node == nil || g.either {
		return
	}
	at, ok := x.typ.only()
	if !ok || at.obj == nil || len(at.obj.places) != len(way.Displayed(x.node)) {
		return
	}
	if param == "argv" {
		a.oneWord(who, way.Displayed(x.node))
	}
	for i, e := range way.Displayed(x.node) {
		t := at.obj.places[i]
		if !t.known() || t.has(text) || t.has(opaque) || t.has(module) || len(t.atoms) == 0 {
			continue
		}
		d := diagnostic.Diagnostic{Message: who + ": an element of " + param, Got: t.brief(), Want: "string"}
		switch {
		case t.has(list):
			d.Hint = "put both lists together with +"
		case t.has(integer):
			d.Hint = "write str(n)"
		case t.has(boolean):
			d.Hint = "write a text, such as \"yes\" or \"no\""
		}
		a.report("bad_type", e, g.call, d)
	}
}

// oneWord: a whole command stands in the place of the program's name.
func (a *analysis) oneWord(who string, words []syntax.Expr) {
	if len(words) != 1 {
		return
	}
	l, ok := way.Unparen(words[0]).(*syntax.Literal)
	if !ok || l.Token != syntax.STRING {
		return
	}
	parts := strings.Fields(l.Value.(string))
	if len(parts) < 2 || strings.Contains(parts[0], "/") {
		return
	}
	for i, p := range parts {
		parts[i] = strconv.Quote(p)
	}
	a.warn("bad_name", words[0], diagnostic.Diagnostic{Message: who + ": the name of a program has blanks in it", Hint: "each word is a text of its own: [" + strings.Join(parts, ", ") + "]"})
}

// disturbed: what a loop goes through is changed within it, which always fails.
func (a *analysis) disturbed(n syntax.Node, receiver syntax.Expr) {
	id, ok := way.Unparen(receiver).(*syntax.Ident)
	if !ok || !a.saying {
		return
	}
	for _, l := range a.loops {
		if l.through == nil || l.through != way.Variable(id) {
			continue
		}
		what := "list(" + id.Name + ")"
		a.report("frozen", n, n, diagnostic.Diagnostic{Message: id.Name + " cannot be changed while the loop goes through it",
			Hint: "go through a copy: for … in " + what})
		return
	}
}

// wentThrough is the variable that a loop goes through, if that is a list, a dict or a set and the
// loop gives it no other value; nil for anything else.
func (a *analysis) wentThrough(s *syntax.ForStmt, t Type) *syntax.Ident {
	id, ok := way.Unparen(s.X).(*syntax.Ident)
	if !ok || !t.known() || len(t.atoms) == 0 || way.Variable(id) == nil {
		return nil
	}
	for _, at := range t.atoms {
		if at.kind != list && at.kind != dict && at.kind != set {
			return nil
		}
	}
	root, rebound := way.Variable(id), false
	given := func(lhs syntax.Node) {
		syntax.Walk(lhs, func(n syntax.Node) bool {
			if x, ok := n.(*syntax.Ident); ok && way.Variable(x) == root {
				rebound = true
			}
			_, part := n.(*syntax.IndexExpr)
			return !part
		})
	}
	given(s.Vars)
	for _, stmt := range s.Body {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.AssignStmt:
				given(n.LHS)
			case *syntax.ForStmt:
				given(n.Vars)
			case *syntax.DefStmt, *syntax.LambdaExpr:
				return false
			}
			return true
		})
	}
	if rebound {
		return nil
	}
	return root
}

// size is how many elements a value has at least and at most, as far as that is certain.
func (at atom) size() (least, most int) {
	const any = 1 << 30
	o := at.obj
	switch {
	case o == nil || o.lent:
		return 0, any
	case o.kind == tuple && o.items != nil, o.fixed():
		return len(o.parts()), len(o.parts())
	case o.kind == dict && !o.loses && o.key.empty():
		for _, f := range o.fields {
			if f.must {
				least++
			}
		}
		return least, len(o.fields)
	case o.kind == list && o.shaped != nil && !o.gains && !o.loses:
		if s := spanOf(o.shaped); s.bound {
			return int(max(s.low, 0)), int(min(s.high, any))
		}
	}
	return 0, any
}

// misses tells whether a value has another number of elements than n for certain.
func (at atom) misses(n int) bool {
	least, most := at.size()
	return n < least || n > most
}

// sizeOf is the number of elements in words.
func sizeOf(at atom) string {
	least, most := at.size()
	if least == most {
		return itoa(most)
	}
	return itoa(least) + " to " + itoa(most)
}

// comparable says of what is put in order that it has none: dicts, say, or what may be None.
func (a *analysis) comparable(who string, t Type, x argument, g *arguments) {
	if !t.known() || x.node == nil || g.either || !a.saying {
		return
	}
	if who != "sorted" {
		a.alphabetic(x.node, t)
	}
	some := t.filter(func(at atom) bool { return at.kind != none })
	for _, at := range some.atoms {
		if v := a.operated(syntax.LT, at.kind, at.kind); v == nil || len(v) > 0 {
			a.missingOrder(who, t, x)
			return
		}
	}
	d := diagnostic.Diagnostic{Message: who + ": these have no order", Got: t.brief(), Note: a.origin(x.node, x.typ), Hint: `say by what: key = lambda x: x["…"]`}
	if least := leastOf(x.typ); least > 1 {
		a.report("bad_operand", x.node, g.call, d)
		return
	}
	a.warn("bad_operand", x.node, d)
}

// comparableKeys is comparable for what a key gives: parts of a tuple are compared where those
// before them are equal. The pairs of a dict, which have no key, differ in their first.
func (a *analysis) comparableKeys(who string, t Type, x argument, g *arguments) {
	at, ok := t.only()
	if !ok || at.kind != tuple {
		a.comparable(who, t, x, g)
		return
	}
	for _, part := range at.obj.parts() {
		a.comparable(who, part, argument{node: x.node}, g)
	}
}

// leastOf is how many elements every value of a type has at least.
func leastOf(t Type) int {
	if !t.known() {
		return 0
	}
	all := 1 << 30
	for _, at := range t.atoms {
		least, _ := at.size()
		all = min(all, least)
	}
	return all
}

// missingOrder: some of what is put in order may be None, which has no order.
func (a *analysis) missingOrder(who string, t Type, x argument) {
	for _, at := range t.atoms {
		if at.kind == none && at.obj != nil && len(t.atoms) > 1 && at.obj.why != "falls" {
			place := "x or 0"
			if t.has(text) {
				place = `x or ""`
			}
			a.laterOf(at.obj, x.node, "maybe_none", diagnostic.Diagnostic{Message: who + ": what is put in order may be None, which has no order", Got: t.brief(),
				Note: at.obj.why, Hint: "leave these out, or give them a place: " + place})
			return
		}
	}
}

package infer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/edit"
	"starling/lang/effect"
	"starling/lang/way"
)

// optional is a warning that holds unless some condition looks at the value.
type optional struct {
	root    *syntax.Ident
	path    string
	use     syntax.Expr
	fn      *fn
	looped  bool // it is in a loop or a comprehension
	absent  bool // a key that a contract says need not be there
	finding Finding
}

// muted tells whether what is gone over now is not to be judged: nothing is said yet, or an attempt
// is there to catch it.
func (a *analysis) muted() bool {
	if !a.saying {
		return true
	}
	return a.fn.mayFail()
}

// mayFail tells whether an attempt is there to catch what fails in a function.
func (f *fn) mayFail() bool {
	for ; f != nil; f = f.outer {
		if f.caught {
			return true
		}
	}
	return false
}

// report notes a finding about a node.
func (a *analysis) report(kind string, n, failing syntax.Node, d diagnostic.Diagnostic) {
	if f, ok := a.finding(kind, n, failing, d); ok {
		a.found = append(a.found, f)
	}
}

func (a *analysis) finding(kind string, n, failing syntax.Node, d diagnostic.Diagnostic) (Finding, bool) {
	if a.muted() || n == nil {
		return Finding{}, false
	}
	d.Kind = kind
	start, end := way.Span(n)
	return Finding{File: a.holder(start), Start: start, End: end, Diagnostic: d, Node: failing, within: a.fn, about: n}, true
}

// holder is the file that a position stands in: what is wrong with a value may stand in another
// file than where that is found.
func (a *analysis) holder(at syntax.Position) *File {
	for _, u := range a.units {
		if start, _ := u.Tree.Span(); start.Filename() == at.Filename() {
			return u.File
		}
	}
	return a.file.File
}

// warn notes what is not certain.
func (a *analysis) warn(kind string, n syntax.Node, d diagnostic.Diagnostic) {
	d.Severity = diagnostic.Warning
	a.report(kind, n, nil, d)
}

// origin is where a value comes from, in words.
func (a *analysis) origin(e syntax.Expr, t Type) string {
	if at, ok := t.only(); ok && at.kind == none && at.obj != nil && at.obj.why == "falls" {
		return at.obj.fn.show() + " ends without a return on " + a.line(way.End(at.obj.at))
	}
	root, _ := way.Path(e)
	if root == nil || !a.saying {
		return ""
	}
	if w := a.writes[root]; len(w) == 1 {
		start, _ := w[0].Span()
		here, _ := e.Span()
		if start.Line != here.Line {
			return root.Name + " comes from line " + itoa(int(start.Line))
		}
	}
	return ""
}

// named tells whether an expression is the name that a function was defined by.
func (f *fn) named(e syntax.Expr) bool {
	def, ok := f.node.(*syntax.DefStmt)
	id, also := way.Unparen(e).(*syntax.Ident)
	return ok && also && id.Name == def.Name.Name
}

func (f *fn) show() string {
	if def, ok := f.node.(*syntax.DefStmt); ok {
		return "function " + def.Name.Name
	}
	return "lambda"
}

// noAttribute: x has no .name.
func (a *analysis) noAttribute(e *syntax.DotExpr, x Type) {
	what, has := "", []string(nil)
	x = present(x)
	for _, at := range x.atoms {
		what = at.named()
		has = append(has, at.attributes()...)
	}
	if len(x.atoms) > 1 {
		what = x.brief()
	}
	if join(x, noneType).json() {
		what = "JSON value"
	}
	name := e.Name.Name
	if id, ok := way.Unparen(e.X).(*syntax.Ident); ok && a.hides(id, name) {
		d := hiding(id.Name)
		d.Note = a.origin(e.X, x)
		a.report("unknown_attribute", e.X, e, d)
		return
	}
	a.report("unknown_attribute", e.Name, e, diagnostic.Diagnostic{Message: what + " has no ." + name,
		Hint: cmp.Or(attributeHint(x, name), diagnostic.Meant(name, has), attributesOf(what, has)), Note: a.origin(e.X, x),
		Fix: readElsewhere(e, x.atoms[0])})
}

// perhaps: a value may be None, which cannot be used like this. Only where something says so, not
// where some way through the text gave None to a variable.
func (a *analysis) perhaps(e syntax.Expr, t Type, use string) {
	if e == nil {
		return
	}
	for _, at := range t.atoms {
		if at.kind == none && at.obj == nil {
			if w, ok := a.onOneWay(e, t, func(t Type) bool { return onlyKind(t, none) }); ok {
				a.noneHere(w, e, use)
				return
			}
		}
		if at.kind != none || at.obj == nil || t.any && !at.obj.firm {
			continue
		}
		if (at.obj.firm && at.obj.fn != nil || at.obj.why == noValue) && at.obj.fn != a.fn {
			continue // a function that looks something up: who calls it knows what is there
		}
		d := diagnostic.Diagnostic{Message: "this may be None, and is used with " + use, Note: at.obj.why, Hint: "look first: if x != None"}
		if !t.any {
			d.Got, d.Want = t.brief(), t.filter(func(b atom) bool { return b.kind != none }).brief()
		}
		if strings.Contains(at.obj.why, "get gives None") {
			d.Hint = "give a default, .get(key, …), or look first: if x != None"
		}
		if at.obj.why == noValue || at.obj.why == noReply {
			d.Hint = "ask first: if x.ok"
		}
		if strings.Contains(at.obj.why, "changes what it is called on") {
			d.Hint = "write the call on a line of its own, and give what it is called on"
		}
		if at.obj.why == "falls" {
			if !at.obj.fn.answers {
				continue
			}
			d.Note = at.obj.fn.show() + " may end without a return, on " + a.line(way.End(at.obj.at))
			d.Hint = "give a value on every way through it"
		}
		a.laterOf(at.obj, e, "maybe_none", d)
		return
	}
}

// later notes a warning that falls when a condition looks at the value.
func (a *analysis) later(e syntax.Expr, kind string, d diagnostic.Diagnostic) {
	a.laterOf(nil, e, kind, d)
}

// laterOf is later where the value may be the None that is missing. It gives what it has noted, nil
// for nothing.
func (a *analysis) laterOf(missing *object, e syntax.Expr, kind string, d diagnostic.Diagnostic) *optional {
	d.Severity = diagnostic.Warning
	root, path := way.Path(e)
	f, ok := a.finding(kind, e, nil, d)
	if !ok {
		return nil
	}
	f.missing = missing
	a.pending = append(a.pending, optional{root: root, path: path, use: e, fn: a.fn, looped: len(a.loops) > 0 || a.clauses > 0, finding: f})
	return &a.pending[len(a.pending)-1]
}

// finish adds the warnings that nothing has looked at, and drops what is said twice.
func (a *analysis) finish() {
	a.probeAll()
	said := slices.Clone(a.found)
	a.found = slices.DeleteFunc(said, a.following)
	for _, p := range a.pending {
		if !a.lookedFor(p) {
			a.found = append(a.found, p.finding)
		}
	}
	type key struct {
		file  *File
		start syntax.Position
		kind  string
	}
	seen := map[key]bool{}
	type missing struct {
		value *object
		in    *fn // where the value is that of a function that ends without a return
	}
	missed := map[missing]bool{}
	slices.SortStableFunc(a.found, func(f, g Finding) int { return cmp.Compare(f.Start.Line, g.Start.Line) })
	a.found = slices.DeleteFunc(a.found, func(f Finding) bool {
		if f.missing != nil {
			m := missing{value: f.missing}
			if m.value.why == "falls" {
				m.in = f.within
			}
			was := missed[m]
			missed[m] = true
			if was {
				return true
			}
		}
		k := key{f.File, f.Start, f.Diagnostic.Kind}
		was := seen[k]
		seen[k] = true
		return was
	})
}

// cannotOperate: x OP y fails.
func (a *analysis) cannotOperate(e syntax.Node, op syntax.Token, x, y Type) {
	d := diagnostic.Diagnostic{Message: fmt.Sprintf("%s %s %s is not defined", x.brief(), op, y.brief()), Hint: operandHint(op, x, y)}
	if b, ok := e.(*syntax.BinaryExpr); ok {
		d.Note = cmp.Or(a.origin(b.X, x), a.origin(b.Y, y))
		d.Fix = a.asText(e, op, x, y)
		if x.durations() {
			d.Hint = strings.Replace(d.Hint, "time.duration(d)", "time.duration("+a.file.briefly(b.X)+")", 1)
		} else if y.durations() {
			d.Hint = strings.Replace(d.Hint, "time.duration(d)", "time.duration("+a.file.briefly(b.Y)+")", 1)
		}
	}
	if s, ok := e.(*syntax.AssignStmt); ok {
		d.Note = cmp.Or(a.origin(s.LHS, x), a.origin(s.RHS, y))
	}
	a.report("bad_operand", e, e, d)
}

// present is a type without the None that it may be, where it may be something else.
func present(t Type) Type {
	if some := t.filter(func(at atom) bool { return at.kind != none }); len(some.atoms) > 0 {
		return some
	}
	return t
}

// perhapsOperands: one side of an operator may be None, with which it always fails.
func (a *analysis) perhapsOperands(e syntax.Node, op syntax.Token, x, y Type) {
	var left, right syntax.Expr
	sign := op.String()
	switch e := e.(type) {
	case *syntax.BinaryExpr:
		left, right = e.X, e.Y
	case *syntax.AssignStmt:
		left, right, sign = e.LHS, e.RHS, sign+"="
	}
	switch op {
	case syntax.EQL, syntax.NEQ, syntax.PERCENT:
		return
	case syntax.IN, syntax.NOT_IN:
		x = Type{} // None may be looked for
	}
	if x.any || len(x.atoms) > 1 {
		a.perhaps(left, x, sign)
	}
	if y.any || len(y.atoms) > 1 {
		a.perhaps(right, y, sign)
	}
}

// undeclaredKey: a key is looked for in what a contract has checked, which cannot have it.
func (a *analysis) undeclaredKey(key argument, t Type, message string) {
	k, ok := key.typ.only()
	if !ok || !k.exact || k.kind != text || !t.known() || key.node == nil {
		return
	}
	var keys []string
	for _, at := range t.atoms {
		if at.kind != dict || at.obj.shaped == nil || at.obj.shaped.Form != contract.Record {
			return
		}
		if _, there := at.obj.under(k.lit); there {
			return
		}
		keys = append(keys, at.obj.order...)
	}
	a.warn("missing_key", key.node, diagnostic.Diagnostic{Message: "the contract has no key " + quote(k.lit) + ": " + message, Want: oneOf(keys),
		Hint: diagnostic.Meant(k.lit, keys), Fix: edit.Respelt(key.node, keys)})
}

// truth: a Decision has none, and that of a function says nothing.
func (a *analysis) truth(e syntax.Expr, t Type) {
	for _, at := range t.atoms {
		if at.kind == record {
			a.readOf(at.obj, "ok")
		}
	}
	if !t.known() {
		return
	}
	a.neverTrue(e, t)
	if at, ok := t.only(); ok && (at.kind == method || at.kind == function && at.obj.fn.named(e)) {
		a.warn("no_truth", e, diagnostic.Diagnostic{Message: "a function is true, whatever it would give", Hint: "call it: " + a.file.briefly(e) + "(…)"})
	}
	if at, ok := t.only(); ok && at.kind == tuple && t.falsy().empty() {
		a.warn("no_truth", e, diagnostic.Diagnostic{Message: "a tuple is true, whatever lies in it", Got: t.brief(), Hint: "give its parts names: ok, why = …"})
	}
	a.truthOfDecision(e, t)
}

// neverTrue: a function says no on some way, and yes on none: it ends without a return.
func (a *analysis) neverTrue(e syntax.Expr, t Type) {
	if !t.has(boolean) || !t.truthy().empty() {
		return
	}
	for _, at := range t.atoms {
		if at.kind == none && at.obj != nil && at.obj.why == "falls" && at.obj.fn.answers {
			a.warn("no_truth", e, diagnostic.Diagnostic{Message: "this is never true: what " + at.obj.fn.show() + " gives is " + t.String(),
				Note: a.origin(e, of(at)), Hint: "return True at its end"})
			return
		}
	}
}

// truthOfDecision: a Decision fails in a condition. One that may be None too is an error as well:
// the condition is there to tell the two apart, and cannot.
func (a *analysis) truthOfDecision(e syntax.Expr, t Type) {
	some := t.filter(func(at atom) bool { return at.recordOf("Decision") })
	for _, at := range t.atoms {
		if at.kind != none && at.kind != boolean && !at.recordOf("Decision") {
			return
		}
	}
	switch {
	case len(some.atoms) == 0:
	case t.has(boolean):
		d := diagnostic.Diagnostic{Message: "this may be a Decision, which has no truth value", Note: a.origin(e, t), Hint: "give a bool in its place: d." + strings.TrimPrefix(choiceHint(some), "use .")}
		if d.Note == "" {
			d.Note = "the Decision comes from " + a.line(way.Start(some.atoms[0].obj.at))
		}
		a.warn("no_truth", e, d)
	case len(some.atoms) == len(t.atoms):
		a.report("no_truth", e, e, diagnostic.Diagnostic{Message: "a Decision has no truth value", Hint: choiceHint(t), Note: a.origin(e, t)})
	default:
		a.report("no_truth", e, nil, diagnostic.Diagnostic{Message: "this may be a Decision, which has no truth value", Note: a.origin(e, t),
			Hint: "compare with None: " + a.file.briefly(e) + " != None"})
	}
}

// cannotIndex: x[y] fails.
func (a *analysis) cannotIndex(e *syntax.IndexExpr, x, y Type, why string) {
	d := diagnostic.Diagnostic{Note: a.origin(e.X, x)}
	kind := "bad_index"
	if some := present(x); len(some.atoms) < len(x.atoms) && onlyKind(some, dict) && exacts(y) != nil {
		x, why = some, "key" // None has none either
	}
	switch why {
	case "key":
		key := y.atoms[0].lit
		var keys []string
		for _, at := range x.atoms {
			if at.kind == dict {
				keys = append(keys, at.obj.order...)
			}
		}
		kind = "missing_key"
		d.Message = "there is no key " + eitherOf(exacts(y))
		if len(keys) > 0 {
			d.Want = oneOf(keys)
		}
		d.Hint, d.Fix = diagnostic.Meant(key, keys), edit.Respelt(e.Y, keys)
		if _, one := y.only(); !one {
			d.Hint = a.inLetters(e.Y, exacts(y), keys)
		}
	case "kind":
		kind, d.Message = "missing_key", "the keys of this dict are of another type"
		d.Got, d.Want = y.brief(), x.filter(func(at atom) bool { return at.kind == dict }).keyTypes()
		if onlyKind(y, integer) {
			d.Hint = "d.values() is the list of what is under the keys, in the order in which they were put in"
		}
	case "hash":
		kind, d.Message = "unhashable", y.brief()+" cannot be a key"
		d.Hint = "a key is a number, a string, a bool or a tuple of these"
	case "index":
		d.Message, d.Got, d.Want = "the index of a "+x.brief(), y.brief(), "int"
		d.Hint = indexHint(x, y)
		if d.Hint == keysHint && a.again(e, exacts(x)) {
			return
		}
	case "range":
		d.Message = "there is no element [" + y.atoms[0].lit + "]"
		if at := x.atoms[0]; at.kind == tuple {
			d.Message = fmt.Sprintf("the tuple has %d elements, and no [%s]", len(at.obj.items), y.atoms[0].lit)
		}
	default:
		d.Message = x.brief() + " has no elements to be had by [" + y.brief() + "]"
		d.Hint = unindexable(x, y)
		if part := indexedPart(x.atoms[0]); part != "" && len(x.atoms) == 1 {
			d.Fix = edit.Behind(e.X, part)
		}
	}
	a.report(kind, e, e, d)
}

// inLetters is the hint for a text that is a key but for its letters, whichever it is.
func (a *analysis) inLetters(e syntax.Expr, words, keys []string) string {
	are := func(as func(string) string) bool {
		return !slices.ContainsFunc(words, func(s string) bool { return !contains(keys, as(s)) })
	}
	switch {
	case are(strings.ToLower):
		return "write " + a.file.briefly(e) + ".lower()"
	case are(strings.ToUpper):
		return "write " + a.file.briefly(e) + ".upper()"
	}
	return "add them, or read with .get(…)"
}

// eitherOf lists texts of which one is meant.
func eitherOf(words []string) string {
	list := quote(words[0])
	for i, s := range words[1:] {
		if i == len(words)-2 {
			list += " or " + quote(s)
		} else {
			list += ", " + quote(s)
		}
	}
	return list
}

// keyTypes are the types of the keys of dicts, or the keys themselves where they are known.
func (t Type) keyTypes() string {
	var keys Type
	for _, at := range t.atoms {
		keys = join(keys, at.obj.keys())
	}
	if want := exacts(keys); want != nil {
		return oneOf(want)
	}
	return keys.brief()
}

func (a *analysis) badSlice(part syntax.Expr, t Type) {
	a.report("bad_index", part, nil, diagnostic.Diagnostic{Message: "a part of a slice", Got: t.brief(), Want: "int"})
}

func (a *analysis) cannotSlice(e *syntax.SliceExpr, x Type) {
	hint := ""
	if x.atoms[0].recordOf("Result") {
		hint = "the reply is .text or .output"
	}
	a.report("bad_index", e, e, diagnostic.Diagnostic{Message: x.brief() + " cannot be sliced", Hint: hint, Note: a.origin(e.X, x)})
}

// cannotIterate: for … in x fails.
func (a *analysis) cannotIterate(e syntax.Expr, t Type) {
	d := diagnostic.Diagnostic{Message: t.brief() + " cannot be gone through", Note: a.origin(e, t)}
	switch at := t.atoms[0]; {
	case at.kind == text:
		d.Hint = "s.splitlines() gives its lines, s.split() its words, s.elems() its characters"
	case at.kind == octets:
		d.Hint = "b.elems() gives its bytes"
	case at.kind == integer:
		d.Hint, d.Fix = "write range(n)", a.wrapped("range", e)
	case at.recordOf("Result"):
		d.Hint = `the reply is .output; where it is a dict, .output["field"]`
	case at.recordOf("ToolResult"):
		d.Hint = "what the tool gave is .output, what it said .text"
	case at.kind == none:
		d.Hint = noneHint(at)
	case callable(at):
		d.Hint = "call it: f()"
	}
	if f, ok := a.finding("not_iterable", e, e, d); ok {
		f.Looped = true
		a.found = append(a.found, f)
	}
}

// unpacksKeys: a, b = {…} gives the keys, in the order in which they were put in.
func (a *analysis) unpacksKeys(lhs syntax.Expr) {
	a.warn("bad_unpack", lhs, diagnostic.Diagnostic{Message: "these are the keys of a dict, not what is under them", Hint: `write d["key"] for each, or d.values()`})
}

// cannotUnpack: a, b = x fails.
func (a *analysis) cannotUnpack(lhs syntax.Expr, n int, t Type) {
	d := diagnostic.Diagnostic{Message: "this is given to " + itoa(n) + " names", Got: t.brief()}
	switch at := t.atoms[0]; {
	case at.kind == tuple:
		d.Got = "a tuple of " + itoa(len(at.obj.items))
		d.Hint = cmp.Or(a.nested(lhs, at), "there are as many names on the left as values on the right")
	case at.kind == list:
		d.Got = "a list of " + sizeOf(at)
		d.Hint = "there are as many names on the left as values on the right"
		if onlyKind(t, list) { // a look at its length may keep the line from being reached
			a.warn("bad_unpack", lhs, d)
			return
		}
	case at.kind == dict:
		d.Got = "a dict of " + sizeOf(at)
		d.Hint = `a dict gives its keys; write d["key"] for each value`
	case at.recordOf("Result"):
		d.Hint = `a call gives one Result: r = agent(…), and then r.text or r.output["field"]`
	case at.recordOf("Decision"):
		d.Hint = "a gate gives one Decision: d = gate(…), and then d.choice, d.payload or d.reason"
	case at.recordOf("Completed"):
		d.Hint = "a program gives one Completed: c = sh.run(…), and then c.code or c.text"
	case at.kind == none:
		d.Hint = noneHint(at)
	case at.kind == text:
		d.Hint = "a text is not taken apart; for k, v in d.items() goes through the pairs of a dict"
	}
	a.report("bad_unpack", lhs, lhs, d)
}

// nested is the left side for a pair of which the second value is a tuple: n, (k, v).
func (a *analysis) nested(lhs syntax.Expr, at atom) string {
	names := way.Displayed(lhs)
	if len(at.obj.items) != 2 || len(names) < 3 {
		return ""
	}
	second, ok := at.obj.items[1].only()
	if !ok || second.kind != tuple || len(second.obj.items) != len(names)-1 {
		return ""
	}
	var inner []string
	for _, n := range names[1:] {
		inner = append(inner, a.file.briefly(n))
	}
	return "write " + a.file.briefly(names[0]) + ", (" + strings.Join(inner, ", ") + "): the second value is a tuple"
}

// cannotStore: x[k] = v fails.
func (a *analysis) cannotStore(e *syntax.IndexExpr, x, k Type) {
	d := diagnostic.Diagnostic{Message: x.brief() + " does not take x[" + k.brief() + "] = …", Note: a.origin(e.X, x)}
	switch at := x.atoms[0]; {
	case at.kind == text:
		d.Hint = "texts never change: s.replace(old, new) makes another"
	case at.kind == tuple:
		d.Hint = "tuples never change: list(t) can"
	case at.kind == record:
		d.Hint = "it never changes; make a dict of what is wanted"
	case at.kind == module:
		d.Hint = unindexable(x, k)
	}
	a.report("bad_index", e, e, d)
}

// cannotSet: x.name = v fails.
func (a *analysis) cannotSet(e *syntax.DotExpr, x Type) {
	d := diagnostic.Diagnostic{Message: x.brief() + " has no fields that can be set", Note: a.origin(e.X, x)}
	if x.atoms[0].kind == dict {
		d.Hint = `write d["` + e.Name.Name + `"] = …`
	}
	a.report("unknown_attribute", e.Name, e, d)
}

func (a *analysis) notHashable(e syntax.Expr, k Type) {
	a.report("unhashable", e, nil, diagnostic.Diagnostic{Message: k.brief() + " cannot be a key", Hint: "a key is a number, a string, a bool or a tuple of these"})
}

func (a *analysis) cannotNegate(e *syntax.UnaryExpr, x Type) {
	a.report("bad_operand", e, e, diagnostic.Diagnostic{Message: e.Op.String() + x.brief() + " is not defined", Note: a.origin(e.X, x)})
}

// notCallable: f(…) fails.
func (a *analysis) notCallable(e *syntax.CallExpr, f Type) {
	d := diagnostic.Diagnostic{Message: f.brief() + " cannot be called", Note: a.origin(e.Fn, f)}
	if dot, ok := way.Unparen(e.Fn).(*syntax.DotExpr); ok {
		d.Hint = "." + dot.Name.Name + " is a field: write it without ()"
		if len(e.Args) == 0 {
			d.Fix = edit.Put(e.Lparen, way.End(e), "")
		}
	}
	if at := f.atoms[0]; at.kind == module {
		d.Hint = attributesOf(at.obj.path, at.attributes())
	} else if at.recordOf("role") {
		d.Hint = "agent(" + a.file.briefly(e.Fn) + ", …) asks it"
	}
	a.report("not_callable", e.Fn, e, d)
}

// mustCall: a builtin calls its first argument, which must be a function.
func (a *analysis) mustCall(f argument, who string, g *arguments) {
	if !f.typ.known() || f.node == nil {
		return
	}
	for _, at := range f.typ.atoms {
		if callable(at) || at.kind == opaque || at.kind == module {
			return
		}
	}
	d := diagnostic.Diagnostic{Message: who + ": for parameter fn", Got: f.typ.brief(), Want: "a function", Note: a.origin(f.node, f.typ)}
	if who == "parallel" {
		d.Message = "parallel: with over, branches is one function"
	}
	if call, ok := way.Unparen(f.node).(*syntax.CallExpr); ok {
		d.Hint, d.Fix = "this calls it before "+who+" does: write "+deferred(who, a.file.briefly(call)), edit.Deferring(call)
	}
	a.report("bad_type", f.node, g.call, d)
}

// deferred is how a call is given to a builtin that makes it.
func deferred(who, call string) string {
	if name, args, ok := strings.Cut(call, "("); ok && who == "attempt" && !strings.Contains(call, "\n") {
		if args == ")" {
			return "attempt(" + name + ")"
		}
		return "attempt(" + name + ", " + args
	}
	if strings.Contains(call, "\n") {
		return "lambda: … in front of it"
	}
	return "lambda: " + call
}

// notBranch: what parallel is given is no function.
func (a *analysis) notBranch(g *arguments, n syntax.Node, branch Type) {
	d := diagnostic.Diagnostic{Message: "parallel: a branch", Got: branch.brief(), Want: "a function or a tuple of a function and its arguments"}
	if call, ok := n.(*syntax.CallExpr); ok && call != g.call {
		source := a.file.briefly(call)
		name, args, ok := strings.Cut(source, "(")
		d.Hint, d.Fix = "this calls it before parallel does: write lambda: "+source, edit.Deferring(call)
		if ok && !strings.ContainsAny(args, "=…({[\n") {
			d.Hint = "this calls it before parallel does: write (" + strings.TrimSuffix(name+", "+strings.TrimSuffix(args, ")"), ", ") + ")"
		}
	}
	a.report("bad_type", n, g.call, d)
}

// badArgument: a builtin does not take an argument of the type.
func (a *analysis) badArgument(o *object, p *effect.Param, x argument, call *syntax.CallExpr) {
	d := diagnostic.Diagnostic{Message: o.path + ": for parameter " + p.Name, Got: x.typ.brief(), Want: p.Wanted(), Note: a.origin(x.node, x.typ)}
	at := x.typ.atoms[0]
	if part := textPart(at); part != "" && len(x.typ.atoms) == 1 && strings.Contains(p.Type, "string") {
		d.Fix = edit.Behind(x.node, part)
	}
	switch {
	case at.recordOf("Result") && strings.Contains(p.Type, "string"):
		d.Hint = "the reply as text is .text"
	case at.recordOf("Result") && p.Type == "sized":
		d.Hint = "the reply is .text, or .output"
	case at.recordOf("Decision") && strings.Contains(p.Type, "string"):
		d.Hint = "the option that was chosen is .choice"
	case at.kind == method:
		d.Hint = "call it: " + a.file.briefly(x.node) + "()"
	case at.kind == none && isNone(x.node):
		d.Hint = "leave it out"
	case at.kind == none:
		d.Hint = noneHint(at)
	case o.path == "list.extend":
		d.Hint = "xs.append(x) adds one element"
	case p.Type == "contract" && at.kind == text:
		d.Hint = "write contract(…) around it"
	case o.path == "range" && at.kind == list:
		d.Hint = "for x in xs goes through them, range(len(xs)) counts them"
	case o.path == "json.decode":
		d.Hint = "it is read already: json.decode reads a text"
	case at.kind == list && strings.Contains(p.Wanted(), "tuple"):
		d.Hint = "tuple(xs) is a tuple of what a list holds"
	case at.kind == text && strings.Contains(p.Type, "int"):
		d.Hint = "int(s) is the number of a text"
	case at.kind == float && p.Type == "int":
		d.Hint = "x // y divides to a whole number, int(x) leaves out the fraction"
	case p.Type == "contract":
		d.Hint = `a contract is a text, such as contract("{name: string, tags: [string]}")`
	case p.Type == "duration" && number(at):
		d.Hint = `a duration is a text with a unit, such as "90s" or "2h"`
	}
	var failing syntax.Node
	if call != nil {
		failing = call
	}
	a.report("bad_type", x.node, failing, d)
}

func isNone(e syntax.Expr) bool {
	id, ok := way.Unparen(e).(*syntax.Ident)
	return ok && id.Name == "None"
}

// leaves: a function cannot leave the script, nor a key that is no text.
func (a *analysis) leaves(who, param string, x argument) {
	if x.node == nil || !a.saying {
		return
	}
	if path, what, at := a.stuck(x.typ, "", 4); what != "" {
		d := diagnostic.Diagnostic{Message: who + ": " + param + path + ": " + what, Hint: stuckHint(what)}
		n := syntax.Node(x.node)
		if at != nil {
			n = at
		}
		a.report("cannot_leave", n, nil, d)
		return
	}
	a.mayBeStuck(who+": "+param, x.node, x.typ)
}

// mayBeStuck warns of what cannot leave the script if it is what the text says it may be: a dict
// that gets keys which are no texts, or what is put into itself.
func (a *analysis) mayBeStuck(who string, n syntax.Node, t Type) {
	if path, what := perhapsStuck(t, "", 4); what != "" {
		a.warn("cannot_leave", n, diagnostic.Diagnostic{Message: who + path + ": " + what, Hint: stuckHint(what)})
	}
}

func perhapsStuck(t Type, path string, depth int) (string, string) {
	at, ok := t.only()
	if !ok || depth == 0 || at.obj == nil || at.obj.lent {
		return "", ""
	}
	o := at.obj
	switch {
	case o.cyclic:
		return path, "it is put into itself, and would have no end"
	case at.kind == list:
		return perhapsStuck(o.elem, path+"[…]", depth-1)
	case at.kind != dict:
		return "", ""
	case o.key.known() && !o.key.empty() && hashable(o.key) && !o.key.has(text) && !o.key.has(opaque):
		return path, "keys must be texts, and this dict gets " + o.key.brief()
	}
	for _, k := range o.order {
		if p, what := perhapsStuck(o.fields[k].typ, path+"."+k, depth-1); what != "" {
			return p, what
		}
	}
	return "", ""
}

// putIntoItself notes that a value is put into what it holds, such as x["all"].append(x).
func (a *analysis) putIntoItself(call *syntax.CallExpr, args bound) {
	dot, ok := way.Unparen(call.Fn).(*syntax.DotExpr)
	if !ok {
		return
	}
	root, _ := way.Path(dot.X)
	for _, x := range args {
		id, ok := way.Unparen(x.node).(*syntax.Ident)
		if !ok || root == nil || way.Variable(id) != root {
			continue
		}
		if at, ok := x.typ.only(); ok && at.obj != nil && (at.kind == list || at.kind == dict) {
			a.set(&at.obj.cyclic)
		}
	}
}

// stuck finds what every value of the type holds and cannot leave the script.
func (a *analysis) stuck(t Type, path string, depth int) (string, string, syntax.Node) {
	if !t.known() || depth == 0 || len(t.atoms) != 1 {
		return "", "", nil
	}
	at := t.atoms[0]
	switch at.kind {
	case function, method:
		return path, "a function cannot leave the script", nil
	case builtin:
		return path, "a function cannot leave the script", nil
	case set:
		return path, "a set cannot leave the script; list(s) can", nil
	case module:
		if _, ok := at.obj.value.(*starlarkstruct.Module); ok {
			return path, "a module cannot leave the script", nil
		}
	case dict:
		return a.stuckEntry(at.obj, path, depth)
	case tuple:
		for i, u := range at.obj.items {
			if p, what, n := a.stuck(u, path+"["+itoa(i)+"]", depth-1); what != "" {
				return p, what, n
			}
		}
	}
	return "", "", nil
}

func (a *analysis) stuckEntry(o *object, path string, depth int) (string, string, syntax.Node) {
	if o.lent || o.loses {
		return "", "", nil
	}
	d, display := o.at.(*syntax.DictExpr)
	if o.key.known() && hashable(o.key) && !o.key.has(text) && display && len(o.order) < len(d.List) {
		return path, "keys must be texts, and this dict has " + o.key.brief(), nil
	}
	for _, k := range o.order {
		if f := o.fields[k]; f.must {
			if p, what, n := a.stuck(f.typ, path+"."+k, depth-1); what != "" {
				if n == nil {
					n = f.at
				}
				return p, what, n
			}
		}
	}
	return "", "", nil
}

// output: what main gives leaves the script too.
func (a *analysis) output(e syntax.Expr, t Type) {
	def, ok := a.fn.node.(*syntax.DefStmt)
	if e == nil || !ok || !a.saying || def.Name.Name != "main" || !a.file.entry || !a.file.Pure || a.fn.outer != nil {
		return
	}
	if path, what, at := a.stuck(t, "", 4); what != "" {
		n := syntax.Node(e)
		if at != nil {
			n = at
		}
		a.report("cannot_leave", n, nil, diagnostic.Diagnostic{Message: "the run's output" + path + ": " + what, Hint: stuckHint(what)})
		return
	}
	a.mayBeStuck("the run's output", e, t)
}

// meets: a value breaks a contract.
func (a *analysis) meets(x argument, s *contract.Shape, message string) {
	if x.node == nil || !a.saying {
		return
	}
	a.holding = x.node
	b := a.breaks(x.typ, s, "", 6)
	a.holding = nil
	if b == nil {
		return
	}
	n := syntax.Node(x.node)
	if b.node != nil {
		n = b.node
	}
	d := diagnostic.Diagnostic{Message: strings.TrimSuffix(message+": "+strings.TrimPrefix(b.path, "."), ": "), Got: b.got, Want: b.want,
		Note: a.origin(x.node, x.typ), Hint: b.hint}
	if l := a.wroteWord(b.word, n); l != "" {
		d.Note = l
	}
	if within := holding(x.typ); within != "" && b.path == "" {
		d.Hint = "write " + a.file.briefly(x.node) + within
	}
	if b.put != "" || b.perhaps {
		d.Severity = diagnostic.Warning
	}
	f, ok := a.finding("broken_contract", n, nil, d)
	f.apart, f.about = !standsIn(n, x.node), x.node
	switch {
	case !ok:
	case b.put != "": // unless some condition asks whether it is there
		a.pending = append(a.pending, optional{path: "[" + quote(b.put) + "]", fn: a.fn, absent: true, finding: f})
	default:
		a.found = append(a.found, f)
	}
}

// wroteWord says where a text stands that a node is among others, "" where that is not known.
func (a *analysis) wroteWord(word string, n syntax.Node) string {
	s, err := strconv.Unquote(word)
	if err != nil {
		return ""
	}
	l := way.Written(a.file.Tree, s)
	if l == nil || standsIn(l, n) {
		return ""
	}
	return word + " comes from line " + itoa(int(way.Start(l).Line))
}

// held is the field of a record with what it was made for.
var held = map[string]string{"Result": "output", "Outcome": "value", "Decision": "payload", "Item": "value", "Message": "payload"}

// holding is the way from a record to what it was made for, through one that it may hold; "" for
// any other type.
func holding(t Type) string {
	way := ""
	for range 2 { // an Outcome may hold itself
		at, ok := present(t).only()
		if !ok || at.kind != record || held[at.obj.form.Name] == "" {
			break
		}
		name := held[at.obj.form.Name]
		way += "." + name
		f := at.obj.fields[name]
		if f == nil {
			break
		}
		t = f.typ
	}
	return way
}

// requires: the context has no key that the receiver requires.
func (a *analysis) requires(key string, x argument, given bool, g *arguments) {
	n := syntax.Node(g.call.Fn)
	d := diagnostic.Diagnostic{Message: "handoff: the receiver requires the context to have " + quote(key), Hint: `add it to context = {` + quote(key) + `: …}`}
	if given {
		at, ok := x.typ.only()
		if !ok || at.kind != dict || at.obj.lent || at.obj.textKeys() || at.obj.fields[key] != nil {
			return
		}
		n = x.node
		if near, ok := diagnostic.Nearest(key, at.obj.order); ok {
			d.Hint = "write " + quote(key) + " for " + quote(near)
		}
	}
	a.report("broken_contract", n, nil, d)
}

// changes: what is frozen is changed.
func (a *analysis) changes(n syntax.Node, x Type, what string) {
	if a.fn == nil || a.fn.atLoad || !a.saying {
		return
	}
	frozen, byDefault := 0, ""
	for _, at := range x.atoms {
		if at.obj != nil && at.obj.made && at.obj.file != nil {
			frozen++
			byDefault = cmp.Or(byDefault, a.defaultOf(at.obj))
		}
	}
	if frozen == 0 {
		return
	}
	d := diagnostic.Diagnostic{Message: "what the top level has made cannot be changed any more", Hint: "make it in the function that changes it, or a copy: list(x), dict(x)"}
	switch name, within := way.Changed(n); {
	case within:
		d.Message = "what lies in " + name + " is made at the top level, and cannot be changed any more"
		d.Hint = "make it in the function that changes it, or copy that too: list(x) and dict(x) share what lies in x"
	case name != "":
		d.Message = name + " is made at the top level, and cannot be changed any more"
	}
	if byDefault != "" {
		d.Message = "the default of " + byDefault + " is made once, and cannot be changed"
		empty := map[kind]string{list: "[]", dict: "{}", set: "set()"}[x.atoms[0].kind]
		d.Hint = "write " + byDefault + " = None, and " + byDefault + " = " + cmp.Or(empty, "[]") + " if " + byDefault + " == None else " + byDefault
	}
	if frozen < len(x.atoms) || x.any {
		if byDefault != "" {
			a.warn("frozen", n, d)
		}
		return
	}
	a.report("frozen", n, n, d)
}

// defaultOf is the parameter of which the object is the default.
func (a *analysis) defaultOf(o *object) string {
	for f := a.fn; f != nil; f = f.outer {
		for _, p := range f.decl.Params {
			if b, ok := p.(*syntax.BinaryExpr); ok && way.Unparen(b.Y) == o.at {
				return b.X.(*syntax.Ident).Name
			}
		}
	}
	return ""
}

// unmade: nothing to say of a closure yet.
func (a *analysis) unmade(*fn) {}

// begin has the run call main with its inputs.
func (a *analysis) begin(f *fn) {
	a.called(f)
	c := a.declaredInputs()
	for _, p := range f.decl.Params {
		id, ok := p.(*syntax.Ident)
		if b, isDefault := p.(*syntax.BinaryExpr); isDefault {
			id, ok = b.X.(*syntax.Ident)
		}
		if !ok {
			if u, isStar := p.(*syntax.UnaryExpr); isStar && u.X != nil {
				a.grow(f.region, &f.params[a.parameter(u.X)], unknown)
			}
			continue
		}
		i := a.parameter(id)
		if c != nil {
			if part := c.Field(id.Name); part != nil {
				a.grow(f.region, &f.params[i], a.shaped(a.shapeOf(a.part(c, id.Name)), f.node, "the input "+id.Name+" may be missing"))
				continue
			}
		}
		a.grow(f.region, &f.params[i], unknown)
	}
}

// part is the contract of one field, the same one each time.
func (a *analysis) part(c *contract.Contract, name string) *contract.Contract {
	key := partOf{c, name}
	if a.parts == nil {
		a.parts = map[partOf]*contract.Contract{}
	}
	if a.parts[key] == nil {
		a.parts[key] = c.Field(name)
	}
	return a.parts[key]
}

type partOf struct {
	c    *contract.Contract
	name string
}

// branches are those of a parallel that stand in the text.
func (g *arguments) branches() []syntax.Expr {
	if len(g.list) == 0 || g.list[0].node == nil {
		return nil
	}
	return way.Branches(g.list[0].node)
}

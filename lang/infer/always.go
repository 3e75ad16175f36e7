package infer

import (
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/way"
)

// What a contract or a gate lists: one of several texts. None of them is empty, so that such a text
// is true whatever it says, and a dict that is read by it must have all of them.

// alwaysTrue warns of what a condition asks and what is true for certain.
func (a *analysis) alwaysTrue(e syntax.Expr, w *flow) {
	if !a.saying || w.dead {
		return
	}
	switch e := way.Unparen(e).(type) {
	case *syntax.UnaryExpr:
		if e.Op == syntax.NOT {
			a.alwaysTrue(e.X, w)
		}
	case *syntax.BinaryExpr:
		if e.Op == syntax.AND || e.Op == syntax.OR {
			a.alwaysTrue(e.X, w)
			if !a.written(e, e.Y) {
				a.alwaysTrue(e.Y, w)
			}
		}
	case *syntax.Literal, *syntax.ListExpr, *syntax.DictExpr, *syntax.TupleExpr, *syntax.LambdaExpr:
		a.warn("no_truth", e, diagnostic.Diagnostic{Message: "this condition has one value, whatever happens", Hint: "compare it with something, or leave the condition out"})
	case *syntax.Ident:
		a.heldFunction(e, w)
	case *syntax.IndexExpr, *syntax.DotExpr:
		if dot, ok := way.Unparen(e).(*syntax.DotExpr); ok && dot.Name.Name == "ok" {
			a.raised(dot, w)
		} else if ok && dot.Name.Name == "timed_out" {
			a.late(dot, w)
		} else if ok && a.quietly(dot, w).unchosen() {
			a.warn("no_truth", e, diagnostic.Diagnostic{Message: "this is never true: " + freeForm, Hint: freeFormHint})
		}
		if listed := a.listed(e, w); listed != nil {
			a.warn("no_truth", e, diagnostic.Diagnostic{Message: "this is true whatever it says", Got: oneOf(listed),
				Hint: "compare it: " + a.file.briefly(e) + " == " + quote(listed[0])})
		}
	}
}

// freeFormHint is what to ask of a Decision without a choice.
const freeFormHint = ".timed_out says whether nobody has answered in time, .payload what was answered"

// unchosen tells whether a type is the choice at a gate without options.
func (t Type) unchosen() bool {
	return onlyKind(t, none) && slices.ContainsFunc(t.atoms, func(at atom) bool { return at.obj != nil && at.obj.why == freeForm })
}

// raised: a condition asks whether a reply is ok, and a failure raises before it. Only an agent
// that says that it is blocked, or was stopped, gives one that is not; a file that speaks of these
// knows.
func (a *analysis) raised(e *syntax.DotExpr, w *flow) {
	x, ok := a.raising(e.X, "Result", w)
	if !ok || strings.HasPrefix(a.file.Name, library) {
		return
	}
	for _, word := range []string{"blocked", "stopped", ".note"} {
		if strings.Contains(a.file.Source, word) {
			return
		}
	}
	a.warn("no_truth", e, diagnostic.Diagnostic{Message: "a failure raises where the agent is asked, so that this is false only of an agent that says it is blocked",
		Note: a.origin(e.X, x), Hint: `add on_error = "return" to have failures given back`})
}

// raising is the type of what was asked for here, in this function, so that a failure raises: who
// is given it does not know that.
func (a *analysis) raising(e syntax.Expr, record string, w *flow) (x Type, ok bool) {
	x = a.quietly(e, w)
	for _, at := range x.atoms {
		if !at.recordOf(record) || !at.obj.raises || a.fn == nil || at.obj.home != a.fn.region {
			return x, false
		}
	}
	return x, x.known()
}

// late: a condition asks whether nobody has answered in time, and a gate that nobody answers
// raises.
func (a *analysis) late(e *syntax.DotExpr, w *flow) {
	if x, ok := a.raising(e.X, "Decision", w); ok {
		a.warn("no_truth", e, diagnostic.Diagnostic{
			Message: "this is never true: at its deadline the gate raises", Note: a.origin(e.X, x),
			Hint: `add on_timeout = "return" to the gate`})
	}
}

// written: x == "a" or "b" asks of the second text whether it is empty. It tells whether it said
// so.
func (a *analysis) written(e *syntax.BinaryExpr, y syntax.Expr) bool {
	first, ok := way.Unparen(e.X).(*syntax.BinaryExpr)
	for ok && first.Op == syntax.OR {
		if last, also := way.Unparen(first.Y).(*syntax.BinaryExpr); also {
			first = last
			break
		}
		first, ok = way.Unparen(first.X).(*syntax.BinaryExpr)
	}
	l, literal := way.Unparen(y).(*syntax.Literal)
	if !ok || !literal || e.Op != syntax.OR || first.Op != syntax.EQL && first.Op != syntax.NEQ && first.Op != syntax.IN && first.Op != syntax.NOT_IN {
		return false
	}
	d := diagnostic.Diagnostic{Message: "this is true whatever " + a.file.briefly(first.X) + " is"}
	switch {
	case first.Op == syntax.EQL:
		d.Hint = "write " + a.file.briefly(first.X) + " in (" + a.file.briefly(first.Y) + ", " + l.Raw + ")"
	case first.Op == syntax.NEQ:
		d.Hint = "write " + a.file.briefly(first.X) + " not in (" + a.file.briefly(first.Y) + ", " + l.Raw + ")"
	}
	a.warn("no_truth", l, d)
	return true
}

// listed are the texts of which a path is one, as a contract or the options of a gate say; nil
// where it may be anything else.
func (a *analysis) listed(e syntax.Expr, w *flow) []string {
	var from syntax.Expr
	switch e := way.Unparen(e).(type) {
	case *syntax.IndexExpr:
		from = e.X
	case *syntax.DotExpr:
		from = e.X
		if e.Name.Name != "choice" {
			return nil
		}
	default:
		return nil
	}
	x := a.quietly(from, w)
	for _, at := range x.atoms {
		if !at.recordOf("Decision") && (at.kind != dict || at.obj.shaped == nil || at.obj.lent) {
			return nil
		}
	}
	t := a.quietly(e, w)
	texts := exacts(t)
	if !x.known() || !t.known() || t.has(none) || len(texts) < 2 || contains(texts, "") {
		return nil
	}
	return texts
}

// heldFunction: a variable that is given a function stands for what the function gives. A parameter
// is none of these: a function may be left out there.
func (a *analysis) heldFunction(id *syntax.Ident, w *flow) {
	root := way.Variable(id)
	if root == nil || len(a.writes[root]) == 0 {
		return
	}
	if at, ok := a.quietly(id, w).only(); ok && at.kind == function && !at.obj.fn.named(id) {
		a.warn("no_truth", id, diagnostic.Diagnostic{Message: "a function is true, whatever it would give", Hint: "call it: " + id.Name + "(…)"})
	}
}

// lacking: a dict is read by one of several texts that a contract lists, and does not have them
// all.
func (a *analysis) lacking(e *syntax.IndexExpr, x, y Type) {
	at, ok := x.only()
	texts := exacts(y)
	if !ok || !a.saying || at.kind != dict || at.obj.lent || at.obj.textKeys() || len(texts) < 2 || len(texts) != len(y.atoms) || y.any {
		return
	}
	if root, path := way.Path(e.Y); root == nil || path == "" && !a.aliased[root] {
		return
	}
	var missing []string
	for _, s := range texts {
		if _, there := at.obj.under(s); !there {
			missing = append(missing, s)
		}
	}
	if len(missing) == 0 || len(missing) == len(texts) {
		return
	}
	a.later(e.Y, "missing_key", diagnostic.Diagnostic{Message: "this may be " + eitherOf(missing) + ", and there is no such key", Want: oneOf(at.obj.order),
		Hint: "add it, or read with .get(…)"})
}

// neverFilled: a dict is read into which nothing is ever put, or only what is read there first, as
// in d[k] += 1.
func (a *analysis) neverFilled(e *syntax.IndexExpr, x Type) {
	at, ok := x.only()
	if !ok || at.kind != dict || at.obj.lent || len(at.obj.order) > 0 || !at.obj.key.empty() {
		return
	}
	if d, ok := at.obj.at.(*syntax.DictExpr); !ok || len(d.List) > 0 {
		return
	}
	name := a.file.briefly(e.X)
	a.later(e.X, "missing_key", diagnostic.Diagnostic{Message: "nothing is ever put into this dict, but what is read there first", Note: a.origin(e.X, x),
		Hint: name + "[k] = " + name + ".get(k, 0) + 1 counts, " + name + ".setdefault(k, []).append(x) collects"})
}

// absent: a contract says that a key may not be there (name?: T), and it is read as if it were.
func (a *analysis) absent(e *syntax.IndexExpr, x, y Type) {
	at, ok := x.only()
	key, one := y.only()
	if !ok || !one || !a.saying || at.kind != dict || at.obj.shaped == nil || at.obj.textKeys() || !key.exact || key.kind != text {
		return
	}
	f := at.obj.fields[key.lit]
	if f == nil || f.put || !slices.ContainsFunc(at.obj.shaped.Members, func(m contract.Member) bool { return m.Name == key.lit && m.Absent }) {
		return
	}
	noted := a.laterOf(nil, e, "missing_key", diagnostic.Diagnostic{Message: "the contract says " + key.lit + "?: the key need not be there",
		Hint: "look first: if " + quote(key.lit) + " in …, or read with .get(" + quote(key.lit) + ", …)"})
	if noted != nil {
		noted.absent = true
	}
}

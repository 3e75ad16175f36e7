package infer

import (
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/way"
)

// duration: every text that an argument can be is no duration. Of one that stands in the call the
// checks of the text speak.
func (a *analysis) duration(o *object, p *effect.Param, x argument, call *syntax.CallExpr) {
	if _, here := way.Unparen(x.node).(*syntax.Literal); here || p.Type != "duration" || !x.typ.known() {
		return
	}
	var first string
	var wrong error
	for _, at := range x.typ.atoms {
		if at.kind != text || !at.exact {
			a.computedDuration(o, p, x.node)
			return
		}
		_, err := contract.ParseDuration(at.lit)
		if err == nil {
			return
		}
		if wrong == nil {
			first, wrong = at.lit, err
		}
	}
	a.report("bad_duration", x.node, call, diagnostic.Diagnostic{Message: o.path + ": for parameter " + p.Name + ": " + wrong.Error(),
		Hint: contract.DurationHint(first), Note: a.origin(x.node, x.typ)})
}

// Reached is a text of the script that reaches a parameter of a builtin by way of names.
type Reached struct {
	File *File
	Arg  syntax.Expr // what is passed
	By   string      // the builtin
	For  effect.Param
	Text string
}

// reach notes the texts that an argument may be, of which not all need do: of what is read by a key
// that is computed it is not known which it is.
func (a *analysis) reach(o *object, p *effect.Param, x argument) {
	of := x.node
	if e, ok := way.Unparen(of).(*syntax.IndexExpr); ok {
		of = e.X
	}
	root, _ := way.Path(of)
	if a.muted() || root == nil || a.depth > 0 || p.Type != "duration" && !strings.HasPrefix(o.path, "schedule.") {
		return
	}
	for _, s := range exactTexts(x.typ) {
		if r := (Reached{a.file.File, x.node, o.path, *p, s}); !slices.ContainsFunc(a.reaches, func(q Reached) bool { return q.Arg == r.Arg && q.Text == s && q.For.Name == p.Name }) {
			a.reaches = append(a.reaches, r)
		}
	}
}

// computedDuration: whatever is put into a text that is computed here, it is no duration.
func (a *analysis) computedDuration(o *object, p *effect.Param, e syntax.Expr) {
	forms := a.formsOf(e)
	if len(forms) == 0 || slices.ContainsFunc(forms, func(s string) bool { _, err := contract.ParseDuration(s); return err == nil }) {
		return
	}
	d := diagnostic.Diagnostic{Message: o.path + ": for parameter " + p.Name + ": what is computed is no duration", Got: "such as " + strconv.Quote(forms[0]),
		Want: `a number with a unit (ns us ms s m h d), such as "90s", "2h" or "1d"`, Hint: `write a unit right behind the number, as in "%dh" % hours`}
	a.warn("bad_duration", e, d)
}

// computedName: whatever is put into a text that is computed here, it is no name.
func (a *analysis) computedName(o *object, b *effect.Builtin, p *effect.Param, e syntax.Expr) {
	names := []string{"name", "queue"}
	if o.path == "agent" || o.path == "handoff" {
		names = append(names, "who", "to")
	}
	if _, here := way.Unparen(e).(*syntax.Literal); here || b.Class == effect.Pure || !contains(names, p.Name) || !a.saying {
		return
	}
	var wrong error
	for _, s := range a.formsOf(e) {
		if wrong = effect.CheckName(s); wrong == nil {
			return
		}
	}
	if wrong != nil {
		d := diagnostic.Diagnostic{Message: o.path + ": for parameter " + p.Name + ": " + wrong.Error(), Hint: "text.slug(…) makes a name of a text"}
		if p.Name == "who" {
			d.Hint = "the agent's name stands first, its task second"
		}
		a.warn("bad_name", e, d)
	}
}

// formsOf are the forms of an expression, of what the variable that it is was given, or of what the
// function that it calls gives.
func (a *analysis) formsOf(e syntax.Expr) []string {
	if id, ok := way.Unparen(e).(*syntax.Ident); ok && len(a.writes[way.Variable(id)]) == 1 {
		if written, ok := a.writes[way.Variable(id)][0].(*syntax.Ident); ok && a.values[written] != nil {
			e = a.values[written]
		}
	}
	if call, ok := way.Unparen(e).(*syntax.CallExpr); ok {
		if id, ok := way.Unparen(call.Fn).(*syntax.Ident); ok && way.Variable(id) != nil {
			if at, ok := a.cell(way.Variable(id)).only(); ok && at.kind == function && !at.obj.fn.falls {
				return way.Returned(at.obj.fn.decl.Body)
			}
		}
	}
	return way.Forms(e)
}

// oneOf: every text that an argument can be is none of those that the parameter takes. Of one that
// stands in the call the checks of the text speak.
func (a *analysis) oneOf(o *object, p *effect.Param, x argument, call *syntax.CallExpr) {
	texts := exactTexts(x.typ)
	if _, here := way.Unparen(x.node).(*syntax.Literal); here || len(p.OneOf) == 0 || texts == nil {
		return
	}
	for _, s := range texts {
		if contains(p.OneOf, s) {
			return
		}
	}
	a.report("bad_choice", x.node, call, diagnostic.Diagnostic{Message: o.path + ": for parameter " + p.Name, Got: x.typ.String(), Want: oneOf(p.OneOf),
		Hint: diagnostic.Meant(texts[0], p.OneOf), Note: a.origin(x.node, x.typ)})
}

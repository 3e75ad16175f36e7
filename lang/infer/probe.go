package infer

import (
	"cmp"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/edit"
	"starling/lang/way"
)

// All calls of a function together give the types of its parameters, so that what one of them gives
// wrongly is one of several alternatives in it, and silent. When everything is known, a function is
// therefore gone over once more for a call that gives it less than all do: what fails then, on the
// way that every call takes through it, fails for what this one gives.

// passing is a call of a function and what it gives each parameter.
type passing struct {
	f     *fn
	args  *arguments
	given []Type
	file  *unit
	in    *fn
}

// The bounds of the work.
const (
	maxProbes     = 400 // in a program
	maxProbeDepth = 3   // calls within calls
	maxProbeBody  = 200 // lines of a function
)

// remember keeps a call for [analysis.probeAll], which looks at it when nothing grows any more.
func (a *analysis) remember(f *fn, g *arguments) {
	if a.saying && g.call != nil {
		f.callers = append(f.callers, a.lookingAt(g.call))
	}
	if !a.saying || g.call == nil || g.either || g.loose() || a.muted() {
		return
	}
	p := passing{f, g, a.passed(f, g), a.file, a.fn}
	for i := range a.passings {
		if q := &a.passings[i]; q.args.call == g.call && q.f == f {
			*q = p
			return
		}
	}
	a.passings = append(a.passings, p)
}

// probeAll says which calls give a function what it fails with.
func (a *analysis) probeAll() {
	list := a.passings
	a.passings = nil
	for i := range a.found {
		a.passedFrozen(&a.found[i], list)
	}
	failing := map[*fn]bool{}
	for _, f := range a.found {
		failing[f.within] = true
	}
	for _, p := range list {
		if a.probes < maxProbes && (failing[p.f] || p.narrower()) {
			a.blame(p, a.probe(p))
		}
	}
}

// passedFrozen says of a parameter that is changed, and frozen, which call passes it.
func (a *analysis) passedFrozen(f *Finding, list []passing) {
	name, _ := way.Changed(f.about)
	if f.Diagnostic.Kind != "frozen" || f.Diagnostic.Note != "" || f.within == nil {
		return
	}
	for _, p := range list {
		if p.f != f.within {
			continue
		}
		for _, id := range p.f.mentioned(f.about) {
			place, _ := way.Parameter(p.f.decl.Params, id)
			arg, given := p.args.argument(id.Name, place)
			passed := direct(arg.node)
			if id.Name != name || !given || passed == nil {
				continue
			}
			b, _ := passed.Binding.(*resolve.Binding)
			if at, ok := arg.typ.only(); ok && at.obj != nil && at.obj.made && b != nil && b.Scope == resolve.Global {
				f.Diagnostic.Note = passed.Name + " is passed on " + lineIn(f.File, way.Start(p.args.call))
				return
			}
		}
	}
}

// narrower tells whether a call gives a parameter something that is known, and less than all calls
// give it.
func (p *passing) narrower() bool {
	for i, t := range p.given {
		if t.known() && !same(t, p.f.params[i]) {
			return true
		}
	}
	return false
}

// probe goes over a function with what one call gives it, and finds what fails on the way that
// every call takes.
func (a *analysis) probe(p passing) []Finding {
	f := p.f
	if lines := way.End(f.node).Line - way.Start(f.node).Line; lines > maxProbeBody || a.depth >= maxProbeDepth || a.probes >= maxProbes {
		return nil
	}
	was := *a
	a.probes++
	a.depth++
	a.file, a.fn, a.loops, a.clauses, a.caught, a.reads, a.saying = f.file, f, nil, 0, 0, false, true
	a.found, a.pending, a.passings, a.seen = nil, nil, nil, nil
	a.heads = map[syntax.Node]*flow{}
	w := newFlow(len(f.decl.Locals))
	copy(w.vars, p.given)
	a.block(f.decl.Body, w)
	within := a.passings
	found := a.found
	a.passings, a.found = nil, nil
	for _, q := range within {
		if q.narrower() {
			a.blame(q, a.probe(q))
		}
	}
	found = append(found, a.found...)
	was.probes = a.probes
	*a = was
	var list []Finding
	for _, x := range found {
		if x.Diagnostic.Severity == diagnostic.Error && x.within == f && x.about != nil {
			list = append(list, x)
		}
	}
	return list
}

// blame says at a call what fails for what it gives. What fails for every call is said where it
// fails, unless what it fails with is the argument itself: then the calls are wrong.
func (a *analysis) blame(p passing, failures []Finding) {
	for _, x := range failures {
		params := p.f.mentioned(x.about)
		if len(params) == 0 {
			continue
		}
		at := way.Start(x.about)
		if e, ok := x.about.(*syntax.CondExpr); ok {
			at = way.Start(e.Cond) // where either value fails, the condition is reached
		}
		sure, likely := way.Inevitable(p.f.decl.Body, at, params)
		if !likely {
			continue
		}
		d, n := a.blamed(p, x, params)
		if i := a.said(x); i >= 0 {
			if direct(x.about) == nil || a.found[i].File != x.File {
				if f := &a.found[i]; f.Diagnostic.Note == "" && f.within == p.f && !contains([]string{"bad_format", "frozen"}, f.Diagnostic.Kind) {
					f.Diagnostic.Note = strings.TrimPrefix(p.f.show(), "function ") + " is called on " + lineIn(f.File, way.Start(p.args.call)) + a.givenTo(p, params)
				}
				continue
			}
			a.found = append(a.found[:i:i], a.found[i+1:]...)
		}
		if !sure {
			d.Severity = diagnostic.Warning
		}
		file, in := p.file, p.in
		if n == nil {
			n = p.args.call.Fn
		} else if !standsIn(n, p.args.call) {
			file = p.f.file // its default
		}
		from, to := way.Span(n)
		f := Finding{File: file.File, Start: from, End: to, Diagnostic: d, Node: p.args.call, within: in, about: n, fails: &x}
		if x.apart {
			f.File, f.Start, f.End, f.apart, f.fails, f.Diagnostic = x.File, x.Start, x.End, true, nil, x.Diagnostic
			f.Diagnostic.Note, f.Diagnostic.Severity = cmp.Or(x.Diagnostic.Note, p.heldIn()+lineIn(x.File, at)), d.Severity
		}
		a.found = append(a.found, f)
	}
}

// heldIn says which function holds a value of a call against a contract.
func (p *passing) heldIn() string {
	return strings.TrimPrefix(p.f.show(), "function ") + " holds it against its contract on "
}

// givenTo is what a call gives some parameters, in words.
func (a *analysis) givenTo(p passing, params []*syntax.Ident) string {
	words := ""
	for _, id := range params {
		words += ", " + id.Name + " is " + p.given[a.parameter(id)].String()
	}
	return words
}

// said is the place of a finding among those that are said, -1 for none.
func (a *analysis) said(x Finding) int {
	for i, f := range a.found {
		if f.at(x) {
			return i
		}
	}
	return -1
}

// direct is the name that a node is, nil for any other node.
func direct(n syntax.Node) *syntax.Ident {
	e, ok := n.(syntax.Expr)
	if !ok {
		return nil
	}
	id, _ := way.Unparen(e).(*syntax.Ident)
	return id
}

// blamed is what to say of a failure at a call, and the argument or the default that is wrong, nil
// where that is not one.
func (a *analysis) blamed(p passing, x Finding, params []*syntax.Ident) (diagnostic.Diagnostic, syntax.Node) {
	d := x.Diagnostic
	d.Fix = diagnostic.Edit{}
	d.Note = "it fails on " + lineIn(p.file.File, x.Start)
	name := strings.TrimPrefix(p.f.show(), "function ")
	id := direct(x.about)
	if e, ok := x.about.(*syntax.CondExpr); ok {
		id = cmp.Or(direct(e.True), direct(e.False))
	}
	if id == nil || len(params) != 1 || way.Variable(id) != way.Variable(params[0]) {
		d.Message = name + ": " + d.Message
		return d, nil
	}
	place, e := way.Parameter(p.f.decl.Params, params[0])
	arg, given := p.args.argument(params[0].Name, place)
	if given {
		e = arg.node
	}
	d.Message = name + ": for parameter " + params[0].Name + reason(d)
	if x.Diagnostic.Kind == "not_callable" {
		d.Message, d.Got, d.Want = name+": for parameter "+params[0].Name, p.given[a.parameter(params[0])].brief(), "a function"
	}
	if d.Want == "a function" && e != nil && way.PartOfCall(e) {
		d.Hint, d.Fix = "this calls it before "+name+" does: write lambda: "+p.file.briefly(e), edit.Deferring(e)
	}
	if e == nil {
		return d, nil
	}
	return d, e
}

// reason is what a message says behind the last name of a parameter, or all of it.
func reason(d diagnostic.Diagnostic) string {
	_, rest, ok := strings.Cut(d.Message, "for parameter ")
	if !ok {
		return ": " + d.Message
	}
	if _, why, ok := strings.Cut(rest, ": "); ok {
		return ": " + why
	}
	return ""
}

// mentioned are the parameters that a node names and that are given no other value.
func (f *fn) mentioned(n syntax.Node) []*syntax.Ident {
	var list []*syntax.Ident
	syntax.Walk(n, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		if !ok {
			return true
		}
		for _, l := range f.decl.Locals[:len(f.params)] {
			if way.Variable(id) == l.First && !way.Gives(f.decl.Body, l.First) && !slices.Contains(list, l.First) {
				list = append(list, l.First)
			}
		}
		return true
	})
	return list
}

// standsIn tells whether a node stands in a call.
func standsIn(n, call syntax.Node) bool {
	return !way.Before(way.Start(n), way.Start(call)) && way.Before(way.Start(n), way.End(call))
}

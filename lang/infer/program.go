package infer

import (
	"cmp"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/way"
)

// What is known of a loaded file depends on who loads it. By itself its functions may be called
// with anything, and that is how it is judged. This program calls them in its own way; that is gone
// over too, for what fails in this program.

// library is how the names of the files begin that are no files of the project.
const library = "@std/"

// whole infers a program with its loaded files as they stand, and then as the program uses them.
func whole(files []*File, env *effect.Environment, seen map[syntax.Expr]Type) *Result {
	r := inferred(files, env, seen, false)
	entry := len(files) - 1
	if !r.settled || entry < 1 || strings.HasSuffix(files[entry].Name, "_test.star") {
		return r // a test gives functions what they do not take
	}
	used := inferred(files, env, nil, true)
	for _, f := range used.Findings {
		r.add(used.a.placedAt(f, files[entry])...)
	}
	return r
}

// add adds findings where nothing of their kind is said yet.
func (r *Result) add(list ...Finding) {
	for _, f := range list {
		if !r.says(f) {
			r.Findings = append(r.Findings, f)
		}
	}
}

func (r *Result) says(f Finding) bool {
	for _, g := range r.Findings {
		if g.at(f) || g.fails != nil && g.fails.at(f) {
			return true
		}
	}
	return false
}

// at tells whether two findings say the same of one place.
func (f *Finding) at(g Finding) bool {
	return f.File == g.File && f.Start == g.Start && f.Diagnostic.Kind == g.Diagnostic.Kind
}

// site is where a function is called.
type site struct {
	file *unit
	call *syntax.CallExpr
}

// calledFrom notes that a file calls a function of another one. What an attempt calls may be called
// wrongly by intent.
func (a *analysis) calledFrom(f *fn, g *arguments) {
	if f.file == a.file {
		return
	}
	if a.fn.mayFail() {
		a.open(f)
	}
	if a.saying && g.call != nil {
		f.sites = append(f.sites, site{a.file, g.call})
	}
}

// placedAt is where to say what fails in a program as it uses its files. Warnings about a loaded
// file are left to that file: that one program never takes a branch is no mistake there. What fails
// in the library is said where it is called.
func (a *analysis) placedAt(f Finding, entry *File) []Finding {
	switch {
	case f.File == entry && f.usable():
		return []Finding{f}
	case f.File == entry, f.Diagnostic.Severity != diagnostic.Error || f.within == nil:
		return nil
	}
	in := f.within
	for in.outer != nil {
		in = in.outer
	}
	if strings.HasPrefix(f.File.Name, library) && way.Conditional(in.decl.Body, f.Start) {
		return nil
	}
	var list []Finding
	for _, s := range in.sites {
		if strings.HasPrefix(s.file.Name, library) {
			continue
		}
		if !strings.HasPrefix(f.File.Name, library) {
			f.Diagnostic.Note = cmp.Or(f.Diagnostic.Note, in.show()+" is called in "+s.file.Name+" on line "+itoa(int(way.Start(s.call).Line)))
			return []Finding{f}
		}
		d := f.Diagnostic
		d.Message, d.Fix = nameOf(s.call)+": "+d.Message, diagnostic.Edit{}
		d.Note = "it fails in " + f.File.Name + " on line " + itoa(int(f.Start.Line))
		from, to := way.Span(s.call)
		list = append(list, Finding{File: s.file.File, Start: from, End: to, Diagnostic: d, Node: s.call})
	}
	if list == nil && !strings.HasPrefix(f.File.Name, library) {
		return []Finding{f}
	}
	return list
}

// usable tells whether a finding about the entry holds with what loaded functions give. That these
// may give None is said where they themselves end without a return: that a value is there is often
// known from what was done in another file.
func (f Finding) usable() bool {
	if f.Diagnostic.Severity == diagnostic.Error || f.fails != nil {
		return true
	}
	if o := f.missing; o != nil {
		return o.why == "falls" && !strings.HasPrefix(o.fn.file.Name, library)
	}
	return f.Diagnostic.Kind == "never_equal" || f.Diagnostic.Kind == "missing_key"
}

// nameOf is what a call calls, by the last name.
func nameOf(call *syntax.CallExpr) string {
	switch e := way.Unparen(call.Fn).(type) {
	case *syntax.Ident:
		return e.Name
	case *syntax.DotExpr:
		return e.Name.Name
	}
	return "this"
}

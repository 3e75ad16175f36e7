package check

import (
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/infer"
	"starling/lang/way"
)

// File is one module of a program.
type File = infer.File

// Files checks the modules of a program against the builtins that it will have, and against its
// project. The result is sorted by place.
func Files(files []*File, env *effect.Environment, project Project) diagnostic.List {
	return Inferred(files, infer.Files(files, env), env, project)
}

// Inferred is [Files] for whoever has inferred the types of the program already.
func Inferred(files []*File, inferred *infer.Result, env *effect.Environment, project Project) diagnostic.List {
	var all diagnostic.List
	index := make(map[*File]*names, len(files))
	for _, f := range files {
		index[f] = indexNames(f.Tree)
	}
	broken := slices.ContainsFunc(files, func(f *File) bool { return f.Broken })
	for i, f := range files {
		c := &checker{file: f, entry: i == len(files)-1, env: env, project: project, names: index[f], index: index, late: map[*syntax.Ident]bool{}, sampled: map[syntax.Expr]bool{}, broken: broken}
		c.loads()
		c.flow()
		c.unused()
		c.early()
		c.lost()
		c.unset(inferred)
		c.rounds()
		c.unfilled()
		c.misspelt()
		c.expressions()
		c.kept()
		c.loadTime()
		c.endless()
		c.endlessCalls()
		c.busy()
		c.pipelines()
		c.typed(inferred)
		c.reached(inferred)
		c.ignored()
		c.found.Sort()
		all = append(all, c.found...)
	}
	return all
}

// checker applies the rules to one file.
type checker struct {
	file    *File
	entry   bool // it is the one that runs
	env     *effect.Environment
	project Project
	names   *names
	index   map[*File]*names       // of all files
	broken  bool                   // some file does not compile, so that no types are known
	sampled map[syntax.Expr]bool   // whose samples are being made
	late    map[*syntax.Ident]bool // uses of a loop's variable that come too late
	found   diagnostic.List
}

// report notes a problem at the text from start to end.
func (c *checker) report(kind string, start, end syntax.Position, d diagnostic.Diagnostic) {
	d.Kind = kind
	from := diagnostic.Offset(c.file.Source, int(start.Line), int(start.Col))
	to := diagnostic.Offset(c.file.Source, int(end.Line), int(end.Col))
	c.found = append(c.found, d.At(c.file.Name, c.file.Source, from, to))
}

// at reports a problem with a node.
func (c *checker) at(kind string, n syntax.Node, d diagnostic.Diagnostic) {
	start, end := way.Span(n)
	c.report(kind, start, end, d)
}

// typed adds what follows from the types, where no other rule has said the same of the place.
func (c *checker) typed(inferred *infer.Result) {
	for _, f := range inferred.Findings {
		if f.File != c.file {
			continue
		}
		own := len(c.found)
		c.report(f.Diagnostic.Kind, f.Start, f.End, f.Diagnostic)
		d := c.found[own]
		if slices.ContainsFunc(c.found[:own], func(e diagnostic.Diagnostic) bool {
			return e.Kind == d.Kind && e.Line == d.Line && e.Col == d.Col
		}) {
			c.found = c.found[:own]
		}
	}
}

// reached looks at what reaches a builtin by way of names as at what stands in its call. It is said
// where it is written, if that is one place of the file.
func (c *checker) reached(inferred *infer.Result) {
	for _, r := range inferred.Reached() {
		if r.File != c.file {
			continue
		}
		inner := &checker{file: c.file, env: c.env}
		place := way.Written(c.file.Tree, r.Text)
		if place == nil {
			place = r.Arg
		}
		inner.text(&signature{name: r.By, effect: true}, r.For, place, r.Text)
		for _, d := range inner.found {
			line := int(way.Start(r.Arg).Line)
			if slices.ContainsFunc(c.found, func(e diagnostic.Diagnostic) bool {
				return e.Kind == d.Kind && (e.Line == line || e.Line == d.Line && e.Col == d.Col || strings.Contains(e.Message, strconv.Quote(r.Text)))
			}) {
				continue
			}
			d.Severity = diagnostic.Warning
			d.Note = r.By + " takes it on line " + itoa(int32(line))
			c.found = append(c.found, d)
		}
	}
}

// expressions applies the rules that look at one expression at a time.
func (c *checker) expressions() {
	set := map[syntax.Expr]bool{}
	syntax.Walk(c.file.Tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			c.call(n)
			c.letters(n)
		case *syntax.AssignStmt:
			set[n.LHS] = true
			c.reversed(n)
		case *syntax.IndexExpr:
			if !set[n] {
				c.behindLast(n)
			}
		case *syntax.DotExpr:
			c.attribute(n)
		case *syntax.DictExpr:
			c.keys(n)
		}
		return true
	})
}

// builtin is the builtin that an expression denotes, with its full name: "gate", "http.get", "len".
func (c *checker) builtin(e syntax.Expr) (name string, value starlark.Value) {
	name, ok := way.Predeclared(e)
	if !ok {
		return "", nil
	}
	value, ok = c.env.Lookup(name)
	if !ok {
		return "", nil
	}
	return name, value
}

// calls tells whether an expression is a call of the builtin.
func (c *checker) calls(e syntax.Expr, builtin string) bool {
	call, ok := way.Unparen(e).(*syntax.CallExpr)
	if !ok {
		return false
	}
	name, _ := c.builtin(call.Fn)
	return name == builtin
}

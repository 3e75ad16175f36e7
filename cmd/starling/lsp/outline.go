package lsp

import (
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang"
)

// outline is a file parsed, with where each variable of it is bound and used. A variable is known
// by the identifier that first binds it, which the resolver shares among all uses.
type outline struct {
	path    string
	text    *text
	tree    *syntax.File
	uses    map[*syntax.Ident][]*syntax.Ident // of a variable, in the order of the text
	globals map[string]*syntax.Ident          // variables of the top level
	loads   map[*syntax.Ident]loaded          // variables that are loaded
	defs    map[*syntax.Ident]*syntax.DefStmt // functions
	from    []*syntax.Ident                   // names of other files in load statements
}

// loaded is what a variable is loaded from.
type loaded struct{ module, name string }

// newOutline parses a text, nil where that cannot be done.
func newOutline(path string, t *text) *outline {
	tree, err := lang.Parse(path, []byte(t.source))
	if err != nil {
		return nil
	}
	any := func(string) bool { return true }
	resolve.File(tree, any, func(string) bool { return false }) // of mistakes the study tells
	return outlineOf(path, t, tree)
}

// outlineOf is the outline of a tree whose names are resolved.
func outlineOf(path string, t *text, tree *syntax.File) *outline {
	o := &outline{path, t, tree, map[*syntax.Ident][]*syntax.Ident{}, map[string]*syntax.Ident{}, map[*syntax.Ident]loaded{}, map[*syntax.Ident]*syntax.DefStmt{}, nil}
	if m, ok := tree.Module.(*resolve.Module); ok {
		for _, g := range m.Globals {
			o.globals[g.First.Name] = g.First
		}
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		o.note(n)
		return true
	})
	return o
}

func (o *outline) note(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Ident:
		if v := variable(n); v != nil {
			o.uses[v] = append(o.uses[v], n)
		}
	case *syntax.DefStmt:
		o.defs[variable(n.Name)] = n
	case *syntax.LoadStmt:
		for i, to := range n.To {
			if v := variable(to); v != nil {
				o.loads[v] = loaded{n.ModuleName(), n.From[i].Name}
				if _, global := o.globals[to.Name]; !global {
					o.globals[to.Name] = v // a load binds in the file alone, and is seen in all of it
				}
			}
		}
		o.from = append(o.from, n.From...)
	}
}

// variable is the identifier that first binds what another denotes, nil for what is predeclared, an
// attribute, or the name of a keyword argument.
func variable(id *syntax.Ident) *syntax.Ident {
	b, ok := id.Binding.(*resolve.Binding)
	if !ok || b.Scope == resolve.Predeclared || b.Scope == resolve.Universal || b.Scope == resolve.Undefined {
		return nil
	}
	return b.First
}

// identAt is the identifier at an offset, or just before it, nil if there is none.
func (o *outline) identAt(offset int) *syntax.Ident {
	var found *syntax.Ident
	syntax.Walk(o.tree, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok {
			if from, to := o.text.node(id); from <= offset && offset <= to {
				found = id
			}
		}
		return found == nil
	})
	return found
}

// loadAt is the load statement whose file is named at an offset, nil if there is none.
func (o *outline) loadAt(offset int) *syntax.LoadStmt {
	for _, s := range o.tree.Stmts {
		if l, ok := s.(*syntax.LoadStmt); ok {
			if from, to := o.text.node(l.Module); from <= offset && offset <= to {
				return l
			}
		}
	}
	return nil
}

// span is where a node stands.
func (o *outline) span(n syntax.Node) span {
	from, to := o.text.node(n)
	return o.text.span(from, to)
}

// loadOf is what a name of a load statement takes from another file.
func (o *outline) loadOf(id *syntax.Ident) (loaded, bool) {
	for _, s := range o.tree.Stmts {
		l, ok := s.(*syntax.LoadStmt)
		if !ok {
			continue
		}
		for i := range l.From {
			if l.From[i] == id || l.To[i] == id {
				return loaded{l.ModuleName(), l.From[i].Name}, true
			}
		}
	}
	return loaded{}, false
}

// inScope lists the variables that can be seen at an offset: those of the functions around it, and
// of the top level.
func (o *outline) inScope(offset int) map[string]*syntax.Ident {
	seen := map[string]*syntax.Ident{}
	for name, v := range o.globals {
		seen[name] = v
	}
	syntax.Walk(o.tree, func(n syntax.Node) bool {
		if n == nil {
			return false
		}
		var f *resolve.Function
		switch n := n.(type) {
		case *syntax.DefStmt:
			f, _ = n.Function.(*resolve.Function)
		case *syntax.LambdaExpr:
			f, _ = n.Function.(*resolve.Function)
		}
		if f != nil && o.within(n, offset) {
			for _, l := range f.Locals {
				seen[l.First.Name] = l.First
			}
		}
		return true
	})
	return seen
}

// within tells whether an offset is in a function, or at its end, where its text goes on.
func (o *outline) within(n syntax.Node, offset int) bool {
	from, to := o.text.node(n)
	if from <= offset && offset <= to {
		return true
	}
	def, ok := n.(*syntax.DefStmt)
	if !ok || offset < to {
		return false
	}
	between := o.text.source[to:min(offset, len(o.text.source))]
	last := between[strings.LastIndexByte(between, '\n')+1:]
	return strings.TrimSpace(between) == "" && len(last) > int(def.Def.Col)-1
}

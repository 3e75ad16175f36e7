package lsp

import (
	"maps"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang"
)

// A symbol is a variable, where it is defined: what is loaded is one of the other file.
type symbol struct {
	in   *outline
	name *syntax.Ident // that first binds it
}

// symbolAt is what the name at a position stands for, false where there is none or it is not
// defined in a file.
func (s *Server) symbolAt(d *document, p position) (symbol, *syntax.Ident, bool) {
	o := s.outlineOf(d)
	if o == nil {
		return symbol{}, nil, false
	}
	offset, ok := d.text.follow(o.text, d.text.offset(p))
	if !ok {
		return symbol{}, nil, false
	}
	id := o.identAt(offset)
	if id == nil {
		return symbol{}, nil, false
	}
	sym, ok := s.symbolOf(o, id)
	return sym, id, ok
}

// symbolOf is what an identifier stands for.
func (s *Server) symbolOf(o *outline, id *syntax.Ident) (symbol, bool) {
	from, ok := o.loadOf(id)
	v := variable(id)
	if !ok && v != nil {
		from, ok = o.loads[v]
	}
	if ok {
		other := s.outlineAt(s.loadedFrom(o.path, from.module))
		if other == nil || other.globals[from.name] == nil {
			return symbol{}, false
		}
		return symbol{other, other.globals[from.name]}, true
	}
	if v == nil {
		return s.keywordOf(o, id)
	}
	return symbol{o, v}, true
}

// keywordOf is the parameter that the name of a keyword argument stands for.
func (s *Server) keywordOf(o *outline, id *syntax.Ident) (found symbol, ok bool) {
	syntax.Walk(o.tree, func(n syntax.Node) bool {
		call, isCall := n.(*syntax.CallExpr)
		if !isCall || ok {
			return !ok
		}
		fn, named := call.Fn.(*syntax.Ident)
		for _, arg := range call.Args {
			if b, isNamed := arg.(*syntax.BinaryExpr); named && isNamed && b.Op == syntax.EQ && b.X == id {
				found, ok = s.parameterOf(o, fn, id.Name)
			}
		}
		return true
	})
	return found, ok
}

func (s *Server) parameterOf(o *outline, fn *syntax.Ident, name string) (symbol, bool) {
	f, ok := s.symbolOf(o, fn)
	if !ok || f.in.defs[f.name] == nil {
		return symbol{}, false
	}
	for _, p := range f.in.defs[f.name].Params {
		if b, isDefault := p.(*syntax.BinaryExpr); isDefault {
			p = b.X
		}
		if id, isName := p.(*syntax.Ident); isName && id.Name == name {
			return symbol{f.in, variable(id)}, variable(id) != nil
		}
	}
	return symbol{}, false
}

// definition is where the name at a position is defined, or the file that a load names.
func (s *Server) definition(d *document, p *params) (any, error) {
	if o := s.outlineOf(d); o != nil {
		if offset, ok := d.text.follow(o.text, d.text.offset(p.Position)); ok {
			if l := o.loadAt(offset); l != nil {
				return s.fileLocation(s.loadedFrom(d.path, l.ModuleName())), nil
			}
		}
	}
	sym, _, ok := s.symbolAt(d, p.Position)
	if !ok || strings.HasPrefix(sym.in.path, library) {
		return nil, nil
	}
	return location{s.uriOf(sym.in.path), sym.in.span(sym.name)}, nil
}

// fileLocation is the beginning of a file, nil for one of the library, which is in the program.
func (s *Server) fileLocation(path string) any {
	if strings.HasPrefix(path, library) {
		return nil
	}
	return location{URI: s.uriOf(path)}
}

// use is a place at which a symbol is named.
type use struct {
	in *outline
	id *syntax.Ident
}

// uses lists the places at which a symbol is named, in all scripts that can load its file: those
// below the root of the project, as the editor has them.
func (s *Server) uses(sym symbol) []use {
	var list []use
	for _, id := range sym.in.uses[sym.name] {
		list = append(list, use{sym.in, id})
	}
	if sym.in.globals[sym.name.Name] == sym.name && !strings.HasPrefix(sym.in.path, library) {
		for _, path := range s.scripts(sym.in.path) {
			if o := s.outlineAt(path); o != nil && path != sym.in.path {
				list = append(list, s.usesIn(o, sym)...)
			}
		}
	}
	list = append(list, s.keywordUses(sym, list)...)
	return unique(list)
}

// unique leaves out what stands twice: a name that a load takes as it is binds it too.
func unique(list []use) []use {
	seen := map[*syntax.Ident]bool{}
	return slices.DeleteFunc(list, func(u use) bool {
		twice := seen[u.id]
		seen[u.id] = true
		return twice
	})
}

// usesIn lists the places of a file that loads the symbol.
func (s *Server) usesIn(o *outline, sym symbol) []use {
	var list []use
	for _, st := range o.tree.Stmts {
		l, ok := st.(*syntax.LoadStmt)
		if !ok || s.loadedFrom(o.path, l.ModuleName()) != sym.in.path {
			continue
		}
		for i, from := range l.From {
			if from.Name != sym.name.Name {
				continue
			}
			list = append(list, use{o, from})
			if l.To[i] == from {
				for _, id := range o.uses[variable(from)] {
					list = append(list, use{o, id})
				}
			}
		}
	}
	return list
}

// keywordUses lists the calls that pass a parameter by its name.
func (s *Server) keywordUses(sym symbol, _ []use) []use {
	fn := sym.in.parameterOwner(sym.name)
	if fn == nil || variable(fn.Name) == nil {
		return nil
	}
	var list []use
	for _, u := range s.uses(symbol{sym.in, variable(fn.Name)}) {
		syntax.Walk(u.in.tree, func(n syntax.Node) bool {
			call, ok := n.(*syntax.CallExpr)
			if !ok || call.Fn != u.id {
				return true
			}
			for _, arg := range call.Args {
				if b, ok := arg.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ && b.X.(*syntax.Ident).Name == sym.name.Name {
					list = append(list, use{u.in, b.X.(*syntax.Ident)})
				}
			}
			return true
		})
	}
	return list
}

// parameterOwner is the function of which a variable is a parameter, nil for any other.
func (o *outline) parameterOwner(v *syntax.Ident) *syntax.DefStmt {
	for _, def := range o.defs {
		for _, p := range def.Params {
			if b, ok := p.(*syntax.BinaryExpr); ok {
				p = b.X
			}
			if p == v {
				return def
			}
		}
	}
	return nil
}

// scripts are those that may load a file.
func (s *Server) scripts(path string) []string {
	seen := map[string]bool{}
	for _, found := range scriptsBelow(s.rootOf(path)) {
		seen[found] = true
	}
	for _, d := range s.open {
		seen[d.path] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// references are the places at which the name at a position is used.
func (s *Server) references(d *document, p *params) (any, error) {
	list := []location{}
	sym, _, ok := s.symbolAt(d, p.Position)
	if !ok {
		return list, nil
	}
	for _, u := range s.uses(sym) {
		if u.id == sym.name && !p.Context.IncludeDeclaration || strings.HasPrefix(u.in.path, library) {
			continue
		}
		list = append(list, location{s.uriOf(u.in.path), u.in.span(u.id)})
	}
	return list, nil
}

// prepareRename says what would be renamed, nil for what cannot be.
func (s *Server) prepareRename(d *document, p *params) (any, error) {
	sym, id, ok := s.symbolAt(d, p.Position)
	if !ok || sym.fixed() != "" || s.outlineOf(d).text != d.text {
		return nil, nil
	}
	return s.outlineOf(d).span(id), nil
}

// fixed says why a symbol cannot be renamed, "" if it can.
func (sym symbol) fixed() string {
	owner := sym.in.parameterOwner(sym.name)
	switch global := sym.in.globals[sym.name.Name] == sym.name; {
	case strings.HasPrefix(sym.in.path, library):
		return "it is of the library"
	case global && (sym.name.Name == "main" || sym.name.Name == "inputs"):
		return "the name has a meaning for runs"
	case owner != nil && owner.Name.Name == "main":
		return "it is an input, which whoever starts a run names"
	}
	return ""
}

// rename gives a symbol another name, in all files. A name that a file has already is refused:
// which of the two would be meant somewhere is not to be guessed.
func (s *Server) rename(d *document, p *params) (any, error) {
	sym, _, ok := s.symbolAt(d, p.Position)
	if !ok {
		return nil, errCode(codeFailed, "there is no name here that can be changed")
	}
	if why := sym.fixed(); why != "" {
		return nil, errCode(codeFailed, "%s cannot be renamed: %s", sym.name.Name, why)
	}
	if !isName(p.NewName) {
		return nil, errCode(codeFailed, "got %q, want a name", p.NewName)
	}
	if s.outlineOf(d).text != d.text {
		return nil, errCode(codeFailed, "the file has a mistake in its syntax: correct it first")
	}
	edit := workspaceEdit{map[string][]textEdit{}}
	for _, u := range s.uses(sym) {
		if u.in.has(p.NewName) {
			return nil, errCode(codeFailed, "%s has the name %s already", u.in.path, p.NewName)
		}
		uri := s.uriOf(u.in.path)
		edit.Changes[uri] = append(edit.Changes[uri], textEdit{u.in.span(u.id), p.NewName})
	}
	return edit, nil
}

// has tells whether a name stands somewhere in the file.
func (o *outline) has(name string) bool {
	found := false
	syntax.Walk(o.tree, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// isName tells whether a text can be a name: it is one expression, and that is a name.
func isName(text string) bool {
	e, err := lang.FileOptions().ParseExpr("", text, 0)
	id, ok := e.(*syntax.Ident)
	return err == nil && ok && id.Name == text
}

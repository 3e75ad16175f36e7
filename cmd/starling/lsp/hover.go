package lsp

import (
	"fmt"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/doc"
	"starling/lang/infer"
)

// hover says what stands at a position: its type, and what is written about it.
func (s *Server) hover(d *document, p *params) (any, error) {
	offset := d.text.offset(p.Position)
	if d.isProject() {
		return s.projectHover(d, offset), nil
	}
	source := d.text.source
	if around := scan(source, offset); around.text {
		if open, ok := around.call(source); ok && dottedBefore(source, open) == "contract" {
			_, end := literal(source, around.start)
			return typeHover(d, source[around.content:end], wordStart(source, offset), wordEnd(source, offset)), nil
		}
	}
	y := s.studyOf(d)
	var code, about string
	var at span
	o := s.outlineOf(d)
	if o == nil {
		return nil, nil
	}
	place, ok := d.text.follow(o.text, offset)
	if !ok {
		return nil, nil
	}
	id := o.identAt(place)
	if id == nil {
		return nil, nil
	}
	from, to := o.text.node(id)
	at = o.text.span(from, to)
	if sym, ok := s.symbolOf(o, id); ok && sym.in.defs[sym.name] != nil {
		e := doc.OfFunction(sym.in.defs[sym.name])
		code, about = "def "+e.Name+s.signatureOf(y, sym), described(&e)
	} else if e := s.entryAt(d, o, y, id); e != nil {
		code, about = headline(e), described(e)
	}
	if code == "" {
		t, known := s.typeAt(d, y, offset)
		if !known {
			return nil, nil
		}
		code = id.Name + ": " + t.String()
	}
	text := "```python\n" + code + "\n```"
	if about != "" {
		text += "\n\n" + about
	}
	return hover{markdown(text), at}, nil
}

// typeAt is what was inferred of the expression or the name at an offset of the document's text.
func (s *Server) typeAt(d *document, y *study, offset int) (typed, bool) {
	if y.file == nil {
		return typed{}, false
	}
	place, ok := d.text.follow(y.text, offset)
	if !ok {
		return typed{}, false
	}
	e := y.exprAt(place)
	if e == nil {
		return typed{}, false
	}
	if t, ok := y.types.TypeOf(e); ok {
		return typed{t.String(), t}, true
	}
	id, ok := e.(*syntax.Ident)
	if !ok {
		return typed{}, false
	}
	if dot := y.dotOf(id); dot != nil {
		if t, ok := y.types.TypeOf(dot); ok {
			return typed{t.String(), t}, true
		}
	}
	for _, given := range y.types.Types(y.file) {
		if given.Line == int(id.NamePos.Line) && given.Col == int(id.NamePos.Col) {
			return typed{text: given.Type}, true
		}
	}
	return typed{}, false
}

// typed is a type as it is shown, and where an expression has it, the type itself.
type typed struct {
	text string
	of   infer.Type
}

func (t typed) String() string { return t.text }

// dotOf is the expression of which an identifier is the attribute.
func (y *study) dotOf(id *syntax.Ident) (found *syntax.DotExpr) {
	syntax.Walk(y.file.Tree, func(n syntax.Node) bool {
		if dot, ok := n.(*syntax.DotExpr); ok && dot.Name == id {
			found = dot
		}
		return found == nil
	})
	return found
}

// entryAt is what is written about a name that is predeclared, or about an attribute.
func (s *Server) entryAt(d *document, o *outline, y *study, id *syntax.Ident) *doc.Entry {
	m := s.manual(d)
	var within *syntax.DotExpr
	syntax.Walk(o.tree, func(n syntax.Node) bool {
		if dot, ok := n.(*syntax.DotExpr); ok && dot.Name == id {
			within = dot
		}
		return within == nil
	})
	if within == nil {
		if variable(id) != nil {
			return nil
		}
		return m.byName[id.Name]
	}
	if path, ok := dotted(within); ok && m.byName[path] != nil {
		return m.byName[path]
	}
	end := d.text
	_, to := o.text.node(within.X)
	if back, ok := o.text.follow(end, to); ok {
		if t, known := s.typeAt(d, y, back); known {
			for _, member := range t.of.Members() {
				if member.Name == id.Name {
					return m.entryOf(member)
				}
			}
		}
	}
	return nil
}

// entryOf is what is written about an attribute: of a field of a record, what its type says.
func (m *manual) entryOf(member infer.Member) *doc.Entry {
	if e := m.byName[member.Path]; e != nil {
		return e
	}
	owner, name, _ := strings.Cut(member.Path, ".")
	if e := m.byName[owner]; e != nil {
		for _, p := range e.Params {
			if p.Name == name {
				return &doc.Entry{Name: member.Path, Kind: doc.Constant, Result: p.Type, Summary: p.Doc}
			}
		}
	}
	return nil
}

// dotted is the path of names that an expression is, if its first is predeclared.
func dotted(e syntax.Expr) (string, bool) {
	switch e := e.(type) {
	case *syntax.Ident:
		return e.Name, variable(e) == nil
	case *syntax.DotExpr:
		path, ok := dotted(e.X)
		return path + "." + e.Name.Name, ok
	}
	return "", false
}

// signatureOf is how a function can be called, with the types that were inferred, if they were.
func (s *Server) signatureOf(y *study, sym symbol) string {
	if y.types != nil {
		for _, f := range y.files {
			if f.Source == sym.in.text.source {
				if sig := y.types.Signatures(f)[sym.name.Name]; sig != "" {
					return sig
				}
			}
		}
	}
	def := sym.in.defs[sym.name]
	from, to := sym.in.text.at(def.Lparen), sym.in.text.at(def.Rparen)
	return strings.Join(strings.Fields(sym.in.text.source[from:to+1]), " ")
}

// headline is how something is written, and what it gives.
func headline(e *doc.Entry) string {
	switch {
	case e.Signature != "":
		return withResult(e.Signature, e.Result)
	case e.Result != "":
		return e.Name + ": " + e.Result
	}
	return e.Kind + " " + e.Name
}

func withResult(signature, result string) string {
	if result == "" || strings.Contains(signature, "->") {
		return signature
	}
	return signature + " -> " + result
}

// described is what is written about something, in Markdown.
func described(e *doc.Entry) string {
	parts := []string{}
	for _, text := range []string{e.Summary, e.Text} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	var rows []string
	for _, p := range e.Params {
		if p.Doc != "" {
			rows = append(rows, fmt.Sprintf("- `%s`: %s", p.Name, p.Doc))
		}
	}
	if len(rows) > 0 {
		parts = append(parts, strings.Join(rows, "\n"))
	}
	if e.Example != "" {
		parts = append(parts, "```python\n"+strings.TrimRight(e.Example, "\n")+"\n```")
	}
	return strings.Join(parts, "\n\n")
}

package lsp

import (
	"errors"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/doc"
	"starling/lang/format"
)

// symbols lists the functions and variables of a file.
func (s *Server) symbols(d *document, _ *params) (any, error) {
	o := s.outlineOf(d)
	if o == nil {
		return []documentSymbol{}, nil
	}
	return o.symbols(o.tree.Stmts), nil
}

func (o *outline) symbols(stmts []syntax.Stmt) []documentSymbol {
	list := []documentSymbol{}
	for _, st := range stmts {
		switch st := st.(type) {
		case *syntax.DefStmt:
			e := doc.OfFunction(st)
			list = append(list, documentSymbol{st.Name.Name, strings.TrimPrefix(e.Signature, st.Name.Name), symbolFunction, o.span(st), o.span(st.Name), o.functions(st.Body)})
		case *syntax.AssignStmt:
			if id, ok := st.LHS.(*syntax.Ident); ok {
				kind := symbolVariable
				if strings.ToUpper(id.Name) == id.Name {
					kind = symbolConstant
				}
				list = append(list, documentSymbol{id.Name, "", kind, o.span(st), o.span(id), nil})
			}
		}
	}
	return list
}

// functions are the functions within a body.
func (o *outline) functions(body []syntax.Stmt) []documentSymbol {
	return slices.DeleteFunc(o.symbols(body), func(d documentSymbol) bool { return d.Kind != symbolFunction })
}

// folding lists what can be folded: blocks, what is in brackets over several lines, texts over
// several lines, and comments.
func (s *Server) folding(d *document, _ *params) (any, error) {
	list := []foldingRange{}
	o := s.outlineOf(d)
	if o == nil || o.text != d.text {
		return list, nil
	}
	syntax.Walk(o.tree, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.DefStmt, *syntax.ForStmt, *syntax.IfStmt, *syntax.CallExpr, *syntax.ListExpr, *syntax.DictExpr, *syntax.Literal, *syntax.LoadStmt:
			at := o.span(n)
			if at.End.Line > at.Start.Line {
				list = append(list, foldingRange{StartLine: at.Start.Line, EndLine: at.End.Line})
			}
		}
		return true
	})
	return append(list, comments(d.text)...), nil
}

// comments are the runs of several lines that are comments.
func comments(t *text) []foldingRange {
	var list []foldingRange
	start := -1
	for n := range len(t.starts) + 1 {
		is := strings.HasPrefix(strings.TrimSpace(t.line(n)), "#")
		if is && start < 0 {
			start = n
		}
		if !is && start >= 0 {
			if n-1 > start {
				list = append(list, foldingRange{start, n - 1, "comment"})
			}
			start = -1
		}
	}
	return list
}

// formatting lays the file out, as fmt does. A file that is no program stays as it is.
func (s *Server) formatting(d *document, _ *params) (any, error) {
	laid, err := format.Source(nameOf(s.rootOf(d.path), d.path), []byte(d.text.source))
	var list diagnostic.List
	switch {
	case errors.As(err, &list):
		return nil, errCode(codeFailed, "%s", list[0].Error())
	case err != nil:
		return nil, err
	case string(laid) == d.text.source:
		return []textEdit{}, nil
	}
	return []textEdit{d.text.difference(string(laid))}, nil
}

// difference is the one edit that makes another text of this one, as whole lines.
func (t *text) difference(other string) textEdit {
	was, is := t.source, other
	head := 0
	for head < len(was) && head < len(is) && was[head] == is[head] {
		head++
	}
	head = strings.LastIndexByte(was[:head], '\n') + 1
	tail := 0
	for tail < len(was)-head && tail < len(is)-head && was[len(was)-1-tail] == is[len(is)-1-tail] {
		tail++
	}
	if i := strings.IndexByte(was[len(was)-tail:], '\n'); i >= 0 {
		tail -= i + 1
	} else {
		tail = 0
	}
	return textEdit{t.span(head, len(was)-tail), is[head : len(is)-tail]}
}

// inlayHints are the types of variables where they are first given a value, and of what functions
// give, unless nothing is known of it.
func (s *Server) inlayHints(d *document, p *params) (any, error) {
	list := []inlayHint{}
	y := s.studyOf(d)
	if y.file == nil || y.text != d.text {
		return list, nil
	}
	const kindType, most = 1, 40
	seen := map[string]bool{}
	for _, given := range y.types.Types(y.file) {
		line := given.Line - 1
		_, result, isFunction := strings.Cut(given.Type, ") -> ")
		if isFunction || given.Name == "_" || strings.Contains(given.Type, "any") || given.Type == "never" || len(given.Type) > most ||
			line < p.Range.Start.Line || line > p.Range.End.Line || seen[given.Name+result] {
			continue
		}
		from := d.text.at(syntax.MakePosition(nil, int32(given.Line), int32(given.Col)))
		list = append(list, inlayHint{d.text.position(from + len(given.Name)), ": " + given.Type, kindType, false})
	}
	return list, nil
}

// codeLenses run a script and its tests.
func (s *Server) codeLenses(d *document, _ *params) (any, error) {
	list := []codeLens{}
	o := s.outlineOf(d)
	if o == nil {
		return list, nil
	}
	test := strings.HasSuffix(d.path, "_test.star")
	for _, st := range o.tree.Stmts {
		def, ok := st.(*syntax.DefStmt)
		switch {
		case !ok:
		case test && strings.HasPrefix(def.Name.Name, "test_"):
			list = append(list, codeLens{o.span(def.Name), command{"test", "starling.test", []string{d.path, def.Name.Name}}})
		case !test && def.Name.Name == "main":
			list = append(list, codeLens{o.span(def.Name), command{"run", "starling.run", []string{d.path}}})
		}
	}
	return list, nil
}

// The kinds of semantic tokens, by their places in the legend.
const (
	tokenFunction = iota
	tokenParameter
	tokenVariable
	tokenProperty
	tokenNamespace
)

func tokenTypes() []string {
	return []string{"function", "parameter", "variable", "property", "namespace"}
}

// semanticTokens say of each name what it is.
func (s *Server) semanticTokens(d *document, _ *params) (any, error) {
	o := s.outlineOf(d)
	if o == nil || o.text != d.text {
		return semanticTokens{[]int{}}, nil
	}
	m := s.manual(d)
	var idents []*syntax.Ident
	properties := map[*syntax.Ident]bool{}
	syntax.Walk(o.tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Ident:
			idents = append(idents, n)
		case *syntax.DotExpr:
			properties[n.Name] = true
		}
		return true
	})
	slices.SortFunc(idents, func(a, b *syntax.Ident) int { return o.text.at(a.NamePos) - o.text.at(b.NamePos) })
	data, last := []int{}, position{}
	for _, id := range slices.Compact(idents) {
		kind, library := o.tokenOf(id, m, properties[id])
		at := o.span(id)
		if kind < 0 || at.Start == last && len(data) > 0 || at.Start.Line != at.End.Line {
			continue
		}
		start := at.Start.Character
		if at.Start.Line == last.Line {
			start -= last.Character
		}
		data = append(data, at.Start.Line-last.Line, start, at.End.Character-at.Start.Character, kind, library)
		last = at.Start
	}
	return semanticTokens{data}, nil
}

// tokenOf is the kind of a name, -1 for one that means nothing, and 1 for what is of the library.
func (o *outline) tokenOf(id *syntax.Ident, m *manual, property bool) (kind, library int) {
	if property {
		return tokenProperty, 0
	}
	v := variable(id)
	if v == nil {
		e := m.byName[id.Name]
		switch b, ok := id.Binding.(*resolve.Binding); {
		case !ok || b == nil:
			return -1, 0
		case e == nil:
			return tokenVariable, 0
		case e.Kind == doc.Module:
			return tokenNamespace, 1
		case e.Kind == doc.Constant:
			return tokenVariable, 1
		}
		return tokenFunction, 1
	}
	switch _, loaded := o.loads[v]; {
	case o.defs[v] != nil || loaded:
		return tokenFunction, 0
	case o.parameterOwner(v) != nil:
		return tokenParameter, 0
	}
	return tokenVariable, 0
}

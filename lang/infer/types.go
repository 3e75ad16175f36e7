package infer

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// Typed is what was inferred of a name where it gets a value.
type Typed struct {
	Line, Col int
	Name      string
	Type      string // "string", "list[int]"; of a function its signature
}

// Types lists what was inferred of the names of a file, in the order of its text: the types that
// variables are given, and the signatures of its functions.
func (r *Result) Types(f *File) []Typed {
	var list []Typed
	u := r.a.byFile[f]
	if u == nil {
		return nil
	}
	for id, t := range r.a.given {
		if r.a.inFile[id] == u {
			list = append(list, Typed{int(id.NamePos.Line), int(id.NamePos.Col), id.Name, t.String()})
		}
	}
	for _, fn := range r.a.fns {
		if def, ok := fn.node.(*syntax.DefStmt); ok && fn.file == u {
			list = append(list, Typed{int(def.Name.NamePos.Line), int(def.Name.NamePos.Col), def.Name.Name, fn.signature()})
		}
	}
	slices.SortFunc(list, func(x, y Typed) int { return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Col, y.Col)) })
	return list
}

// Reached lists the texts that reach parameters of builtins by way of names.
func (r *Result) Reached() []Reached {
	if r.a == nil {
		return nil // nobody has inferred anything
	}
	return r.a.reaches
}

// Signatures are those of the functions that a file's top level defines, by name: with the types of
// parameters and result, where there is something to say of them.
func (r *Result) Signatures(f *File) map[string]string {
	all := map[string]string{}
	for _, fn := range r.a.fns {
		def, ok := fn.node.(*syntax.DefStmt)
		if ok && fn.file == r.a.byFile[f] && fn.outer == nil {
			all[def.Name.Name] = fn.signature()
		}
	}
	return all
}

// signature is how a function can be called, and what it gives.
func (f *fn) signature() string {
	var params []string
	for _, p := range f.decl.Params {
		params = append(params, f.parameter(p))
	}
	result := f.result.loose().String()
	if !f.called || f.result.empty() && f.returns {
		result = "any"
	}
	return "(" + strings.Join(params, ", ") + ") -> " + result
}

func (f *fn) parameter(p syntax.Expr) string {
	switch p := p.(type) {
	case *syntax.Ident:
		return p.Name + f.typeOf(p, "")
	case *syntax.BinaryExpr:
		id := p.X.(*syntax.Ident)
		return id.Name + f.typeOf(id, " = "+written(p.Y))
	case *syntax.UnaryExpr:
		if id, ok := p.X.(*syntax.Ident); ok {
			return p.Op.String() + id.Name
		}
		return p.Op.String()
	}
	return ""
}

// written is how a default is written, … for what is not a word.
func written(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Literal:
		return e.Raw
	case *syntax.Ident:
		return e.Name
	}
	return "…"
}

// typeOf is the type of a parameter, with what stands behind it.
func (f *fn) typeOf(id *syntax.Ident, behind string) string {
	i := id.Binding.(*resolve.Binding).Index
	t := f.params[i].loose()
	if t.any || t.empty() {
		return behind
	}
	return ": " + t.String() + behind
}

// Annotated is the text of a file with what was inferred behind its lines, as comments.
func (r *Result) Annotated(f *File) string {
	notes := map[int][]string{}
	for _, t := range r.Types(f) {
		if strings.HasPrefix(t.Type, "(") && strings.Contains(t.Type, ") -> ") {
			notes[t.Line] = append(notes[t.Line], t.Name+t.Type)
		} else if note := t.Name + ": " + t.Type; !slices.Contains(notes[t.Line], note) {
			notes[t.Line] = append(notes[t.Line], note)
		}
	}
	var out strings.Builder
	lines := slices.Collect(strings.Lines(f.Source))
	width := 0
	for n := range maps.Keys(notes) {
		width = max(width, len([]rune(strings.TrimRight(lines[n-1], "\n"))))
	}
	const most = 72
	for i, line := range lines {
		line = strings.TrimRight(line, "\n")
		out.WriteString(line)
		if note := notes[i+1]; note != nil {
			pad := min(width, most) - len([]rune(line))
			out.WriteString(strings.Repeat(" ", max(pad, 0)) + "  # " + strings.Join(note, "; "))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

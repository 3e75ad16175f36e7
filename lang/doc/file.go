package doc

import (
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/effect"
)

// File lists what a file says of itself, if it begins with a text, and the functions that other
// files may load from it, in the order of the text: with their parameters, and with what their
// docstrings say.
func File(tree *syntax.File) []Entry {
	var entries []Entry
	if about := docstring(tree.Stmts); about != "" {
		e := Entry{Name: tree.Path, Kind: Module}
		e.Summary, e.Text = summary(about)
		entries = append(entries, e)
	}
	for _, s := range tree.Stmts {
		if def, ok := s.(*syntax.DefStmt); ok && !strings.HasPrefix(def.Name.Name, "_") {
			entries = append(entries, OfFunction(def))
		}
	}
	return entries
}

// OfFunction is what a function of a script says of itself.
func OfFunction(def *syntax.DefStmt) Entry { return entryOf(Def(def)) }

// Def declares a function of a script as builtins are declared. It can only be asked, not called.
func Def(def *syntax.DefStmt) *effect.Builtin {
	b := &effect.Builtin{FullName: def.Name.Name, Doc: docstring(def.Body)}
	star := false
	for _, p := range def.Params {
		q := effect.Param{}
		switch p := p.(type) {
		case *syntax.Ident:
			q.Name = p.Name
		case *syntax.BinaryExpr:
			q.Name, q.Default = p.X.(*syntax.Ident).Name, written(p.Y)
		case *syntax.UnaryExpr:
			id, named := p.X.(*syntax.Ident)
			if !named { // a bare *
				star = true
				continue
			}
			q.Name, q.Variadic, q.Keywords = id.Name, p.Op == syntax.STAR, p.Op == syntax.STARSTAR
		}
		q.KeywordOnly = star && !q.Keywords
		star = star || q.Variadic
		b.Params = append(b.Params, q)
	}
	return b
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

// docstring is the text that a body begins with, on one line.
func docstring(body []syntax.Stmt) string {
	if len(body) == 0 {
		return ""
	}
	s, ok := body[0].(*syntax.ExprStmt)
	if !ok {
		return ""
	}
	l, ok := s.X.(*syntax.Literal)
	if !ok || l.Token != syntax.STRING {
		return ""
	}
	return paragraphs(l.Value.(string))
}

// paragraphs makes one line of each paragraph of a text, but for those that are indented deeper
// than the text: they are lists and code, and stay as they are.
func paragraphs(text string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	lines := strings.Split(rest, "\n")
	indent := strings.Repeat(" ", len(text))
	for _, line := range lines {
		if bare := strings.TrimLeft(line, " \t"); bare != "" && len(line)-len(bare) < len(indent) {
			indent = line[:len(line)-len(bare)]
		}
	}
	out := first
	for i, line := range lines {
		line = strings.TrimRight(strings.TrimPrefix(line, indent), " \t")
		before := i > 0 && strings.TrimSpace(lines[i-1]) == ""
		switch deep := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"); {
		case line == "":
		case before:
			out += "\n\n" + line
		case deep:
			out += "\n" + line
		default:
			out += " " + line
		}
	}
	return strings.TrimSpace(out)
}

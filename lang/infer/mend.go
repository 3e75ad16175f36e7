package infer

import (
	"strconv"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// What mends a mistake, where only one thing can have been meant.

// Put is the edit that writes a text in the place of what stands from one position to another, as
// positions of the parser count.
func Put(from, to syntax.Position, text string) diagnostic.Edit {
	return diagnostic.Edit{Line: int(from.Line), Col: int(from.Col), EndLine: int(to.Line), EndCol: int(to.Col), Text: text}
}

func instead(n syntax.Node, text string) diagnostic.Edit { return Put(way.Start(n), way.End(n), text) }

// behind writes a text behind an expression, where nothing that stands there could come between.
func behind(e syntax.Expr, text string) diagnostic.Edit {
	switch e.(type) {
	case *syntax.Ident, *syntax.CallExpr, *syntax.DotExpr, *syntax.IndexExpr, *syntax.ParenExpr:
		return Put(way.End(e), way.End(e), text)
	}
	return diagnostic.Edit{}
}

// deferring makes a function of a call that comes too early.
func deferring(call syntax.Expr) diagnostic.Edit {
	return Put(way.Start(call), way.Start(call), "lambda: ")
}

// readElsewhere makes x["name"] of x.name where x is a dict that has the key, and x.value.name of
// an Outcome whose value has it.
func readElsewhere(e *syntax.DotExpr, at atom) diagnostic.Edit {
	name := e.Name.Name
	switch {
	case at.kind == dict && at.obj.fields[name] != nil:
		return Put(e.Dot, way.End(e.Name), "["+strconv.Quote(name)+"]")
	case at.recordOf("Outcome") && len(at.obj.fields) > 0 && resultField(at, name):
		return instead(e.Name, "value."+name)
	}
	return diagnostic.Edit{}
}

// indexedPart is the field of a record in which what is looked for by [ ] stands.
func indexedPart(at atom) string {
	if at.kind != record {
		return ""
	}
	switch at.obj.form.Name {
	case "Result":
		return ".output"
	case "Decision":
		return ".payload"
	case "Response":
		return ".json"
	case "Outcome":
		return ".value"
	}
	return ""
}

// textPart is the field of a record that is meant where a text is wanted.
func textPart(at atom) string {
	switch {
	case at.recordOf("Result"):
		return ".text"
	case at.recordOf("Decision"):
		return ".choice"
	}
	return ""
}

// respelt writes the nearest of some texts in the place of a literal one.
func respelt(e syntax.Expr, words []string) diagnostic.Edit {
	l, ok := unparenNode(e).(*syntax.Literal)
	if !ok || l.Token != syntax.STRING {
		return diagnostic.Edit{}
	}
	s := l.Value.(string)
	from, to := l.Span()
	d := diagnostic.Diagnostic{Hint: diagnostic.Meant(s, words), Line: int(from.Line), Col: 1, EndCol: 1 + len([]rune(l.Raw)), Text: l.Raw}
	if fix := d.Mend(); fix.Text != "" {
		return Put(from, to, fix.Text)
	}
	return diagnostic.Edit{}
}

// respeltSide is respelt of the side of a comparison that is the literal.
func respeltSide(e *syntax.BinaryExpr, words []string) diagnostic.Edit {
	for _, side := range []syntax.Expr{e.X, e.Y} {
		if fix := respelt(side, words); fix != (diagnostic.Edit{}) {
			return fix
		}
	}
	return diagnostic.Edit{}
}

// asText puts str(…) around the number of TEXT + n, where the text stands there.
func (a *analysis) asText(e syntax.Node, op syntax.Token, x, y Type) diagnostic.Edit {
	b, ok := e.(*syntax.BinaryExpr)
	if !ok || op != syntax.PLUS {
		return diagnostic.Edit{}
	}
	numbers := func(t Type) bool { return t.known() && !t.has(text) && onlyNumbers(t) }
	switch {
	case numbers(y) && writtenText(b.X):
		return a.wrapped("str", b.Y)
	case numbers(x) && writtenText(b.Y):
		return a.wrapped("str", b.X)
	}
	return diagnostic.Edit{}
}

func onlyNumbers(t Type) bool {
	for _, at := range t.atoms {
		if !number(at) {
			return false
		}
	}
	return true
}

// writtenText tells whether a text is, or begins or ends with, one that stands there.
func writtenText(e syntax.Expr) bool {
	switch e := way.Unparen(e).(type) {
	case *syntax.Literal:
		return e.Token == syntax.STRING
	case *syntax.BinaryExpr:
		return e.Op == syntax.PLUS && (writtenText(e.X) || writtenText(e.Y))
	}
	return false
}

// wrapped calls a function with an expression.
func (a *analysis) wrapped(fn string, e syntax.Expr) diagnostic.Edit {
	source := a.file.Text(e)
	if source == "" {
		return diagnostic.Edit{}
	}
	return instead(e, fn+"("+source+")")
}

package infer

import (
	"strconv"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/edit"
	"starling/lang/way"
)

// What mends a mistake, where only one thing can have been meant.

// readElsewhere makes x["name"] of x.name where x is a dict that has the key, and x.value.name of
// an Outcome whose value has it.
func readElsewhere(e *syntax.DotExpr, at atom) diagnostic.Edit {
	name := e.Name.Name
	switch {
	case at.kind == dict && at.obj.fields[name] != nil:
		return edit.Put(e.Dot, way.End(e.Name), "["+strconv.Quote(name)+"]")
	case at.recordOf("Outcome") && len(at.obj.fields) > 0 && resultField(at, name):
		return edit.Instead(e.Name, "value."+name)
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

// asText puts str(…) around the number of TEXT + n, where the text stands there.
func (a *analysis) asText(e syntax.Node, op syntax.Token, x, y Type) diagnostic.Edit {
	b, ok := e.(*syntax.BinaryExpr)
	if !ok || op != syntax.PLUS {
		return diagnostic.Edit{}
	}
	numbers := func(t Type) bool { return t.known() && !t.has(text) && onlyNumbers(t) }
	switch {
	case numbers(y) && edit.IsText(b.X):
		return a.wrapped("str", b.Y)
	case numbers(x) && edit.IsText(b.Y):
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

// wrapped calls a function with an expression.
func (a *analysis) wrapped(fn string, e syntax.Expr) diagnostic.Edit {
	source := a.file.Text(e)
	if source == "" {
		return diagnostic.Edit{}
	}
	return edit.Instead(e, fn+"("+source+")")
}

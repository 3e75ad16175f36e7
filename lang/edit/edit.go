// Package edit makes the edits that mend a mistake where only one thing can have been meant.
package edit

import (
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// Put is the edit that writes a text in the place of what stands from one position to another, as
// positions of the parser count.
func Put(from, to syntax.Position, text string) diagnostic.Edit {
	return diagnostic.Edit{Line: int(from.Line), Col: int(from.Col), EndLine: int(to.Line), EndCol: int(to.Col), Text: text}
}

// Instead is the edit that writes a text in the place of a node.
func Instead(n syntax.Node, text string) diagnostic.Edit { return Put(way.Start(n), way.End(n), text) }

// Behind writes a text behind an expression, where nothing that stands there could come between.
func Behind(e syntax.Expr, text string) diagnostic.Edit {
	switch e.(type) {
	case *syntax.Ident, *syntax.CallExpr, *syntax.DotExpr, *syntax.IndexExpr, *syntax.ParenExpr:
		return Put(way.End(e), way.End(e), text)
	}
	return diagnostic.Edit{}
}

// Deferring makes a function of a call that comes too early.
func Deferring(call syntax.Expr) diagnostic.Edit {
	return Put(way.Start(call), way.Start(call), "lambda: ")
}

// Respelt writes the nearest of some texts in the place of a literal one.
func Respelt(e syntax.Expr, words []string) diagnostic.Edit {
	l, ok := way.Unparen(e).(*syntax.Literal)
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

// RespeltSide is [Respelt] of the side of a comparison that is the literal.
func RespeltSide(e *syntax.BinaryExpr, words []string) diagnostic.Edit {
	for _, side := range []syntax.Expr{e.X, e.Y} {
		if fix := Respelt(side, words); fix != (diagnostic.Edit{}) {
			return fix
		}
	}
	return diagnostic.Edit{}
}

// IsText tells whether a text is, or begins or ends with, one that stands there.
func IsText(e syntax.Expr) bool {
	switch e := way.Unparen(e).(type) {
	case *syntax.Literal:
		return e.Token == syntax.STRING
	case *syntax.BinaryExpr:
		return e.Op == syntax.PLUS && (IsText(e.X) || IsText(e.Y))
	}
	return false
}

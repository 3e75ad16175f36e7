package infer

import (
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// What follows from a mistake goes away with it, and only hides it while both are said.

// following tells whether a finding follows from another: the call that fails within a function is
// wrong whatever the function is called with, or what is None comes from an expression that fails.
func (a *analysis) following(f Finding) bool {
	if f.Diagnostic.Severity != diagnostic.Error {
		return false
	}
	if f.fails != nil && direct(f.fails.about) == nil && a.said(*f.fails) >= 0 {
		return true
	}
	from, file := a.nothingFrom(f.Node)
	if call := calledIn(f.Node); from == nil && call != nil {
		from, file = call, a.byFile[f.File]
	}
	return from != nil && slices.ContainsFunc(a.found, func(g Finding) bool {
		return g.Diagnostic.Severity == diagnostic.Error && g.Start != f.Start && file != nil && g.File == file.File && g.File == f.File && !way.Before(g.Start, way.Start(from)) && way.Before(g.Start, way.End(from))
	})
}

// calledIn is the call of which a node reads a part, nil for any other.
func calledIn(n syntax.Node) *syntax.CallExpr {
	var x syntax.Expr
	switch n := n.(type) {
	case *syntax.DotExpr:
		x = n.X
	case *syntax.IndexExpr:
		x = n.X
	default:
		return nil
	}
	call, _ := way.Unparen(x).(*syntax.CallExpr)
	return call
}

// nothingFrom is the expression that gives the variable that a node reads from its one value, where
// that is None.
func (a *analysis) nothingFrom(n syntax.Node) (syntax.Expr, *unit) {
	var id *syntax.Ident
	switch n := n.(type) {
	case *syntax.DotExpr:
		id, _ = way.Unparen(n.X).(*syntax.Ident)
	case *syntax.IndexExpr:
		id, _ = way.Unparen(n.X).(*syntax.Ident)
	case *syntax.Ident:
		id = n
	}
	if id == nil || len(a.writes[way.Variable(id)]) != 1 {
		return nil, nil
	}
	written, _ := a.writes[way.Variable(id)][0].(*syntax.Ident)
	if !onlyKind(a.given[written], none) {
		return nil, nil
	}
	return a.values[written], a.inFile[written]
}

// keysOf are the values of a variable that are the keys of a dict, of one function.
type keysOf struct {
	fn   *fn
	keys string
}

// again tells whether it was said elsewhere in the function of the same keys that they are texts.
func (a *analysis) again(e *syntax.IndexExpr, keys []string) bool {
	k := keysOf{a.fn, strings.Join(keys, "\x00")}
	if first := a.asKeys[k]; first != nil || a.muted() {
		return first != nil && first != e
	}
	a.asKeys[k] = e
	return false
}

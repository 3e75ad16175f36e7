package way

import (
	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// Constant is the text that an expression of a file always gives: a literal, a name that the top
// level gives one, or a sum of these.
func Constant(f *syntax.File, e syntax.Expr) (string, bool) {
	switch e := Unparen(e).(type) {
	case *syntax.Literal:
		s, ok := e.Value.(string)
		return s, ok && e.Token == syntax.STRING
	case *syntax.BinaryExpr:
		x, ok := Constant(f, e.X)
		if !ok || e.Op != syntax.PLUS {
			return "", false
		}
		y, ok := Constant(f, e.Y)
		return x + y, ok
	case *syntax.Ident:
		if b, ok := e.Binding.(*resolve.Binding); ok && b.Scope == resolve.Global {
			return global(f, e)
		}
	}
	return "", false
}

// global is the text that the top level gives a name.
func global(f *syntax.File, name *syntax.Ident) (string, bool) {
	for _, s := range f.Stmts {
		if assign, ok := s.(*syntax.AssignStmt); ok && assign.Op == syntax.EQ {
			if id, ok := Unparen(assign.LHS).(*syntax.Ident); ok && Variable(id) == Variable(name) && !Mentions(assign.RHS, Variable(name)) {
				return Constant(f, assign.RHS)
			}
		}
	}
	return "", false
}

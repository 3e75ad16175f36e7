package way

import (
	"slices"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// Inevitable tells whether a position of a body is reached by every call for certain, and whether
// it is by every one that is meant to do something: a loop is gone through, and a return under a
// condition that does not look at the parameters is not taken.
func Inevitable(body []syntax.Stmt, at syntax.Position, params []*syntax.Ident) (sure, likely bool) {
	sure = true
	for _, s := range body {
		from, to := Span(s)
		if Before(at, from) {
			return false, false
		}
		if Before(at, to) || at == from {
			inside, may := Through(s, at, params)
			return sure && inside, may
		}
		leaves, looks := guard(s, params)
		if leaves && looks {
			return false, false
		}
		sure = sure && !leaves
	}
	return false, false
}

// Through is Inevitable for a statement that the position stands in.
func Through(s syntax.Stmt, at syntax.Position, params []*syntax.Ident) (sure, likely bool) {
	switch s := s.(type) {
	case *syntax.IfStmt:
		return straight(s.Cond, at)
	case *syntax.ForStmt:
		if Holds(s.X, at) {
			return straight(s.X, at)
		}
		inside, may := Inevitable(s.Body, at, params)
		return inside && counts(s.X), may
	case *syntax.DefStmt:
		return false, false
	case *syntax.ReturnStmt:
		return straight(s.Result, at)
	case *syntax.ExprStmt:
		return straight(s.X, at)
	case *syntax.AssignStmt:
		if Holds(s.LHS, at) {
			return straight(s.LHS, at)
		}
		return straight(s.RHS, at)
	}
	return false, false
}

// straight tells whether a position within an expression is reached whenever the expression is
// evaluated, and whether it is unless something there is empty.
func straight(e syntax.Expr, at syntax.Position) (sure, likely bool) {
	if e == nil || !Holds(e, at) {
		return false, false
	}
	sure, likely = true, true
	syntax.Walk(e, func(n syntax.Node) bool {
		if n == nil || !Holds(n, at) {
			return false
		}
		switch n := n.(type) {
		case *syntax.LambdaExpr:
			sure, likely = false, false
		case *syntax.CondExpr:
			if !Holds(n.Cond, at) {
				sure, likely = false, false
			}
		case *syntax.BinaryExpr:
			if (n.Op == syntax.AND || n.Op == syntax.OR) && Holds(n.Y, at) {
				sure, likely = false, false
			}
		case *syntax.Comprehension:
			if first, ok := n.Clauses[0].(*syntax.ForClause); !ok || !Holds(first.X, at) {
				sure = false
				for _, c := range n.Clauses {
					_, chosen := c.(*syntax.IfClause)
					likely = likely && !chosen
				}
			}
		}
		return true
	})
	return sure, likely
}

// counts tells whether a loop goes through range(…) or forever(): how often is said there.
func counts(e syntax.Expr) bool {
	call, ok := Unparen(e).(*syntax.CallExpr)
	if !ok {
		return false
	}
	id, ok := call.Fn.(*syntax.Ident)
	if ok && id.Name == "reversed" && len(call.Args) == 1 {
		return counts(call.Args[0])
	}
	return ok && (id.Name == "range" || id.Name == "forever")
}

// guard tells whether a statement may leave the function or the round, and whether something in it
// looks at one of the parameters. One that fails is none: the call fails either way.
func guard(s syntax.Stmt, params []*syntax.Ident) (leaves, looks bool) {
	syntax.Walk(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DefStmt, *syntax.LambdaExpr:
			return false
		case *syntax.ReturnStmt:
			leaves = true
		case *syntax.BranchStmt:
			leaves = leaves || n.Token != syntax.PASS
		case *syntax.Ident:
			b, ok := n.Binding.(*resolve.Binding)
			looks = looks || ok && slices.Contains(params, b.First)
		}
		return true
	})
	return leaves, looks
}

// Holds tells whether a position stands within a node.
func Holds(n syntax.Node, at syntax.Position) bool {
	from, to := Span(n)
	return !Before(at, from) && Before(at, to)
}

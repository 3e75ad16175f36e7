// Package way says what a function does on which way through it, as far as its text alone tells:
// what is reached by every call, what leaves, what is called whatever happens, which texts an
// expression may make; what names denote, and where nodes begin and end.
package way

import (
	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// Block is the innermost block that a position stands in, and the place of its statement there;
// no block where the statement may do without what stands at the position.
func Block(stmts []syntax.Stmt, at syntax.Position) ([]syntax.Stmt, int) {
	for i, s := range stmts {
		if !Holds(s, at) {
			continue
		}
		switch s := s.(type) {
		case *syntax.IfStmt:
			if !Holds(s.Cond, at) {
				if block, n := Block(s.True, at); block != nil {
					return block, n
				}
				return Block(s.False, at)
			}
		case *syntax.ForStmt:
			if !Holds(s.X, at) {
				return Block(s.Body, at)
			}
		}
		if sure, _ := Through(s, at, nil); sure {
			return stmts, i
		}
		return nil, 0
	}
	return nil, 0
}

// Mentions tells whether a node names a variable.
func Mentions(n syntax.Node, v *syntax.Ident) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		found = found || ok && Variable(id) == v
		return !found
	})
	return found
}

// Recurs is the call by which a block calls a function on every way through it, nil where there is
// none; it ends where a way may leave the block before.
func Recurs(stmts []syntax.Stmt, f *syntax.Ident) (call *syntax.CallExpr, leaves bool) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.ExprStmt:
			call = surelyCalls(s.X, f)
		case *syntax.AssignStmt:
			call = surelyCalls(s.RHS, f)
		case *syntax.ReturnStmt:
			if s.Result != nil {
				call = surelyCalls(s.Result, f)
			}
			return call, call == nil
		case *syntax.IfStmt:
			if call = surelyCalls(s.Cond, f); call != nil {
				return call, false
			}
			yes, out := Recurs(s.True, f)
			no, away := Recurs(s.False, f)
			if out || away {
				return nil, true
			}
			if yes != nil && no != nil {
				return yes, false
			}
			continue // a way that does not call goes on
		case *syntax.ForStmt:
			call = surelyCalls(s.X, f)
		}
		if call != nil {
			return call, false
		}
		if Leaves(s) {
			return nil, true
		}
	}
	return nil, false
}

// Leaves tells whether a statement may end the block that it stands in.
func Leaves(s syntax.Stmt) bool {
	found := false
	syntax.Walk(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DefStmt, *syntax.LambdaExpr:
			return false
		case *syntax.ReturnStmt:
			found = true
		case *syntax.BranchStmt:
			found = found || n.Token != syntax.PASS
		case *syntax.CallExpr:
			id, ok := n.Fn.(*syntax.Ident)
			found = found || ok && id.Name == "fail"
		}
		return !found
	})
	return found
}

// surelyCalls is a call of a function that is made whenever an expression is computed, nil for
// none.
func surelyCalls(e syntax.Expr, f *syntax.Ident) (call *syntax.CallExpr) {
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LambdaExpr:
			return false
		case *syntax.Comprehension:
			if first, ok := n.Clauses[0].(*syntax.ForClause); ok && call == nil {
				call = surelyCalls(first.X, f)
			}
			return false
		case *syntax.CondExpr:
			if call == nil {
				call = surelyCalls(n.Cond, f)
			}
			if yes, no := surelyCalls(n.True, f), surelyCalls(n.False, f); call == nil && no != nil {
				call = yes
			}
			return false
		case *syntax.BinaryExpr:
			if n.Op == syntax.AND || n.Op == syntax.OR {
				if call == nil {
					call = surelyCalls(n.X, f)
				}
				return false
			}
		case *syntax.CallExpr:
			if id, ok := Unparen(n.Fn).(*syntax.Ident); ok && call == nil && Variable(id) == f {
				call = n
			}
		}
		return call == nil
	})
	return call
}

// Variable is the identifier that first binds what id denotes, nil when that is nothing of the
// file's own.
func Variable(id *syntax.Ident) *syntax.Ident {
	b, ok := id.Binding.(*resolve.Binding)
	if !ok {
		return nil
	}
	return b.First
}

// Predeclared is the name of something of the environment or the language that an expression
// denotes, or of what is in a module that is: "gate", "http.get", "len".
func Predeclared(e syntax.Expr) (name string, ok bool) {
	switch e := Unparen(e).(type) {
	case *syntax.Ident:
		b, ok := e.Binding.(*resolve.Binding)
		return e.Name, ok && (b.Scope == resolve.Predeclared || b.Scope == resolve.Universal)
	case *syntax.DotExpr:
		name, ok = Predeclared(e.X)
		return name + "." + e.Name.Name, ok
	}
	return "", false
}

// Names tells whether an expression denotes what the environment or the language calls so.
func Names(e syntax.Expr, name string) bool {
	found, ok := Predeclared(e)
	return ok && found == name
}

// Unparen is an expression without the parentheses around it.
func Unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}

// Questions are the parts of a node that decide which way is gone, or what is gone through.
func Questions(n syntax.Node) []syntax.Expr {
	switch n := n.(type) {
	case *syntax.IfStmt:
		return []syntax.Expr{n.Cond}
	case *syntax.CondExpr:
		return []syntax.Expr{n.Cond}
	case *syntax.IfClause:
		return []syntax.Expr{n.Cond}
	case *syntax.ForStmt:
		return []syntax.Expr{n.X}
	case *syntax.ForClause:
		return []syntax.Expr{n.X}
	case *syntax.BinaryExpr:
		switch n.Op {
		case syntax.IN, syntax.NOT_IN:
			return []syntax.Expr{n.Y}
		case syntax.AND, syntax.OR:
			return []syntax.Expr{n.X}
		}
	}
	return nil
}

// Gives tells whether statements give a variable a value.
func Gives(stmts []syntax.Stmt, v *syntax.Ident) bool {
	found := false
	given := func(lhs syntax.Expr) {
		syntax.Walk(lhs, func(n syntax.Node) bool {
			id, ok := n.(*syntax.Ident)
			found = found || ok && Variable(id) == v
			_, part := n.(*syntax.IndexExpr)
			return !part
		})
	}
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.AssignStmt:
				given(n.LHS)
			case *syntax.ForStmt:
				given(n.Vars)
			}
			return !found
		})
	}
	return found
}

package check

import (
	"slices"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// rounds warns of a variable that is None in front of a loop, which gives it something else, but
// whose first round uses it before.
func (c *checker) rounds() {
	blocks := [][]syntax.Stmt{c.file.Tree.Stmts}
	syntax.Walk(c.file.Tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DefStmt:
			blocks = append(blocks, n.Body)
		case *syntax.ForStmt:
			blocks = append(blocks, n.Body)
		case *syntax.IfStmt:
			blocks = append(blocks, n.True, n.False)
		}
		return true
	})
	for _, stmts := range blocks {
		for i, s := range stmts {
			if loop, ok := s.(*syntax.ForStmt); ok {
				c.firstRound(stmts[:i], loop)
			}
		}
	}
}

func (c *checker) firstRound(before []syntax.Stmt, loop *syntax.ForStmt) {
	for _, v := range given(loop.Body) {
		if !isNone(before, v) || way.Mentions(loop.X, v) {
			continue
		}
		use, id := firstUse(loop, v)
		if use == nil {
			continue
		}
		if sure, _ := way.Inevitable(loop.Body, id.NamePos, nil); sure {
			c.at("first_round", use, diagnostic.Diagnostic{Severity: diagnostic.Warning, Message: "in the first round of this loop " + v.Name + " is None",
				Hint: "ask first: if " + v.Name + " == None or …"})
		}
	}
}

// isNone tells whether statements leave a variable as None.
func isNone(stmts []syntax.Stmt, v *syntax.Ident) bool {
	for _, s := range slices.Backward(stmts) {
		if a, ok := s.(*syntax.AssignStmt); ok && a.Op == syntax.EQ && way.Names(a.RHS, "None") {
			if id, ok := way.Unparen(a.LHS).(*syntax.Ident); ok && way.Variable(id) == v {
				return true
			}
		}
		if way.Mentions(s, v) {
			return false
		}
	}
	return false
}

// firstUse is what a loop does first with a variable, if None is of no use for that.
func firstUse(loop *syntax.ForStmt, v *syntax.Ident) (use syntax.Node, first *syntax.Ident) {
	var look func(n syntax.Node) bool
	is := func(e syntax.Expr) bool {
		id, ok := way.Unparen(e).(*syntax.Ident)
		return ok && id == first
	}
	look = func(n syntax.Node) bool {
		if first != nil || n == nil {
			return false
		}
		if a, ok := n.(*syntax.AssignStmt); ok { // what stands on the right comes first
			syntax.Walk(a.RHS, look)
			syntax.Walk(a.LHS, look)
			if is(a.LHS) && a.Op != syntax.EQ {
				use = a.LHS
			}
			return false
		}
		if id, ok := n.(*syntax.Ident); ok && way.Variable(id) == v {
			first = id
		}
		return true
	}
	for _, s := range loop.Body {
		syntax.Walk(s, look)
	}
	syntax.Walk(loop, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.IndexExpr:
			if is(n.X) {
				use = n
			}
		case *syntax.DotExpr:
			if is(n.X) {
				use = n
			}
		case *syntax.BinaryExpr:
			switch n.Op {
			case syntax.LT, syntax.LE, syntax.GT, syntax.GE, syntax.PLUS, syntax.MINUS, syntax.STAR, syntax.SLASH:
				if is(n.X) || is(n.Y) {
					use = n
				}
			}
		}
		return true
	})
	return use, first
}

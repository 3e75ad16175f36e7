package check

import (
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
)

// captures refuses lambdas that reach parallel and use a loop's variable: all branches would see
// its last value, because a closure captures the variable and not the value that it had. The
// lambdas are looked for in the arguments of parallel and, for a variable that is passed, in all
// that is assigned or appended to it.
func (c *checker) captures(call *syntax.CallExpr) {
	for _, arg := range call.Args {
		c.lambdas(arg)
		if id, ok := unparen(value(arg)).(*syntax.Ident); ok && variable(id) != nil {
			for _, e := range c.contents(variable(id)) {
				c.lambdas(e)
			}
		}
	}
}

// value is the value of an argument.
func value(arg syntax.Expr) syntax.Expr {
	if b, ok := arg.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
		return b.Y
	}
	return arg
}

// contents lists the expressions whose values a variable holds, or holds in it: x = E, x += E, x[k]
// = E, x.append(E).
func (c *checker) contents(v *syntax.Ident) []syntax.Expr {
	var list []syntax.Expr
	for _, s := range c.names.sites[v] {
		if s.value != nil {
			list = append(list, s.value)
		}
	}
	holds := func(e syntax.Expr) bool {
		id, ok := unparen(e).(*syntax.Ident)
		return ok && variable(id) == v
	}
	syntax.Walk(c.file.Tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			if index, ok := n.LHS.(*syntax.IndexExpr); ok && holds(index.X) {
				list = append(list, n.RHS)
			}
		case *syntax.CallExpr:
			if dot, ok := n.Fn.(*syntax.DotExpr); ok && holds(dot.X) {
				list = append(list, n.Args...)
			}
		}
		return true
	})
	return list
}

// lambdas checks every lambda in an expression.
func (c *checker) lambdas(e syntax.Expr) {
	syntax.Walk(e, func(n syntax.Node) bool {
		lambda, ok := n.(*syntax.LambdaExpr)
		if ok {
			c.captured(lambda)
		}
		return !ok
	})
}

// captured reports the first use of a loop's variable in a lambda's body.
func (c *checker) captured(lambda *syntax.LambdaExpr) {
	own := loopVariables(lambda)
	done := false
	syntax.Walk(lambda.Body, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		if !ok || done || own[variable(id)] || !c.isLoopVariable(id) {
			return true
		}
		done = true
		c.at("captured_variable", id, diagnostic.Diagnostic{
			Message: "this lambda captures the loop variable " + id.Name + ": every branch of parallel would see its last value",
			Hint:    "pass it: (fn, " + id.Name + ") instead of a lambda, or parallel(fn, over = …)",
		})
		return false
	})
}

// loopVariables lists those of the comprehensions inside an expression.
func loopVariables(e syntax.Expr) map[*syntax.Ident]bool {
	own := map[*syntax.Ident]bool{}
	syntax.Walk(e, func(n syntax.Node) bool {
		if clause, ok := n.(*syntax.ForClause); ok {
			for _, s := range targets(clause.Vars, looped) {
				own[variable(s.at)] = true
			}
		}
		return true
	})
	return own
}

func (c *checker) isLoopVariable(id *syntax.Ident) bool {
	v := variable(id)
	if v == nil {
		return false
	}
	for _, s := range c.names.sites[v] {
		if s.kind == looped {
			return true
		}
	}
	return false
}

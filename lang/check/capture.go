package check

import (
	"fmt"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
)

// captures refuses functions that reach parallel and use a loop's variable: all branches would see
// its last value, because a closure captures the variable and not the value that it had. They are
// looked for in the arguments of parallel and, for a variable that is passed, in all that is
// assigned or appended to it. Of a loop that parallel itself stands in, the variable has its value
// until all branches are done.
func (c *checker) captures(call *syntax.CallExpr) {
	x := capture{c, c.around(call)}
	for _, arg := range call.Args {
		x.functions(value(arg))
		if id, ok := unparen(value(arg)).(*syntax.Ident); ok && variable(id) != nil {
			for _, e := range c.contents(variable(id)) {
				x.functions(e)
			}
		}
	}
}

// capture looks for the functions of one parallel.
type capture struct {
	c     *checker
	still map[*syntax.Ident]bool // the variables of the loops that it stands in
}

// around are the variables of the loops and comprehensions in whose bodies a node stands.
func (c *checker) around(node syntax.Node) map[*syntax.Ident]bool {
	from, _ := node.Span()
	here := &syntax.Ident{NamePos: from}
	vars := map[*syntax.Ident]bool{}
	loop := func(n syntax.Node, lhs, through syntax.Expr) {
		if !within(here, n) || within(here, through) {
			return
		}
		for _, s := range targets(lhs, looped) {
			vars[variable(s.at)] = true
		}
	}
	syntax.Walk(c.file.Tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ForStmt:
			loop(n, n.Vars, n.X)
		case *syntax.Comprehension:
			for _, clause := range n.Clauses {
				if f, ok := clause.(*syntax.ForClause); ok {
					loop(n, f.Vars, f.X)
				}
			}
		}
		return true
	})
	return vars
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

// functions checks every lambda in an expression, and every def that it names. What is given to a
// call may be called there, so only calls that make a list or a dict of it are looked into.
func (x *capture) functions(e syntax.Expr) {
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LambdaExpr:
			own := loopVariables(n)
			x.captured(n.Body, "lambda", "pass it: (fn, %s) instead of a lambda, or parallel(fn, over = …)", func(id *syntax.Ident) bool { return !own[variable(id)] && x.c.isLoopVariable(id) })
			return false
		case *syntax.CallExpr:
			name, _ := x.c.builtin(n.Fn)
			return contains([]string{"list", "dict", "tuple", "reversed"}, name)
		case *syntax.Ident:
			x.definition(n)
		}
		return true
	})
}

// definition checks the def that a name stands for, where it stands for nothing else: its body
// must not use the variable of a loop that the def stands in.
func (x *capture) definition(id *syntax.Ident) {
	sites := x.c.names.sites[variable(id)]
	if len(sites) != 1 || sites[0].kind != defined {
		return
	}
	def := sites[0].def
	loops := x.c.around(def)
	for _, s := range def.Body {
		if x.captured(s, "def", "bind it where the def stands: def "+def.Name.Name+"(%[1]s = %[1]s)", func(id *syntax.Ident) bool { return loops[variable(id)] }) {
			return
		}
	}
}

// captured reports the first use of a loop's variable in the body of a function, and tells whether
// there is one.
func (x *capture) captured(body syntax.Node, what, hint string, changes func(*syntax.Ident) bool) bool {
	done := false
	syntax.Walk(body, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		if !ok || done || x.still[variable(id)] || !changes(id) {
			return true
		}
		done = true
		x.c.at("captured_variable", id, diagnostic.Diagnostic{
			Message: "this " + what + " captures the loop variable " + id.Name + ": every branch of parallel would see its last value",
			Hint:    fmt.Sprintf(hint, id.Name),
		})
		return false
	})
	return done
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

package check

import (
	"fmt"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// A closure captures the variable of a loop and not the value that it had, so that functions which
// are kept in one round and called when the loop is over all see the value of the last.

// captures refuses functions that reach parallel and use a loop's variable: all branches would see
// its last value. They are looked for in the arguments of parallel and, for a variable that is
// passed, in all that is assigned or appended to it. Of a loop that parallel itself stands in, the
// variable has its value until all branches are done; but parallel takes no branch that is a lambda
// with a loop's variable, whichever loop it is.
func (c *checker) captures(call *syntax.CallExpr, args arguments, bound map[string]syntax.Expr) {
	x := capture{c: c, still: c.around(call), whoever: "every branch of parallel"}
	for _, arg := range call.Args {
		x.branches = value(arg) == bound["branches"] && none(bound["over"]) && !args.star && !args.starStar
		x.functions(value(arg))
		if id, ok := way.Unparen(value(arg)).(*syntax.Ident); ok && way.Variable(id) != nil {
			for _, e := range c.contents(way.Variable(id)) {
				x.functions(e)
			}
		}
	}
}

// kept refuses functions that a comprehension makes, or that a loop keeps in what was there before,
// and that use its variable, or one that is made of it in each round. Nothing in the loop may read
// what they are kept in, for they may be called there.
func (c *checker) kept() {
	syntax.Walk(c.file.Tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Comprehension:
			x := capture{c: c, only: loopVariables(n), whoever: "every function that this makes"}
			if entry, ok := n.Body.(*syntax.DictEntry); ok {
				x.functions(entry.Value)
				break
			}
			x.functions(n.Body)
		case *syntax.ForStmt:
			c.keptBy(n)
		}
		return true
	})
}

// keptBy is kept for one loop.
func (c *checker) keptBy(loop *syntax.ForStmt) {
	x := capture{c: c, whoever: "every function that the loop keeps"}
	keeps := func(in, e syntax.Expr) {
		if !c.holdsFunction(e) || !c.onlyFilled(in, loop) {
			return
		}
		if x.only == nil {
			x.only = c.ofRound(loop)
		}
		x.functions(e)
	}
	var block func(stmts []syntax.Stmt)
	block = func(stmts []syntax.Stmt) {
		if n := len(stmts); n == 0 || ends(stmts[n-1]) {
			return // the round is the last one, if this is reached
		}
		for _, s := range stmts {
			switch s := s.(type) {
			case *syntax.IfStmt:
				block(s.True)
				block(s.False)
			case *syntax.ForStmt:
				block(s.Body)
			default:
				in, what := fills(s)
				for _, e := range what {
					keeps(in, e)
				}
			}
		}
	}
	block(loop.Body)
}

// fills is what a statement puts something into, nil where it does not, and what it puts there.
func fills(n syntax.Node) (in syntax.Expr, what []syntax.Expr) {
	switch n := n.(type) {
	case *syntax.AssignStmt:
		if index, ok := n.LHS.(*syntax.IndexExpr); ok && n.Op == syntax.EQ {
			return index.X, []syntax.Expr{n.RHS}
		}
	case *syntax.ExprStmt:
		call, ok := n.X.(*syntax.CallExpr)
		if !ok {
			break
		}
		if dot, ok := call.Fn.(*syntax.DotExpr); ok && (dot.Name.Name == "append" || dot.Name.Name == "insert") {
			return dot.X, call.Args
		}
	}
	return nil, nil
}

// ends tells whether a statement ends the loop that it stands in.
func ends(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.ReturnStmt:
		return true
	case *syntax.BranchStmt:
		return s.Token == syntax.BREAK
	}
	return false
}

// holdsFunction tells whether a lambda, or the name of a def, stands in an expression.
func (c *checker) holdsFunction(e syntax.Expr) bool {
	found := false
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LambdaExpr:
			found = true
		case *syntax.Ident:
			s, ok := c.names.only(n)
			found = found || ok && s.kind == defined
		}
		return !found
	})
	return found
}

// ofRound are the variables that a loop gives another value in each round: its own, and those that
// its body computes from them.
func (c *checker) ofRound(loop *syntax.ForStmt) map[*syntax.Ident]bool {
	vars := map[*syntax.Ident]bool{}
	for _, s := range targets(loop.Vars, looped) {
		vars[way.Variable(s.at)] = true
	}
	for grown := true; grown; {
		grown = false
		for v, sites := range c.names.sites {
			if vars[v] {
				continue
			}
			for _, s := range sites {
				if s.kind == assigned && within(s.at, loop) && usesAny(s.value, vars) {
					vars[v], grown = true, true
				}
			}
		}
	}
	return vars
}

// usesAny tells whether a node names one of some variables.
func usesAny(n syntax.Node, vars map[*syntax.Ident]bool) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		found = found || ok && vars[way.Variable(id)]
		return !found
	})
	return found
}

// onlyFilled tells whether an expression is a variable that gets its value outside of a loop, and
// with which the loop does nothing but to put something into it.
func (c *checker) onlyFilled(e syntax.Expr, loop *syntax.ForStmt) bool {
	id, ok := way.Unparen(e).(*syntax.Ident)
	if !ok || way.Variable(id) == nil {
		return false
	}
	v := way.Variable(id)
	for _, s := range c.names.sites[v] {
		if within(s.at, loop) {
			return false
		}
	}
	uses, filled := 0, 0
	syntax.Walk(loop, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok && way.Variable(id) == v {
			uses++
		}
		if in, _ := fills(n); in != nil {
			if id, ok := way.Unparen(in).(*syntax.Ident); ok && way.Variable(id) == v {
				filled++
			}
		}
		return true
	})
	return uses == filled
}

// capture looks for functions that are called when a loop is over.
type capture struct {
	c        *checker
	still    map[*syntax.Ident]bool // the variables of the loops that the call stands in
	only     map[*syntax.Ident]bool // the variables of the loop; nil for those of any
	whoever  string                 // who would see the last value
	branches bool                   // a lambda is a branch, and not an argument of one
}

// changes tells whether a variable has another value when the functions are called.
func (x *capture) changes(id *syntax.Ident) bool {
	if x.only != nil {
		return x.only[way.Variable(id)]
	}
	return x.c.isLoopVariable(id)
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
			vars[way.Variable(s.at)] = true
		}
	}
	syntax.Walk(c.file.Tree, func(n syntax.Node) bool {
		if !within(here, n) {
			return false
		}
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
		id, ok := way.Unparen(e).(*syntax.Ident)
		return ok && way.Variable(id) == v
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
			hint := "pass it: (fn, %s) instead of a lambda, or parallel(fn, over = …)"
			if x.only != nil {
				hint = "take it when the function is made: lambda %[1]s = %[1]s: …"
			}
			if !x.captured(n.Body, "lambda", hint, func(id *syntax.Ident) bool {
				return !x.still[way.Variable(id)] && !own[way.Variable(id)] && x.changes(id)
			}) && x.branches {
				x.refused(n)
			}
			return false
		case *syntax.TupleExpr: // a function and what it is called with
			if len(n.List) > 0 {
				x.functions(n.List[0])
				x.given(n.List[1:])
			}
			return false
		case *syntax.CallExpr:
			name, _ := x.c.builtin(n.Fn)
			x.given(x.c.wrapped(n))
			return contains([]string{"list", "dict", "tuple", "reversed"}, name)
		case *syntax.Ident:
			x.definition(n)
		}
		return true
	})
}

// given checks what is given to a function, which is no branch itself.
func (x *capture) given(list []syntax.Expr) {
	y := *x
	y.branches = false
	for _, e := range list {
		y.functions(e)
	}
}

// refused reports a branch that would see the right value, and that parallel does not take.
func (x *capture) refused(branch *syntax.LambdaExpr) {
	around := x.c.around(branch)
	syntax.Walk(branch.Body, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		if ok && x.still[way.Variable(id)] && around[way.Variable(id)] && !x.c.late[id] {
			x.c.late[id] = true
			x.c.at("captured_variable", id, diagnostic.Diagnostic{
				Message: "this lambda captures the " + x.c.loopVariable(id) + ", and parallel takes no such branch",
				Hint:    fmt.Sprintf("pass it: (fn, %s) instead of a lambda, or lambda %[1]s = %[1]s: …", id.Name),
			})
			around = nil // one is enough
		}
		return true
	})
}

// definition checks the def that a name stands for, where it stands for nothing else: its body
// must not use the variable of a loop that the def stands in.
func (x *capture) definition(id *syntax.Ident) {
	sites := x.c.names.sites[way.Variable(id)]
	if len(sites) != 1 || sites[0].kind != defined {
		return
	}
	def := sites[0].def
	changes := x.only
	if changes == nil {
		changes = x.c.around(def)
	}
	for _, s := range def.Body {
		if x.captured(s, "def", "bind it where the def stands: def "+def.Name.Name+"(%[1]s = %[1]s)", func(id *syntax.Ident) bool { return !x.still[way.Variable(id)] && changes[way.Variable(id)] }) {
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
		if !ok || done || !changes(id) {
			return true
		}
		done = true
		if x.c.late[id] {
			return false // it is said already
		}
		x.c.late[id] = true
		severity := diagnostic.Error
		if x.only != nil {
			severity = diagnostic.Warning // it runs, with the wrong value
		}
		x.c.at("captured_variable", id, diagnostic.Diagnostic{
			Severity: severity,
			Message:  "this " + what + " captures the " + x.c.loopVariable(id) + ": " + x.whoever + " would see its last value",
			Hint:     fmt.Sprintf(hint, id.Name),
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
				own[way.Variable(s.at)] = true
			}
		}
		return true
	})
	return own
}

// loopVariable names a variable that changes from round to round.
func (c *checker) loopVariable(id *syntax.Ident) string {
	if c.isLoopVariable(id) {
		return "loop variable " + id.Name
	}
	return "variable " + id.Name + " of the loop"
}

func (c *checker) isLoopVariable(id *syntax.Ident) bool {
	v := way.Variable(id)
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

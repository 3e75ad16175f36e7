package check

import (
	"path"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// endless refuses a main that starts its own script whatever happens: each run would wait for
// another, and the deepest that may be would fail. Only what is done in any case counts: statements
// up to the first that chooses, loops or leaves, and no part of an expression that may be left out.
func (c *checker) endless() {
	for _, s := range c.file.Tree.Stmts {
		if def, ok := s.(*syntax.DefStmt); ok && def.Name.Name == "main" {
			c.inAnyCase(def.Body)
		}
	}
}

// endlessCalls refuses a def that calls itself on every way through it: each call makes another, to
// the deepest that may be.
func (c *checker) endlessCalls() {
	syntax.Walk(c.file.Tree, func(n syntax.Node) bool {
		def, ok := n.(*syntax.DefStmt)
		if !ok || len(c.names.sites[way.Variable(def.Name)]) != 1 {
			return true
		}
		if call, _ := way.Recurs(def.Body, way.Variable(def.Name)); call != nil {
			c.at("endless_recursion", call, diagnostic.Diagnostic{
				Message: def.Name.Name + " calls itself on every way through it, so this never ends",
				Hint:    "return without a call where there is nothing left to do: if n == 0: return …",
			})
		}
		return true
	})
}

func (c *checker) inAnyCase(body []syntax.Stmt) {
	for _, s := range body {
		switch s := s.(type) {
		case *syntax.ExprStmt:
			c.startsItself(s.X)
		case *syntax.AssignStmt:
			c.startsItself(s.RHS)
		case *syntax.ReturnStmt:
			if s.Result != nil {
				c.startsItself(s.Result)
			}
			return
		case *syntax.DefStmt:
		default:
			return
		}
	}
}

// startsItself reports the calls of run in an expression that name the file itself and are made
// whenever the expression is computed.
func (c *checker) startsItself(e syntax.Expr) {
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LambdaExpr, *syntax.Comprehension, *syntax.CondExpr:
			return false
		case *syntax.BinaryExpr:
			return n.Op != syntax.AND && n.Op != syntax.OR
		case *syntax.CallExpr:
			if c.calls(n, "run") && c.namesItself(n) {
				c.at("endless_run", n, diagnostic.Diagnostic{
					Message: "the script starts itself whatever happens, so this never ends",
					Hint:    "start it under a condition that its inputs can end: if n > 0: run(…, {\"n\": n - 1})",
				})
			}
		}
		return true
	})
}

func (c *checker) namesItself(call *syntax.CallExpr) bool {
	args := argumentsOf(call)
	script, ok := args.byName("script").(*syntax.Literal)
	if len(args.positional) > 0 {
		script, ok = args.positional[0].(*syntax.Literal)
	}
	return ok && script.Token == syntax.STRING && path.Join(path.Dir(c.file.Name), script.Value.(string)) == c.file.Name
}

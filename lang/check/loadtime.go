package check

import (
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// loadTime refuses effects at the top level of a file whose top level must be pure. A default of a
// parameter belongs to the top level, the body of a function does not.
func (c *checker) loadTime() {
	if !c.file.Pure {
		return
	}
	for _, s := range c.file.Tree.Stmts {
		c.pure(s)
	}
}

func (c *checker) pure(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DefStmt:
			c.defaults(n.Params)
			return false
		case *syntax.LambdaExpr:
			c.defaults(n.Params)
			return false
		case *syntax.CallExpr:
			name, value := c.builtin(n.Fn)
			if b, ok := value.(*effect.Builtin); ok && b.Class != effect.Pure {
				c.at("effect_at_load", n.Fn, diagnostic.Diagnostic{
					Message: name + " is an effect: it cannot be called while the file is loaded",
					Hint:    "call it in main, or in a function that main calls",
				})
			}
		}
		return true
	})
}

func (c *checker) defaults(params []syntax.Expr) {
	for _, p := range params {
		if b, ok := p.(*syntax.BinaryExpr); ok {
			c.pure(b.Y)
		}
	}
}

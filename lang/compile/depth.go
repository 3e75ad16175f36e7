package compile

import "go.starlark.net/syntax"

// maxDepth bounds the nesting of a syntax tree. The parser bounds what it recurses on; long chains
// (a + b + c ..., f()()(), elif) it builds in a loop, and the resolver and this package would
// recurse on them.
const maxDepth = 10_000

// checkDepth refuses a tree nested deeper than maxDepth. It walks with a stack of its own.
func checkDepth(root syntax.Node) error {
	type entry struct {
		node  syntax.Node
		depth int
	}
	stack := []entry{{root, 0}}
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if top.depth > maxDepth {
			pos, _ := span(top.node)
			return &Error{Pos: pos, Msg: "nested too deeply: the limit is 10,000 levels; give parts of it names of their own"}
		}
		children(top.node, func(child syntax.Node) {
			stack = append(stack, entry{child, top.depth + 1})
		})
	}
	return nil
}

// span finds a position without descending a deep left spine, as Span would.
func span(n syntax.Node) (syntax.Position, bool) {
	switch n := n.(type) {
	case *syntax.BinaryExpr:
		return n.OpPos, true
	case *syntax.CallExpr:
		return n.Lparen, true
	case *syntax.DotExpr:
		return n.Dot, true
	case *syntax.IndexExpr:
		return n.Lbrack, true
	case *syntax.SliceExpr:
		return n.Lbrack, true
	case *syntax.IfStmt:
		return n.If, true
	}
	pos, _ := n.Span()
	return pos, true
}

// children calls visit for each child of a node.
func children(n syntax.Node, visit func(syntax.Node)) {
	switch n := n.(type) {
	case *syntax.File:
		each(n.Stmts, visit)
	case *syntax.AssignStmt:
		visit(n.LHS)
		visit(n.RHS)
	case *syntax.DefStmt:
		each(n.Params, visit)
		each(n.Body, visit)
	case *syntax.ExprStmt:
		visit(n.X)
	case *syntax.IfStmt:
		visit(n.Cond)
		each(n.True, visit)
		each(n.False, visit)
	case *syntax.ForStmt:
		visit(n.Vars)
		visit(n.X)
		each(n.Body, visit)
	case *syntax.WhileStmt:
		visit(n.Cond)
		each(n.Body, visit)
	case *syntax.ReturnStmt:
		optional(n.Result, visit)
	default:
		exprChildren(n, visit)
	}
}

func exprChildren(n syntax.Node, visit func(syntax.Node)) {
	switch n := n.(type) {
	case *syntax.ParenExpr:
		visit(n.X)
	case *syntax.UnaryExpr:
		optional(n.X, visit)
	case *syntax.BinaryExpr:
		visit(n.X)
		visit(n.Y)
	case *syntax.CondExpr:
		visit(n.Cond)
		visit(n.True)
		visit(n.False)
	case *syntax.CallExpr:
		visit(n.Fn)
		each(n.Args, visit)
	case *syntax.DotExpr:
		visit(n.X)
	case *syntax.IndexExpr:
		visit(n.X)
		visit(n.Y)
	case *syntax.SliceExpr:
		visit(n.X)
		optional(n.Lo, visit)
		optional(n.Hi, visit)
		optional(n.Step, visit)
	case *syntax.ListExpr:
		each(n.List, visit)
	case *syntax.TupleExpr:
		each(n.List, visit)
	case *syntax.DictExpr:
		each(n.List, visit)
	case *syntax.DictEntry:
		visit(n.Key)
		visit(n.Value)
	case *syntax.LambdaExpr:
		each(n.Params, visit)
		visit(n.Body)
	case *syntax.Comprehension:
		visit(n.Body)
		each(n.Clauses, visit)
	case *syntax.ForClause:
		visit(n.Vars)
		visit(n.X)
	case *syntax.IfClause:
		visit(n.Cond)
	}
}

func each[N syntax.Node](list []N, visit func(syntax.Node)) {
	for _, n := range list {
		visit(n)
	}
}

// optional visits an expression that may be absent.
func optional(e syntax.Expr, visit func(syntax.Node)) {
	if e != nil {
		visit(e)
	}
}

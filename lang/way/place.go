package way

import "go.starlark.net/syntax"

// Span is where a node begins and ends. The parser's own leaves out the bracket that closes x[y],
// x[a:b], (a, b) and load(…), also where they stand at the end of something larger.
func Span(n syntax.Node) (start, end syntax.Position) {
	start, end = n.Span()
	if lacksBracket(n) {
		end.Col++
	}
	return start, end
}

func lacksBracket(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.IndexExpr, *syntax.SliceExpr, *syntax.LoadStmt:
		return true
	case *syntax.TupleExpr:
		return n.Lparen.IsValid() || len(n.List) > 0 && lacksBracket(n.List[len(n.List)-1])
	case *syntax.BinaryExpr:
		return lacksBracket(n.Y)
	case *syntax.UnaryExpr:
		return n.X != nil && lacksBracket(n.X)
	case *syntax.CondExpr:
		return lacksBracket(n.False)
	case *syntax.LambdaExpr:
		return lacksBracket(n.Body)
	case *syntax.DictEntry:
		return lacksBracket(n.Value)
	case *syntax.AssignStmt:
		return lacksBracket(n.RHS)
	case *syntax.ExprStmt:
		return lacksBracket(n.X)
	case *syntax.ReturnStmt:
		return n.Result != nil && lacksBracket(n.Result)
	}
	return false
}

// Written is the one place of a file where a text stands, nil where there is none or more of them.
func Written(f *syntax.File, s string) syntax.Expr {
	var place syntax.Expr
	n := 0
	syntax.Walk(f, func(node syntax.Node) bool {
		if l, ok := node.(*syntax.Literal); ok && l.Value == s {
			place = l
			n++
		}
		return true
	})
	if n != 1 {
		return nil
	}
	return place
}

// Start is where a node begins.
func Start(n syntax.Node) syntax.Position {
	from, _ := n.Span()
	return from
}

// End is where a node ends.
func End(n syntax.Node) syntax.Position {
	_, to := Span(n)
	return to
}

// Before tells whether one position stands in front of another.
func Before(p, q syntax.Position) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Col < q.Col
}
